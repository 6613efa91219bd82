"""Waterbirds and CelebA: labels that go with another attribute in training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from partwhole._checks import InputError, require
from partwhole.atlas.benchmark import SPLIT, Benchmark, SplitFiles, SplitTable
from partwhole.atlas.files import first_line, lines, named

PARTS = {"0": "train", "1": "val", "2": "test"}
BIRDS, PLACES = {"0": "landbird", "1": "waterbird"}, {"0": "land", "1": "water"}
COLUMNS = ("y", "place", "split")
LABEL, ATTRIBUTE = "Blond_Hair", "Male"


def _waterbirds(path: Path) -> SplitTable:
    rule = f"{path.name} of Waterbirds has columns y, place and split of 0, 1 and 2"
    try:
        table = pd.read_csv(path, dtype=str)
        frame = pd.DataFrame(
            {
                "bird": table["y"].map(BIRDS.get),
                "place": table["place"].map(PLACES.get),
                SPLIT: table["split"].map(PARTS.get),
            }
        )
    except (ValueError, KeyError):
        raise InputError(f"{rule}; got others; use the published file") from None
    require(not frame.isna().to_numpy().any(), rule, "other entries", "use the published file")
    return SplitTable(frame, ("bird", "place"), ("bird",), remarks=("asked is the bird",))


def _celeba(attributes: Path, partition: Path) -> SplitTable:
    rule = f"CelebA's files have {LABEL} and {ATTRIBUTE} of 1 and -1, and parts 0, 1 and 2"
    remedy = "use the published files"
    try:
        values, parts = _by_image(attributes), _by_image(partition)
        wanted = values[[LABEL, ATTRIBUTE]].astype(int)
        part = parts.iloc[:, 0].reindex(wanted.index).map(PARTS.get)
    except (ValueError, KeyError, IndexError, OverflowError):
        raise InputError(f"{rule}; got others; {remedy}") from None
    valid = wanted.isin([-1, 0, 1]).to_numpy().all() and not part.isna().any()
    require(valid, rule, "other entries", remedy)
    frame = pd.DataFrame(
        {
            "hair": np.where(wanted[LABEL] == 1, "blond", "other"),
            "gender": np.where(wanted[ATTRIBUTE] == 1, "male", "female"),
            SPLIT: part.to_numpy(),
        }
    )
    return SplitTable(frame, ("hair", "gender"), ("hair",), remarks=("asked is the hair",))


def _by_image(path: Path) -> pd.DataFrame:
    """Return a row of text for each image, from CSV or from columns between spaces."""
    if path.suffix == ".csv":
        return pd.read_csv(path, dtype=str, index_col=0)
    rows = [line.split() for _, line in lines(path)]
    if rows and len(rows[0]) == 1:  # the number of images
        rows = rows[1:]
    has_names = bool(rows) and not rows[0][-1].lstrip("-").isdecimal()
    names = rows[0] if has_names else None
    body = rows[1:] if has_names else rows
    frame = pd.DataFrame([row[1:] for row in body], index=[row[0] for row in body], columns=names)
    return frame


def _find_waterbirds(files: Sequence[Path]) -> Iterator[SplitFiles]:
    for path in named(files, "metadata.csv"):
        if set(COLUMNS) <= set(first_line(path).replace('"', "").split(",")):
            yield SplitFiles("waterbirds", path.parent, partial(_waterbirds, path))


def _find_celeba(files: Sequence[Path]) -> Iterator[SplitFiles]:
    attributes = {path.parent: path for path in named(files, "list_attr_celeba.*")}
    partitions = {path.parent: path for path in named(files, "list_eval_partition.*")}
    if len(attributes) == len(partitions) == 1:  # they may lie in folders of their own
        (path,), (partition,) = attributes.values(), partitions.values()
        yield SplitFiles("celeba", path.parent, partial(_celeba, path, partition))
        return
    for folder in sorted({*attributes} & {*partitions}):
        yield SplitFiles("celeba", folder, partial(_celeba, attributes[folder], partitions[folder]))


WATERBIRDS = Benchmark(
    "waterbirds",
    "Waterbirds",
    "Sagawa, Koh, Hashimoto and Liang, ICLR 2020",
    "Birds before the other background: nothing is held out, but training rarely shows them.",
    "metadata.csv with columns y, place and split",
    "image",
    _find_waterbirds,
)
CELEBA = Benchmark(
    "celeba",
    "CelebA",
    "Liu, Luo, Wang and Tang, ICCV 2015; groups of Sagawa and others, ICLR 2020",
    "Blond men: nothing is held out, but training rarely shows them.",
    "list_attr_celeba and list_eval_partition, each .txt or .csv",
    "image",
    _find_celeba,
)
