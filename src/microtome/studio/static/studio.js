// What a page without scripts cannot do: drop files, forecast while a slider moves, watch work, copy. No logic of its own.
"use strict";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const one = (selector, root = document) => root.querySelector(selector);

function showProblem(box, words) {
  one("pre", box).textContent = words;
  box.classList.remove("hidden");
  box.focus();
}

// A file that is dropped or chosen is sent as it is, with its name in the address.
function send(file, area) {
  const bar = one("progress", area);
  const box = one("[role=alert]", area);
  const query = new URLSearchParams({ name: file.name, version: area.dataset.version });
  const request = new XMLHttpRequest();
  box.classList.add("hidden");
  bar.classList.remove("hidden");
  bar.removeAttribute("value");
  request.upload.onprogress = (event) => { bar.max = event.total; bar.value = event.loaded; };
  request.onload = () => {
    bar.classList.add("hidden");
    let answer = {};
    try { answer = JSON.parse(request.responseText); } catch { /* the words below say it */ }
    if (answer.next) location.assign(answer.next);
    else showProblem(box, answer.problem || "The studio did not take the file.");
  };
  request.onerror = () => {
    bar.classList.add("hidden");
    showProblem(box, "The studio does not answer, or ended while the file was copied.");
  };
  request.open("POST", `/open/upload?${query}`);
  request.setRequestHeader("content-type", "application/octet-stream");
  request.send(file);
}

function dropping(area, take) {
  const input = one("input[type=file]", area);
  for (const kind of ["dragenter", "dragover"]) {
    area.addEventListener(kind, (event) => { event.preventDefault(); area.classList.add("over"); });
  }
  area.addEventListener("dragleave", () => area.classList.remove("over"));
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    area.classList.remove("over");
    if (event.dataTransfer.files.length) take(event.dataTransfer.files[0]);
  });
  input.addEventListener("change", () => { if (input.files.length) take(input.files[0]); });
}

// A file that misses its place is not opened by the browser instead.
for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => event.preventDefault());
all("[data-drop]").forEach((area) => dropping(area, (file) => send(file, area)));
all("[data-fill]").forEach((area) => dropping(area, async (file) => {
  document.getElementById(area.dataset.fill).value = await file.text();
}));

// Fields that do not apply to what a column is are not shown.
all("[data-kind]").forEach((form) => {
  const role = one("[data-role]", form);
  const apply = () => {
    const listed = role.selectedOptions[0].dataset.listed;
    const kinds = listed === undefined ? [] : ["released", listed === "yes" ? "listed" : "measured"];
    all("[data-for]", form).forEach((field) => field.classList.toggle("hidden", !kinds.includes(field.dataset.for)));
  };
  role.addEventListener("change", apply);
  apply();
});

// The forecast follows the slider and all other fields of the promise.
all("[data-forecast]").forEach((form) => {
  const place = document.getElementById("forecast");
  const slider = document.getElementById("slider");
  const epsilon = document.getElementById("epsilon");
  const marks = slider.dataset.marks.split(" ").map(Number);
  const kept = `promise of ${form.dataset.keep}`;
  const names = ["epsilon", "delta", "neighbours", "kind", "capacity", "rows"];
  let waiting = 0;
  let asked = new AbortController();

  const follow = () => {
    const wanted = Math.log(Number(epsilon.value) || 1);
    const distances = marks.map((mark) => Math.abs(Math.log(mark) - wanted));
    slider.value = distances.indexOf(Math.min(...distances));
    slider.setAttribute("aria-valuetext", `ε = ${epsilon.value}`);
  };
  const typed = () => Object.fromEntries(names.map((name) => [name, form.elements[name].value]));
  const ask = async () => {
    asked.abort();
    asked = new AbortController();
    place.setAttribute("aria-busy", "true");
    const fields = typed();
    try {
      const get = async (address) =>
        (await fetch(`${address}?${new URLSearchParams(fields)}`, { signal: asked.signal })).text();
      const opened = new Set(all("details[open] summary", place).map((one) => one.textContent));
      const reopen = () => all("details", place).forEach((box) => { box.open ||= opened.has(one("summary", box).textContent); });
      const before = one("[data-later]", place)?.innerHTML;
      place.innerHTML = await get(form.dataset.forecast);
      const later = one("[data-later]", place);
      if (later && before) later.innerHTML = before;  // until the new one is there
      reopen();
      place.setAttribute("aria-busy", "false");
      if (!later) return;
      later.innerHTML = await get(later.dataset.later);
      later.setAttribute("aria-busy", "false");
      reopen();
    } catch (error) {
      if (error.name === "AbortError") return;
      place.textContent = "The studio does not answer; has it ended?";
      place.setAttribute("aria-busy", "false");
    }
  };
  const soon = () => {
    sessionStorage.setItem(kept, JSON.stringify(typed()));  // at once: the page may be left before it is asked about
    clearTimeout(waiting);
    waiting = setTimeout(ask, 250);
  };

  slider.addEventListener("input", () => { epsilon.value = marks[slider.value]; follow(); soon(); });
  form.addEventListener("input", (event) => { if (event.target !== slider) { follow(); soon(); } });
  const before = JSON.parse(sessionStorage.getItem(kept) || "{}");
  for (const name of names) if (before[name]) form.elements[name].value = before[name];
  follow();
  ask();
});

// Work under way is watched; the page that shows what came of it is loaded at its end.
all("[data-work]").forEach((box) => {
  const bar = one("progress", box);
  const watch = async () => {
    try {
      const standing = await (await fetch("/under-way")).json();
      if (!standing.running) return location.assign(box.dataset.work);
      if (standing.share === null) bar.removeAttribute("value"); else bar.value = standing.share;
      one("[data-words]", box).textContent = standing.words;
      one("[data-note]", box).textContent = standing.note;
    } catch {
      one("[data-words]", box).textContent = "The studio does not answer; has it ended?";
    }
    setTimeout(watch, 700);
  };
  setTimeout(watch, 400);
});

all("[data-copy]").forEach((button) => button.addEventListener("click", async () => {
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  button.textContent = "Copied";
}));

// A page that was left with the back button may be older than what lies on the desk.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
one("[data-focus]")?.focus();
