"""dSprites, Shapes3D and MPI3D: every combination of a few factors, held out by rules or lists.

Rules are those of the published splits of Montero and others (ICLR 2021, NeurIPS 2022); lists are
the label files of Schott and others (ICLR 2022).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int

from partwhole._checks import InputError, require
from partwhole._reading import UnreadableError, read_npz
from partwhole.atlas.benchmark import SPLIT, Benchmark, SplitFiles, SplitTable, varying
from partwhole.atlas.files import named

# Unpacked labels of a list, in bytes.
MOST_LABELS = 1 << 29
Codes = Mapping[str, Int[np.ndarray, " n"]]


@dataclass(frozen=True)
class Rule:
    """A published rule for what is held out.

    Parameters
    ----------
    name : str
    held_out : mapping of str to sequence of int
        For each factor that the rule names, the values of a held-out combination.
    left_out : mapping of str to sequence of int, default none
        Values of combinations that are in neither part.
    """

    name: str
    held_out: Mapping[str, Sequence[int]]
    left_out: Mapping[str, Sequence[int]] | None = None


def _columns(sizes: Mapping[str, int]) -> dict[str, Int[np.ndarray, " n"]]:
    """Return the value of each factor in every combination, the last factor fastest."""
    grid = np.indices(tuple(sizes.values()), dtype=np.int16).reshape(len(sizes), -1)
    return dict(zip(sizes, grid, strict=True))


def _of_rule(sizes: Mapping[str, int], rule: Rule) -> SplitTable:
    codes = _columns(sizes)
    split = np.where(_all_of(codes, rule.held_out), "test", "train")
    if rule.left_out:
        split = np.where(_all_of(codes, rule.left_out), "neither", split)
    kept = split != "neither"
    frame = pd.DataFrame(
        {name: _named(name, column[kept], sizes) for name, column in codes.items()}
    )
    frame[SPLIT] = pd.Categorical(split[kept])
    # Asked is the factor of which training shows a range.
    asked = max(rule.held_out, key=lambda name: len(rule.held_out[name]))
    return SplitTable(frame, varying(frame, sizes), (asked,))


def _named(name: str, column: Int[np.ndarray, " n"], sizes: Mapping[str, int]) -> Any:
    """Return a factor's values by name, where they have names."""
    words = WORDS.get((name, *sizes), ())
    return pd.Categorical.from_codes(column, list(words)) if words else column


def _all_of(codes: Codes, values: Mapping[str, Sequence[int]]) -> np.ndarray:
    return np.logical_and.reduce([np.isin(codes[name], list(v)) for name, v in values.items()])


def _labels(path: Path, sizes: Mapping[str, int]) -> pd.DataFrame:
    """Return the factors of each image in a list."""
    rule = f"{path.name} has a row for each image, with its {len(sizes)} factors as whole numbers"
    try:
        arrays = list(read_npz(path, limit=MOST_LABELS).values())
    except UnreadableError as error:
        raise InputError(f"{rule}; got {error}; use the published file") from None
    labels: np.ndarray = arrays[0] if len(arrays) == 1 else np.zeros(0)
    shape = " x ".join(map(str, labels.shape))
    fits = labels.ndim == 2 and labels.shape[1] == len(sizes) and labels.dtype.kind in "iuf"
    require(fits, rule, f"{len(arrays)} arrays, the first {shape}", "use the published file")
    whole = labels.astype(np.int64)
    valid = bool(np.all(whole == labels) and np.all((whole >= 0) & (whole < [*sizes.values()])))
    require(valid, rule, "other numbers", "use the published file")
    return pd.DataFrame(whole, columns=list(sizes))


def _of_lists(train: Path, test: Path, sizes: Mapping[str, int]) -> SplitTable:
    frames = []
    for split, path in (("train", train), ("test", test)):
        frame = _labels(path, sizes)
        frame[SPLIT] = split
        frames.append(frame)
    frame = pd.concat(frames, ignore_index=True)
    for name in sizes:
        frame[name] = _named(name, frame[name].to_numpy(), sizes)
    return SplitTable(frame, varying(frame, sizes))


def _find(
    files: Sequence[Path],
    benchmark: str,
    sizes: Mapping[str, int],
    rules: Sequence[Rule],
    data: tuple[str, ...],
    prefix: str,
) -> Iterator[SplitFiles]:
    for path in sorted({path.parent for path in named(files, *data)}):
        for name, read in by_rule(benchmark, sizes, rules).items():
            yield SplitFiles(name, path, read)
    there = set(files)
    for train in named(files, f"{prefix}_*_train_labels.npz"):
        test = train.with_name(train.name.replace("_train_labels", "_test_labels"))
        if test in there:
            variant = train.name.removeprefix(f"{prefix}_").removesuffix("_train_labels.npz")
            read = partial(_of_lists, train, test, sizes)
            yield SplitFiles(f"{benchmark}/{variant}", train.parent, read)


