"use strict";
// Tables are sorted by a button in each heading; without scripts the headings are plain words.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  const value = (row, column, numeric) => {
    const words = row.cells[column].textContent;
    if (!numeric) return words;
    const number = Number(words.replaceAll("−", "-").replaceAll(",", ""));
    return Number.isNaN(number) ? -Infinity : number;
  };
  headings.forEach((heading, column) => {
    const numeric = heading.className === "number";
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const before = heading.getAttribute("aria-sort");
      const first = numeric ? "descending" : "ascending";
      const second = numeric ? "ascending" : "descending";
      const order = before === first ? second : first;
      const sign = order === "ascending" ? 1 : -1;
      const rows = [...body.rows].map((row) => [value(row, column, numeric), row]);
      rows.sort(([a], [b]) =>
        sign * (numeric ? (a > b) - (a < b) : a.localeCompare(b, undefined, { numeric: true })));
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", order);
      body.append(...rows.map(([, row]) => row));
    });
  });
}
// The copy buttons are hidden in the page, since they do nothing without scripts.
for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copies);
    let done = true;
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      // A page opened from a file has no clipboard in some browsers; a selection it has.
      getSelection().selectAllChildren(source);
      done = document.execCommand("copy");
    }
    const words = button.textContent;
    button.textContent = done ? "Copied" : "Select and copy by hand";
    setTimeout(() => { button.textContent = words; }, 2000);
  });
}
