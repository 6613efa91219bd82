"use strict";
// Each panel asks for one answer at a time, and while it waits keeps only the newest question.
const LARGEST = 40 << 20; // bytes of a table
const narrow = matchMedia("(max-width: 46rem)");

function valueOf(slider) {
  return JSON.parse(`[${slider.dataset.values}]`)[slider.value];
}

function valuesOf(form) {
  const values = {};
  for (const slider of form.querySelectorAll("input[type=range]"))
    values[slider.name] = valueOf(slider);
  for (const choice of form.querySelectorAll("select")) values[choice.name] = choice.value;
  for (const group of form.querySelectorAll("fieldset"))
    values[group.name] = [...group.querySelectorAll("input:checked")].map((box) => box.value);
  return values;
}

function label(slider) {
  const value = `${valueOf(slider)}`;
  slider.setAttribute("aria-valuetext", value);
  slider.closest("p").querySelector("output").textContent = value;
}

async function post(path, question) {
  try {
    const response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(question),
    });
    return await response.json();
  } catch {
    return { says: "The explorer does not answer: it may have been stopped. Start it again with partwhole explore.", picture: "", code: null };
  }
}

function show(form, answer) {
  const part = form.closest("section");
  part.classList.toggle("refused", !answer.picture);
  part.querySelector(".says").textContent = answer.says;
  if (answer.code !== null) part.querySelector("code").textContent = answer.code;
  const image = part.querySelector("img");
  if (answer.picture) {
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(answer.picture)}`;
    image.hidden = false;
  }
  const whole = part.querySelector(".whole");
  if (whole) {
    whole.hidden = !answer.page;
    if (answer.page) whole.querySelector("a").href = answer.page;
  }
}

function listColumns(form, table) {
  const place = form.querySelector(".columns");
  place.replaceChildren();
  for (const choice of JSON.parse(form.querySelector(".choices").textContent)) {
    const chosen = table.guess[choice.name];
    if (choice.several) {
      const group = Object.assign(document.createElement("fieldset"), { name: choice.name, className: "control" });
      group.append(Object.assign(document.createElement("legend"), { textContent: choice.label }));
      for (const column of table.columns) {
        const line = document.createElement("label");
        line.append(Object.assign(document.createElement("input"), { type: "checkbox", value: column, checked: chosen.includes(column) }), column);
        group.append(line);
      }
      place.append(group);
    } else {
      const line = Object.assign(document.createElement("p"), { className: "control" });
      const select = Object.assign(document.createElement("select"), { name: choice.name, id: `${form.dataset.panel}-${choice.name}` });
      if (!chosen) select.append(new Option("choose a column", "", false, true));
      for (const column of table.columns) select.append(new Option(column, column, false, column === chosen));
      line.append(Object.assign(document.createElement("label"), { textContent: choice.label, htmlFor: select.id }), select);
      place.append(line);
    }
  }
}

function connect(form) {
  let waiting = false, again = false, file = null, chosen = 0, ready = true;

  async function ask() {
    if (!ready) return;
    if (waiting) {
      again = true;
      return;
    }
    waiting = true;
    do {
      again = false;
      const table = chosen;
      const question = { panel: form.dataset.panel, values: valuesOf(form), narrow: narrow.matches, file };
      const answer = await post("answer", question);
      if (table === chosen && (!again || answer.picture)) show(form, answer);
    } while (again && ready);
    waiting = false;
  }

  // Nothing is asked of a table until its columns are there, and only the last one counts.
  async function choose(table) {
    const number = ++chosen;
    ready = false;
    const place = form.querySelector(".columns");
    if (table) {
      place.replaceChildren();
      show(form, { says: `Reading ${table.name} …`, picture: "", code: "" });
    }
    let answer;
    if (table && table.size > LARGEST) {
      const sizes = `at most ${LARGEST >> 20} MiB; got ${table.name} of ${Math.ceil(table.size / 2 ** 20)} MiB`;
      answer = { says: `The explorer reads tables of ${sizes}; use partwhole audit.`, picture: "", code: "" };
    } else answer = await post("columns", { file: table && { name: table.name, data: await base64(table) } });
    if (number !== chosen) return;
    if (!answer.columns) {
      show(form, answer);
      return;
    }
    file = answer.file;
    listColumns(form, answer);
    if (table) form.closest("section").querySelector(".says").textContent = `Auditing ${table.name} …`;
    ready = true;
    await ask();
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => {
    if (event.target.type === "file") return;
    if (event.target.type === "range") label(event.target);
    ask();
  });
  for (const slider of form.querySelectorAll("input[type=range]")) label(slider);
  const chooser = form.querySelector("input[type=file]");
  if (chooser) {
    chooser.value = "";
    chooser.addEventListener("change", () => choose(chooser.files[0] ?? null));
  }
  narrow.addEventListener("change", ask);
  return chooser ? choose(null) : ask();
}

async function base64(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  return btoa(text);
}

for (const button of document.querySelectorAll(".copy"))
  button.addEventListener("click", async () => {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected: copy by hand";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });

(async () => {
  for (const form of document.querySelectorAll("form")) await connect(form);
})();
