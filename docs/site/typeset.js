// Formulas of a page, by KaTeX.
document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll(".formula")) {
    const displayMode = place.classList.contains("display");
    katex.render(place.textContent, place, { displayMode, throwOnError: false, strict: false });
  }
});
