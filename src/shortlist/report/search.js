// The search by name. Rows are those of the table, or made of what the page holds of every arm.
{
  const FOUND = 100; // rows shown at once
  const field = document.getElementById("arm-search");
  const table = field && field.closest("section").querySelector("table");
  const body = table && table.tBodies[0];
  const kinds = table && [...table.tHead.rows[0].cells].map((heading) => heading.className);
  const words = table && table.caption.firstElementChild;
  // As it is typed: a field has a single line, and a name may have more.
  const plain = (text) => text.normalize("NFKC").toLowerCase().replace(/\s+/g, " ").trim();
  const count = (number) => number.toLocaleString("en-US");

  // Names are written as text and never read as HTML.
  const row = (cells, marked) => {
    const line = document.createElement("tr");
    if (marked) line.className = "marked";
    cells.forEach((text, column) => {
      const cell = document.createElement(kinds[column] === "name" ? "th" : "td");
      cell.className = kinds[column];
      if (kinds[column] === "name") {
        cell.scope = "row";
        cell.append(document.createElement("bdi"));
      }
      (cell.firstElementChild || cell).textContent = text;
      line.append(cell);
    });
    return line;
  };

  // Read when it is first asked for: the names, and what makes the row of each.
  const every = () => {
    const held = document.getElementById("every-arm");
    if (!held) {
      const rows = [...body.rows];
      return [rows.map((line) => line.cells[0].textContent), (arm) => rows[arm]];
    }
    const { name, inside, ...columns } = JSON.parse(held.textContent);
    const numbers = ["pulls", "mean", "lower", "upper"]
      .map((each) => columns[each].replaceAll("-", "−").split(" "));
    const chosen = new Set(inside);
    return [name, (arm) => row(
      [name[arm], ...numbers.map((column) => column[arm]), chosen.has(arm) ? "yes" : ""],
      chosen.has(arm),
    )];
  };

  // Equal names first, then those that begin so, then those that hold it, each in the order given.
  const find = (names, sought) => {
    const found = [[], [], []];
    names.forEach((name, arm) => {
      const at = name.indexOf(sought);
      if (at >= 0) found[name === sought ? 0 : at === 0 ? 1 : 2].push(arm);
    });
    return found.flat();
  };

  const said = (sought, found, shown) => {
    const verb = found > 1 ? "have" : "has";
    const whose = found > 1 ? "their names" : "its name";
    const rest = found > shown ? `; the first ${count(shown)} are shown` : "";
    return `${found ? count(found) : "None"} of ${field.dataset.among} ${verb} “${sought}” in ${whose}${rest}.`;
  };

  if (field) {
    let names, rowOf, listed, caption;
    field.parentElement.hidden = false;
    words.setAttribute("aria-live", "polite");
    field.addEventListener("input", () => {
      const sought = plain(field.value);
      if (!names) {
        let written;
        [written, rowOf] = every();
        names = written.map(plain);
      }
      if (!listed) [listed, caption] = [[...body.rows], words.textContent];
      for (const sorted of table.querySelectorAll("[aria-sort]")) sorted.removeAttribute("aria-sort");
      if (sought === "") {
        body.replaceChildren(...listed);
        words.textContent = caption;
        listed = undefined;
        return;
      }
      const found = find(names, sought);
      const shown = found.slice(0, FOUND);
      body.replaceChildren(...shown.map(rowOf));
      words.textContent = said(field.value.trim(), found.length, shown.length);
    });
  }
}
