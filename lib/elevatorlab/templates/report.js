"use strict";
const form = document.querySelector(".filters");
const rows = [...document.querySelectorAll(".claims tbody tr")];
function filter() {
  const wanted = Object.fromEntries(new FormData(form));
  const text = wanted.text.toLowerCase();
  for (const row of rows) {
    row.hidden =
      ["verdict", "testbed", "study"].some((key) => wanted[key] && row.dataset[key] !== wanted[key]) ||
      !row.textContent.toLowerCase().includes(text);
  }
  const shown = rows.filter((row) => !row.hidden).length;
  form.querySelector("output").textContent = `${shown} of ${rows.length} shown`;
}
form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
filter();
