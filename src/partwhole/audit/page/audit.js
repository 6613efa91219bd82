"use strict";
// The page is complete without this script; with it, any two components can be chosen.
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const NEVER = 0, ALL = 1, SOME = 2, HELD = 3;
const STYLES = ["never", "all", "some", "held"];
const STATES = ["in neither", "all seen", "some held out", "held out only"];

const short = (text, limit) => {
  const signs = Array.from(text), half = Math.floor((limit - 1) / 2);
  return signs.length <= limit ? text : [...signs.slice(0, half), "…", ...signs.slice(-half)].join("");
};
const count = (n) => n.toLocaleString("en-US");

function glyph(state, x, y, side) {
  const a = side - 3, b = a / 2, c = a / 4;
  if (state === ALL) return `M${x} ${y}h${a}v${a}h-${a}z`;
  if (state === SOME) return `M${x} ${y}v${a}h${a}zM${x} ${y}h${a}M${x + a} ${y}v${a}`;
  if (state === HELD) return `M${x} ${y}h${a}v${a}h-${a}zm${c} ${c}l${b} ${b}m0 -${b}l-${b} ${b}`;
  return `M${x + a / 2} ${y + a / 2}h0`;
}

function cellsOf(data, down, across) {
  const turned = down > across;
  const pair = data.pairs[turned ? `${across},${down}` : `${down},${across}`];
  const rows = data.values[down], columns = data.values[across];
  const place = (i, j) => (turned ? j * rows.length + i : i * columns.length + j);
  const state = (i, j) => {
    const k = place(i, j);
    return (ALPHABET.indexOf(pair.s[Math.floor(k / 3)]) >> (4 - 2 * (k % 3))) & 3;
  };
  const counts = (i, j) => (pair.n ? [pair.n[place(i, j)], pair.h[place(i, j)]] : null);
  return { rows, columns, state, counts };
}

function inWords(cells, down, across) {
  const number = [0, 0, 0, 0], listed = [];
  cells.rows.forEach((row, i) => cells.columns.forEach((column, j) => {
    const state = cells.state(i, j);
    number[state] += 1;
    if (state === HELD && listed.length < 12) listed.push(`(${row}, ${column})`);
  }));
  const total = cells.rows.length * cells.columns.length;
  const are = (n) => (n === 1 ? "is" : "are");
  let words = `Down: ${down}; across: ${across}. Of ${count(total)} ${total === 1 ? "cell" : "cells"} ` +
    `${count(number[ALL])} ${are(number[ALL])} all seen, ${count(number[SOME])} have some ` +
    `combinations held out, ${count(number[HELD])} ${are(number[HELD])} held out only, and ` +
    `${count(number[NEVER])} ${are(number[NEVER])} in neither.`;
  if (number[HELD]) {
    const remaining = number[HELD] - listed.length;
    words += ` Held out only: ${listed.join(", ")}${remaining ? ` and ${count(remaining)} more` : ""}.`;
  }
  return words;
}

function drawing(cells, namespace) {
  const rows = cells.rows.map((name) => short(name, 16));
  const columns = cells.columns.map((name) => short(name, 16));
  const longest = (words) => Math.max(...words.map((word) => Array.from(word).length));
  const side = Math.min(44, Math.max(17, Math.floor(460 / Math.max(rows.length, columns.length))));
  const flat = side >= 7.5 * longest(columns) + 4;
  const left = Math.round(16 + 7.5 * longest(rows));
  const top = flat ? 26 : Math.round(14 + 7.5 * longest(columns));
  const make = (kind, attributes, text) => {
    const element = document.createElementNS(namespace, kind);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const width = left + side * columns.length + 4, height = top + side * rows.length + 4;
  const svg = make("svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, class: "grid", "aria-hidden": "true",
  });
  rows.forEach((name, i) => svg.append(make("text", {
    x: left - 8, y: top + side * (i + 0.5) + 4, "text-anchor": "end",
  }, name)));
  columns.forEach((name, j) => {
    const x = left + side * (j + 0.5) + (flat ? 0 : 4);
    svg.append(make("text", {
      x, y: top - 7, "text-anchor": flat ? "middle" : "start",
      ...(flat ? {} : { transform: `rotate(-90 ${x} ${top - 7})` }),
    }, name));
  });
  const paths = ["", "", "", ""];
  rows.forEach((_, i) => columns.forEach((_, j) => {
    const state = cells.state(i, j);
    paths[state] += glyph(state, left + side * j, top + side * i, side);
  }));
  paths.forEach((d, state) => {
    if (d) svg.append(make("path", { d, class: `is-${STYLES[state]}` }));
  });
  return { element: svg, left, top, wide: side, high: side };
}

