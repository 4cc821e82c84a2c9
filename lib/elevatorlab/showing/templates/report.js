"use strict";
// Filters the claims. Few rows are laid out at a time, so that thousands stay quick.
const STEP = 100;
const form = document.querySelector(".filters");
const rows = [...document.querySelectorAll(".claims tbody")];
const more = document.querySelector(".further button");
let matching = [], shown = 0;

function text(row) {
  return (row.words ??= row.textContent.toLowerCase());
}

function show(count) {
  matching.slice(shown, count).forEach((row) => row.classList.add("shown"));
  shown = Math.min(count, matching.length);
  more.hidden = shown === matching.length;
  const first = shown < matching.length ? `, the first ${shown} shown` : "";
  form.querySelector("output").textContent = `${matching.length} of ${rows.length} claims${first}`;
}

function filter() {
  const wanted = Object.fromEntries(new FormData(form));
  const words = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
  const exact = ["study", "where", "role", "verdict"].filter((key) => wanted[key]);
  matching.forEach((row) => row.classList.remove("match", "shown"));
  matching = rows.filter(
    (row) =>
      exact.every((key) => row.dataset[key] === wanted[key]) &&
      words.every((word) => text(row).includes(word)),
  );
  matching.forEach((row) => row.classList.add("match"));
  shown = 0;
  show(STEP);
}

// The address says what is asked for, so that a link can ask.
function fromAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  for (const field of form.elements) if (field.name) field.value = asked.get(field.name) ?? "";
  filter();
}

function toAddress() {
  const asked = [...new FormData(form)].filter(([, value]) => value);
  const hash = new URLSearchParams(asked).toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname);
}

form.addEventListener("input", () => {
  filter();
  toAddress();
});
form.addEventListener("submit", (event) => event.preventDefault());
more.addEventListener("click", () => show(shown + 5 * STEP));
window.addEventListener("hashchange", fromAddress);
fromAddress();
