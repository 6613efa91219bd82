"""The grid of seen and unseen cells, for any two components."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from partwhole._types import Real
from partwhole.audit.page.cells import ALL, HELD, NEVER, SOME, STATES, Grids, states
from partwhole.audit.wording import count, listed, printable
from partwhole.page import Html, data, picture, scroll, tag

# Largest number of values of a labelled board, beyond it a picture; of cells with counts.
LABELLED, WITH_COUNTS = 40, 20_000
# Least side of a picture's cells, in pixels, along a component with few values.
THIN = 12
# The picture's colours have a contrast of 3 to 1 with a white and with a dark page.
PALETTE = ((128, 128, 128, 0), (86, 125, 158, 255), (150, 110, 170, 255), (207, 104, 25, 255))


def board(grids: Grids, anchor: str) -> Html:
    """Return the grid of the first two components, with the data to draw others.

    Parameters
    ----------
    grids : Grids
    anchor : str
        Prefix of the ids, different for each board of the page.

    Returns
    -------
    Html
    """
    if len(grids.values) < 2:
        return tag("p", "With one component there are no pairs to draw.")
    seen, held_out = grids.counts[0, 1]
    cell = states(seen, held_out)
    drawn = (
        draw(cell, grids.labels(0), grids.labels(1))
        if max(cell.shape) <= LABELLED
        else tag("div", picture(png(cell), "", kind="png"), class_="pixels")
    )
    names = grids.names
    other_names = (
        names[2:] if len(grids.case.task.names) == len(names) else ["all other components"]
    )
    over = f" Each cell includes all values of {listed(other_names, 6)}." if other_names else ""
    return tag(
        "figure",
        tag(
            "div",
            _choice(names, 0, f"{anchor}-down", "Down"),
            _choice(names, 1, f"{anchor}-across", "Across"),
            class_="choices",
            hidden=True,
        ),
        _legend(),
        tag(
            "div",
            scroll(drawn, label="Grid of seen and unseen cells"),
            class_="drawn",
        ),
        tag(
            "p",
            in_words(cell, names[0], names[1], grids.labels(0), grids.labels(1)),
            class_="description",
            aria_live="polite",
        ),
        tag("p", "", class_="cell", aria_live="polite", hidden=True),
        tag(
            "figcaption",
            "Each cell is a pair of values of two components, marked by the combinations of "
            "training "
            "and of this test split that contain it." + over,
            " With more than 40 values, cells are coloured dots: blue for all seen, violet for "
            "some held out, orange for held out only, none for in neither."
            if max(len(values) for values in grids.values) > LABELLED
            else None,
            [f" {line}" for line in grids.left_out],
        ),
        data(_carried(grids), class_="cells"),
        class_="board",
        id=f"{anchor}-board",
    )


def in_words(
    cell: Int[np.ndarray, "r c"], down: str, across: str, rows: list[str], columns: list[str]
) -> str:
    """Return a description of the grid; the script writes the same for the chosen pair."""
    number = [int((cell == state).sum()) for state in range(4)]
    words = (
        f"Down: {down}; across: {across}. Of {count(cell.size, 'cell')} {number[ALL]:,} "
        f"{'is' if number[ALL] == 1 else 'are'} all seen, {number[SOME]:,} have some combinations "
        f"held out, {number[HELD]:,} {'is' if number[HELD] == 1 else 'are'} held out only, and "
        f"{number[NEVER]:,} {'is' if number[NEVER] == 1 else 'are'} in neither."
    )
    if number[HELD]:
        positions = np.argwhere(cell == HELD)[:12]
        listed = [f"({rows[i]}, {columns[j]})" for i, j in positions]
        remaining = number[HELD] - len(listed)
        ending = f" and {remaining:,} more" if remaining else ""
        words += f" Held out only: {', '.join(listed)}{ending}."
    return words


def draw(cell: Int[np.ndarray, "r c"], rows: Sequence[str], columns: Sequence[str]) -> Html:
    """Return a labelled board, whose states differ in shape as well as in colour."""
    side = size(cell.shape)
    longest = max(len(printable(name, 16)) for name in columns)
    flat = side >= 7.5 * longest + 4
    left = round(16 + 7.5 * max(len(printable(name, 16)) for name in rows))
    top = 26 if flat else round(14 + 7.5 * longest)
    marks = []
    for state, style in ((NEVER, "never"), (ALL, "all"), (SOME, "some"), (HELD, "held")):
        d = "".join(
            glyph(state, left + side * j, top + side * i, side)
            for i, j in np.argwhere(cell == state).tolist()
        )
        marks.append(tag("path", d=d, class_=f"is-{style}") if d else None)
    text = []
    for i, name in enumerate(rows):
        y = round(top + side * (i + 0.5) + 4, 1)
        text.append(tag("text", printable(name, 16), x=left - 8, y=y, text_anchor="end"))
    for j, name in enumerate(columns):
        x = round(left + side * (j + 0.5) + (0 if flat else 4), 1)
        rotation = {} if flat else {"transform": f"rotate(-90 {x} {top - 7})"}
        text.append(
            tag(
                "text",
                printable(name, 16),
                x=x,
                y=top - 7,
                text_anchor="middle" if flat else "start",
                **rotation,
            )
        )
    width, height = left + side * len(columns) + 4, top + side * len(rows) + 4
    return tag(
        "svg",
        text,
        marks,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        aria_hidden="true",
        class_="grid",
    )


def size(shape: tuple[int, ...]) -> int:
    """Return the side of a cell, in pixels."""
    return int(np.clip(460 // max(shape), 17, 44))


def glyph(state: int, x: Real, y: Real, side: int) -> str:
    """Return the path of a cell: a full square, half a square, a framed cross, or a dot."""
    a = side - 3
    if state == ALL:
        return f"M{x} {y}h{a}v{a}h-{a}z"
    if state == SOME:
        return f"M{x} {y}v{a}h{a}zM{x} {y}h{a}M{x + a} {y}v{a}"
    if state == HELD:
        b = round(a * 0.5, 1)
        c = round(a * 0.25, 1)
        return f"M{x} {y}h{a}v{a}h-{a}zm{c} {c}l{b} {b}m0 -{b}l-{b} {b}"
    return f"M{round(x + a / 2, 1)} {round(y + a / 2, 1)}h0"


def png(cell: Int[np.ndarray, "r c"]) -> bytes:
    """Return a PNG of the states with a palette, one pixel for each cell, enlarged if small.

    Cells of a long and thin board, of 300 values and 3, are drawn longer than wide or wider.
    """
    scale = max(1, 480 // max(cell.shape))
    sides = tuple(max(scale, THIN) if n <= LABELLED else scale for n in cell.shape)
    pixels = np.kron(cell, np.ones(sides, dtype=int)).astype(np.uint8)
    height, width = pixels.shape
    lines = np.zeros((height, width + 1), dtype=np.uint8)
    lines[:, 1:] = pixels

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            chunk(b"PLTE", bytes(v for colour in PALETTE for v in colour[:3])),
            chunk(b"tRNS", bytes(colour[3] for colour in PALETTE)),
            chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
            chunk(b"IEND", b""),
        ]
    )


def _choice(names: Sequence[str], selected: int, anchor: str, label: str) -> Html:
    options = [tag("option", n, value=i, selected=i == selected) for i, n in enumerate(names)]
    return tag("label", f"{label} ", tag("select", options, id=anchor))


def _legend() -> Html:
    items = []
    for state, style in ((ALL, "all"), (SOME, "some"), (HELD, "held"), (NEVER, "never")):
        mark = tag(
            "svg",
            tag("path", d=glyph(state, 2, 2, 19), class_=f"is-{style}"),
            viewBox="0 0 20 20",
            width=18,
            height=18,
            aria_hidden="true",
            class_="grid",
        )
        items.append(tag("li", mark, STATES[state]))
    return tag("ul", items, class_="legend")


def _carried(grids: Grids) -> dict[str, object]:
    total = sum(seen.size for seen, _ in grids.counts.values())
    pairs = {}
    for (i, j), (seen, held_out) in grids.counts.items():
        entry: dict[str, object] = {"s": _digits(states(seen, held_out))}
        if total <= WITH_COUNTS:
            entry |= {"n": seen.ravel().tolist(), "h": held_out.ravel().tolist()}
        pairs[f"{i},{j}"] = entry
    return {
        "names": grids.names,
        "values": [grids.labels(c) for c in range(len(grids.values))],
        "labelled": LABELLED,
        "thin": THIN,
        "palette": [list(colour) for colour in PALETTE],
        "pairs": pairs,
    }


def _digits(cell: Int[np.ndarray, "r c"]) -> str:
    """Return the states with three cells of two bits in each character, safe in JSON."""
    flat = np.zeros(-(-cell.size // 3) * 3, dtype=np.uint8)
    flat[: cell.size] = cell.ravel()
    six = flat.reshape(-1, 3) @ np.array([16, 4, 1], dtype=np.uint8)
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return np.frombuffer(alphabet, dtype=np.uint8)[six].tobytes().decode()