function pixels(cells, data) {
  const canvas = document.createElement("canvas");
  const side = Math.max(1, Math.floor(480 / Math.max(cells.rows.length, cells.columns.length)));
  const along = (n) => (n <= data.labelled ? Math.max(side, data.thin) : side);
  const wide = along(cells.columns.length), high = along(cells.rows.length);
  canvas.width = cells.columns.length * wide;
  canvas.height = cells.rows.length * high;
  canvas.setAttribute("aria-hidden", "true");
  const pen = canvas.getContext("2d");
  cells.rows.forEach((_, i) => cells.columns.forEach((_, j) => {
    const colour = data.palette[cells.state(i, j)];
    if (!colour[3]) return;
    pen.fillStyle = `rgb(${colour[0]} ${colour[1]} ${colour[2]})`;
    pen.fillRect(j * wide, i * high, wide, high);
  }));
  return { element: canvas, left: 0, top: 0, wide, high };
}

function board(figure) {
  const data = JSON.parse(figure.querySelector("script.cells").textContent);
  const [downwards, sideways] = figure.querySelectorAll("select");
  const holder = figure.querySelector(".drawn .scroll");
  const description = figure.querySelector(".description"), line = figure.querySelector(".cell");
  const namespace = figure.querySelector(".legend svg").namespaceURI;
  const cursor = document.createElement("span");
  cursor.className = "cursor";
  holder.setAttribute("aria-label",
    `${holder.getAttribute("aria-label")}; arrow keys select a cell`);
  let cells, picture, at;

  function draw(aloud) {
    const down = Number(downwards.value), across = Number(sideways.value);
    cells = cellsOf(data, down, across);
    const small = Math.max(cells.rows.length, cells.columns.length) <= data.labelled;
    picture = small ? drawing(cells, namespace) : pixels(cells, data);
    const frame = document.createElement("div");
    frame.className = small ? "frame" : "frame pixels";
    cursor.hidden = true;
    frame.append(picture.element, cursor);
    holder.replaceChildren(frame);
    at = null;
    line.textContent = "Point at a cell, or select it with the arrow keys, to read it.";
    if (aloud) description.textContent = inWords(cells, data.names[down], data.names[across]);
  }

  function read(i, j) {
    if (i < 0 || j < 0 || i >= cells.rows.length || j >= cells.columns.length) return false;
    at = [i, j];
    const counts = cells.counts(i, j);
    line.textContent = `(${cells.rows[i]}, ${cells.columns[j]}): ${STATES[cells.state(i, j)]}` +
      (counts ? `; ${count(counts[0])} seen, ${count(counts[1])} held out` : "");
    Object.assign(cursor.style, {
      left: `${picture.left + picture.wide * j - 2}px`, top: `${picture.top + picture.high * i - 2}px`,
      width: `${picture.wide + 1}px`, height: `${picture.high + 1}px`,
    });
    cursor.hidden = false;
    return true;
  }

  // The same component twice is not a pair: the other list takes the previous component.
  let before = [downwards.value, sideways.value];
  function redraw(event) {
    if (downwards.value === sideways.value) {
      (event.target === downwards ? sideways : downwards).value =
        before[event.target === downwards ? 0 : 1];
    }
    before = [downwards.value, sideways.value];
    draw(true);
  }
  downwards.addEventListener("change", redraw);
  sideways.addEventListener("change", redraw);
  holder.addEventListener("pointermove", (event) => {
    const box = picture.element.getBoundingClientRect();
    read(Math.floor((event.clientY - box.top - picture.top) / picture.high),
      Math.floor((event.clientX - box.left - picture.left) / picture.wide));
  });
  holder.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (!(event.key in step)) return;
    event.preventDefault();
    const [i, j] = step[event.key];
    if (at === null ? read(0, 0) : read(at[0] + i, at[1] + j)) {
      cursor.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  });
  figure.querySelector(".choices").hidden = false;
  line.hidden = false;
  draw(false);
}

document.querySelectorAll("figure.board").forEach((figure) => {
  if (figure.querySelector("select")) board(figure);
});

// For browsers that do not unfold details on paper.
let folded = [];
window.addEventListener("beforeprint", () => {
  folded = Array.from(document.querySelectorAll("details:not([open])"));
  folded.forEach((details) => { details.open = true; });
});
window.addEventListener("afterprint", () => {
  folded.forEach((details) => { details.open = false; });
});
