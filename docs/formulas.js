// Draws the formulas that the build marks with the class "arithmatex".
document.addEventListener("DOMContentLoaded", () => {
  for (const element of document.querySelectorAll(".arithmatex")) {
    const text = element.textContent;
    katex.render(text.slice(2, -2), element, {
      displayMode: text.startsWith("\\["),
      throwOnError: false,
    });
  }
});