def by_rule(
    benchmark: str, sizes: Mapping[str, int], rules: Sequence[Rule]
) -> dict[str, Callable[[], SplitTable]]:
    """Return the splits that follow from rules, without any file."""
    return {f"{benchmark}/{rule.name}": partial(_of_rule, sizes, rule) for rule in rules}


def _span(first: int, last: int) -> tuple[int, ...]:
    return tuple(range(first, last + 1))


# Sizes of the factors and the rules, in values counted from 0.
DSPRITES_SIZES = {"shape": 3, "scale": 6, "orientation": 40, "x": 32, "y": 32}
DSPRITES_RULES = (
    Rule("shape-to-x", {"shape": (0,), "x": _span(16, 31)}),
    Rule(
        "leave-one-out",
        {
            "shape": (1,),
            "scale": _span(2, 5),
            "orientation": _span(14, 25),
            "x": _span(21, 31),
            "y": _span(21, 31),
        },
    ),
    Rule("x-extrapolation", {"x": _span(16, 31)}),
)
SHAPES3D_SIZES = {
    "floor hue": 10, "wall hue": 10, "object hue": 10, "scale": 8, "shape": 4, "orientation": 15,
}  # fmt: skip
SHAPES3D_RULES = (
    Rule("shape-to-object-hue", {"shape": (3,), "object hue": _span(5, 9)}),
    Rule("shape-to-floor-hue", {"shape": (3,), "floor hue": _span(5, 9)}),
    Rule("wall-hue-to-object-hue", {"wall hue": _span(0, 2), "object hue": _span(8, 9)}),
    Rule(
        "leave-one-out",
        {
            "object hue": _span(8, 9),
            "wall hue": _span(8, 9),
            "floor hue": _span(8, 9),
            "scale": _span(5, 7),
            "shape": (1,),
            "orientation": _span(12, 14),
        },
    ),
    Rule("floor-hue-extrapolation", {"floor hue": _span(5, 9)}),
)
MPI3D_SIZES = {
    "colour": 6, "shape": 6, "size": 2, "height": 3, "background": 3, "x": 40, "y": 40,
}  # fmt: skip
MPI3D_RULES = (
    Rule("shape-to-x", {"shape": (2,), "x": _span(0, 19)}),
    Rule("colour-to-x", {"colour": (2,), "x": _span(0, 19)}),
    Rule(
        "leave-one-out",
        {
            "colour": (5,),
            "shape": (2,),
            "size": (1,),
            "height": (1,),
            "background": (1,),
            "x": _span(36, 39),
            "y": _span(36, 39),
        },
    ),
    Rule("x-extrapolation", {"x": _span(21, 39)}, {"x": (20,)}),
    Rule("colour-extrapolation", {"colour": (4, 5)}),
)
# The words for values, by the factor and all of its grid.
WORDS = {
    ("shape", *DSPRITES_SIZES): ("square", "ellipse", "heart"),
    ("shape", *SHAPES3D_SIZES): ("cube", "cylinder", "sphere", "pill"),
    ("shape", *MPI3D_SIZES): ("cone", "cube", "cylinder", "hexagonal", "pyramid", "sphere"),
    ("colour", *MPI3D_SIZES): ("white", "green", "red", "blue", "brown", "olive"),
}


def _benchmark(
    name: str,
    title: str,
    source: str,
    sizes: Mapping[str, int],
    rules: Sequence[Rule],
    data: tuple[str, ...],
    prefix: str,
) -> Benchmark:
    return Benchmark(
        name,
        title,
        f"{source}; rules of Montero and others, ICLR 2021 and NeurIPS 2022; lists of Schott and "
        "others, ICLR 2022",
        "Values of one factor that training shows only with other values of another.",
        f"{' or '.join(data)} for the rules, of which only the name counts; lists as "
        f"{prefix}_NAME_train_labels.npz and {prefix}_NAME_test_labels.npz",
        "image",
        partial(_find, benchmark=name, sizes=sizes, rules=rules, data=data, prefix=prefix),
    )


DSPRITES = _benchmark(
    "dsprites",
    "dSprites",
    "Matthey, Higgins, Hassabis and Lerchner, 2017",
    DSPRITES_SIZES,
    DSPRITES_RULES,
    ("dsprites_ndarray_*.npz",),
    "dsprites",
)
SHAPES3D = _benchmark(
    "shapes3d",
    "Shapes3D",
    "Burgess and Kim, 2018",
    SHAPES3D_SIZES,
    SHAPES3D_RULES,
    ("3dshapes.h5",),
    "shapes3d",
)
MPI3D = _benchmark(
    "mpi3d",
    "MPI3D",
    "Gondal and others, NeurIPS 2019",
    MPI3D_SIZES,
    MPI3D_RULES,
    ("mpi3d_toy.npz", "mpi3d_realistic.npz", "mpi3d_real.npz"),
    "mpi3d",
)
