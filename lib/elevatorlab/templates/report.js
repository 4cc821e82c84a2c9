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
  const asked = Object.values(wanted).some(Boolean);
  for (const part of document.querySelectorAll("#claims .part")) {
    const some = part.querySelectorAll("tbody tr:not([hidden])").length;
    part.open = asked ? some > 0 : part.dataset.open === "true";
    part.hidden = some === 0;
  }
  const shown = rows.filter((row) => !row.hidden).length;
  form.querySelector("output").textContent = `${shown} of ${rows.length} shown`;
}
for (const part of document.querySelectorAll("#claims .part")) part.dataset.open = part.open;
form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
filter();
