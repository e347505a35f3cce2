"use strict";
(function () {
  const table = document.getElementById("trials-table");
  if (table === null) { return; }
  const body = table.tBodies[0];
  const heads = Array.from(table.tHead.rows[0].cells);
  function key(row, column, numeric) {
    const cell = row.cells[column];
    if (!numeric) { return cell.textContent; }
    return cell.dataset.v === undefined ? null : Number(cell.dataset.v);
  }
  function compare(a, b, up) {
    if (a === b) { return 0; }
    if (a === null || a === "") { return 1; }
    if (b === null || b === "") { return -1; }
    return (a > b ? 1 : -1) * up;
  }
  heads.forEach(function (head, column) {
    const button = head.querySelector("button");
    if (button === null) { return; }
    button.addEventListener("click", function () {
      const up = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      const numeric = head.dataset.kind === "number";
      const rows = Array.from(body.rows).map(function (row) { return [key(row, column, numeric), row]; });
      rows.sort(function (a, b) { return compare(a[0], b[0], up); });
      body.remove();
      body.append.apply(body, rows.map(function (pair) { return pair[1]; }));
      table.append(body);
      heads.forEach(function (other) {
        if (other.hasAttribute("aria-sort")) { other.setAttribute("aria-sort", "none"); }
      });
      head.setAttribute("aria-sort", up === 1 ? "ascending" : "descending");
    });
  });
}());
