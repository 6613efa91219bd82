"use strict";
(() => {
  const STEP = 100;
  const claims = JSON.parse(document.getElementById("claims").textContent);
  const signs = JSON.parse(document.getElementById("signs").textContent);
  const body = document.getElementById("rows");
  const status = document.getElementById("shown");
  const more = document.getElementById("more");
  const controls = ["search", "paper", "verdict", "kind"].map((id) => document.getElementById(id));
  const collator = new Intl.Collator("en", { numeric: true });
  for (const claim of claims) {
    const parts = [claim.claim, claim.paper, claim.item, claim.study, claim.verdict, ...claim.notes];
    claim.text = parts.join(" ").toLowerCase();
  }
  let sorted = { column: null, down: false };
  let matching = [];
  let drawn = 0;

  const element = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const cell = (label, text, lines = []) => {
    const td = element("td", text, { "data-label": label });
    for (const line of lines) if (line) td.append(element("small", line));
    return td;
  };
  const row = (claim) => {
    const tr = document.createElement("tr");
    const head = element("th", claim.claim, { scope: "row" });
    for (const note of claim.notes) head.append(element("small", note));
    const [kind, sign] = signs[claim.verdict];
    const verdict = cell("Verdict", "");
    const mark = element("span", "", { class: `verdict ${kind}` });
    mark.append(element("span", sign, { "aria-hidden": "true" }), ` ${claim.verdict}`);
    verdict.append(mark);
    const study = cell("Study", "");
    study.append(element("a", claim.study, { href: claim.link }), element("small", claim.preset));
    tr.append(
      head, verdict, cell("Claimed", claim.claimed, [claim.allowed]),
      cell("Measured", claim.measured, claim.spread), cell("Paper", claim.paper, [claim.item]), study,
    );
    return tr;
  };
  const draw = () => {
    const next = matching.slice(drawn, drawn + STEP);
    body.append(...next.map(row));
    drawn += next.length;
    more.hidden = drawn >= matching.length;
    const all = matching.length === 1 ? "1 row" : `${matching.length} rows`;
    status.textContent = drawn < matching.length ? `${all}, the first ${drawn} shown` : all;
  };
  const update = () => {
    const [search, paper, verdict, kind] = controls.map((control) => control.value);
    const words = search.toLowerCase().split(/\s+/).filter(Boolean);
    matching = claims.filter((claim) =>
      (!paper || claim.paper === paper) && (!verdict || claim.verdict === verdict) &&
      (!kind || claim.kind === kind) && words.every((word) => claim.text.includes(word)));
    if (sorted.column) {
      const key = (claim) => claim[sorted.column] + " " + claim.item;
      matching.sort((a, b) => (sorted.down ? -1 : 1) * collator.compare(key(a), key(b)));
    }
    body.replaceChildren();
    drawn = 0;
    draw();
  };
  for (const control of controls) control.addEventListener("input", update);
  document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", draw);
  for (const button of document.querySelectorAll("th button")) {
    button.addEventListener("click", () => {
      const column = button.dataset.column;
      sorted = { column, down: sorted.column === column && !sorted.down };
      for (const th of document.querySelectorAll("thead th")) th.removeAttribute("aria-sort");
      button.parentElement.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
      update();
    });
  }
  const asked = new URLSearchParams(location.hash.slice(1));
  for (const control of controls) if (asked.has(control.id)) control.value = asked.get(control.id);
  update();
})();
