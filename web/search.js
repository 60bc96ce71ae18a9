// Brings the table of a search to life: a filter of words, and points of the front that lead to their line. Without this
// script the page shows the same table whole.
(() => {
  "use strict";
  const table = document.querySelector("#configurations table");
  if (!table) return;
  const rows = [...table.tBodies[0].rows];

  const field = document.createElement("label");
  field.className = "filter";
  const input = document.createElement("input");
  input.type = "search";
  input.id = "filter";
  input.placeholder = "2x2x8 do";
  const count = document.createElement("output");
  count.setAttribute("for", "filter");
  field.append("Show lines with ", input, count);
  document.querySelector("#configurations .table").before(field);

  // Every word must be in the line; a word is a cell or a part of one.
  function filter() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = [...row.cells].map((cell) => cell.textContent.toLowerCase());
      row.hidden = !words.every((word) => text.some((cell) => cell.includes(word)));
      if (!row.hidden) shown += 1;
    }
    count.textContent = `${shown} of ${rows.length}`;
  }
  input.addEventListener("input", filter);
  filter();

  // A line that the filter hides cannot be gone to.
  for (const link of document.querySelectorAll("#front a")) {
    link.addEventListener("click", () => {
      input.value = "";
      filter();
    });
  }
})();
