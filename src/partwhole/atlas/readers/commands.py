"""SCAN: commands of a small grammar, and the actions they ask for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from partwhole._checks import require
from partwhole.atlas.benchmark import SPLIT, Benchmark, SplitFiles, SplitTable, varying
from partwhole.atlas.files import lines, named

VERBS = ("walk", "look", "run", "jump", "turn")
MANNERS, DIRECTIONS, REPEATS = ("opposite", "around"), ("left", "right"), ("twice", "thrice")
CONJUNCTIONS = ("and", "after")
PHRASE = ("verb", "manner", "dir", "rep")
COMPONENTS = (*(f"{part}1" for part in PHRASE), "conj", *(f"{part}2" for part in PHRASE))
ABSENT = "none"
RULE = "a line of SCAN is a command of its grammar and its actions, IN: jump twice OUT: I_JUMP"


def components_of(command: str) -> tuple[str, ...] | None:
    """Return the nine components of a command; None if it is not of the grammar.

    Examples
    --------
    >>> components_of("jump around left twice and walk")[:5]
    ('jump', 'around', 'left', 'twice', 'and')
    """
    words = command.split()
    places = [i for i, word in enumerate(words) if word in CONJUNCTIONS]
    if len(places) > 1:
        return None
    if not places:
        phrase = _phrase(words)
        return None if phrase is None else (*phrase, *[ABSENT] * 5)
    first, second = _phrase(words[: places[0]]), _phrase(words[places[0] + 1 :])
    if first is None or second is None:
        return None
    return (*first, words[places[0]], *second)


def _phrase(words: Sequence[str]) -> tuple[str, str, str, str] | None:
    """Return verb, manner, direction and repetition of a phrase."""
    rest = list(words)
    verb = rest.pop(0) if rest else ""
    repeat = rest.pop() if rest and rest[-1] in REPEATS else "once"
    direction = rest.pop() if rest and rest[-1] in DIRECTIONS else ABSENT
    manner = rest.pop() if rest and rest[-1] in MANNERS else "plain"
    is_whole = verb in VERBS and not rest
    # A manner, and the verb turn, need a direction.
    if not is_whole or (direction == ABSENT and (manner != "plain" or verb == "turn")):
        return None
    return verb, manner, direction, repeat


def _read(train: Path, test: Path) -> SplitTable:
    parts, counts, splits = [], [], []
    for split, path in (("train", train), ("test", test)):
        for i, line in lines(path):
            command, _, actions = line.removeprefix("IN:").partition("OUT:")
            components = components_of(command)
            require(
                components is not None and actions.strip() and line.startswith("IN:"),
                RULE,
                f"{line.strip()[:80]!r} in line {i} of {path.name}",
                "use the published file",
            )
            parts.append(components)
            counts.append(Counter(actions.split()))
            splits.append(split)
    actions = sorted(set().union(*counts))
    frame = pd.DataFrame(parts, columns=list(COMPONENTS))
    for action in actions:
        frame[action] = [count[action] for count in counts]
    frame[SPLIT] = splits
    return SplitTable(
        frame,
        varying(frame, COMPONENTS),
        tuple(actions),
        remarks=("asked is how often each action occurs, not in which order",),
    )


def _find(files: Sequence[Path]) -> Iterator[SplitFiles]:
    there = set(files)
    for train in named(files, "tasks_train_*.txt"):
        test = train.with_name(train.name.replace("tasks_train_", "tasks_test_", 1))
        if test in there:
            name = train.stem.removeprefix("tasks_train_")
            yield SplitFiles(f"scan/{name}", train.parent, partial(_read, train, test))


SCAN = Benchmark(
    "scan",
    "SCAN",
    "Lake and Baroni, ICML 2018; Loula, Baroni and Lake, BlackboxNLP 2018",
    "Commands with a verb, a length or a template of which training has other combinations.",
    "tasks_train_NAME.txt and tasks_test_NAME.txt in one folder, lines of IN: command OUT: actions",
    "command",
    _find,
)
