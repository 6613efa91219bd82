"""Repeats that differ by a column that is no component are no noise, and the audit says so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from partwhole import audit_split

SENTENCE = (
    "Repeats of a combination differ by light, which is no component: if it is an input, name it "
    "among --components, or the differences count as noise."
)


def scenes(rng, *, light=10.0, noise=0.0) -> pd.DataFrame:
    """Return sums of shape and colour in two lights, one of them brighter with each shape."""
    grid = [(a, b, c) for a in range(5) for b in range(5) for c in range(2)]
    frame = pd.DataFrame(grid, columns=["shape", "colour", "light"])
    frame["y"] = frame["shape"] + frame["colour"] + light * frame["light"] * frame["shape"]
    frame["y"] += noise * rng.normal(size=len(frame))
    frame["split"] = np.where((frame["shape"] > 2) & (frame["colour"] > 2), "test", "train")
    return frame.assign(id=[f"scene {i}" for i in range(len(frame))], text=frame["y"].astype(str))


def said(table, target="y", **options) -> tuple[list[str], list[str]]:
    """Return the remarks and the warnings on columns that explain repeats."""
    report = audit_split(table, ["shape", "colour"], target, "split", add=0, **options)
    start = "Repeats of a combination differ by"
    warnings = [f.message for f in report.warnings if f.message.startswith(start)]
    return [r for r in report.table.remarks if r.startswith(start)], warnings


@pytest.mark.parametrize("noise", ["repeats", "estimate", 0.1])
def test_a_column_that_explains_repeats_is_named(noise):
    frame = scenes(np.random.default_rng(0))
    assert said(frame, noise=noise) == ([SENTENCE], [SENTENCE])


def test_labels_and_files_have_them_too(tmp_path):
    frame = scenes(np.random.default_rng(0))
    # With light 1 the labels are the opposite ones.
    frame["label"] = np.where((frame["shape"] + frame["colour"]) % 2 == frame["light"], "b", "a")
    frame = pd.concat([frame] * 2, ignore_index=True)
    assert said(frame, "label") == ([SENTENCE], [SENTENCE])
    for name in ("scenes.csv", "scenes.parquet"):
        path = tmp_path / name
        frame.to_csv(path, index=False) if name.endswith("csv") else frame.to_parquet(path)
        assert said(path, "label") == ([SENTENCE], [SENTENCE])


@pytest.mark.parametrize("seed", range(10))
def test_noise_is_explained_by_no_column(seed):
    # Neither an identity of rows, nor the target as text, nor a light without influence.
    frame = scenes(np.random.default_rng(seed), light=0.0, noise=1.0)
    frame["trial"] = frame.groupby(["shape", "colour"]).cumcount()
    assert said(frame) == ([], [])


def test_a_column_that_leaves_over_a_tenth_is_not_named():
    # Lights differ by 1, of variance 1/4 about the mean of both, beside noise of variance 1.
    frame = scenes(np.random.default_rng(0), light=0.0, noise=1.0)
    frame["y"] += frame["light"]
    assert said(frame) == ([], [])


def test_components_that_are_tied_are_named_with_their_remedy():
    grid = [(a, b, c) for a in range(4) for b in range(4) for c in range(4)]
    frame = pd.DataFrame(grid, columns=["first", "second", "colour"])
    frame["y"] = 10 * frame["first"] + frame["colour"]
    frame["split"] = np.where((frame["first"] == 3) & (frame["colour"] == 3), "test", "train")
    names = ["first", "second", "colour"]
    report = audit_split(frame, names, "y", "split", tied=[["first", "second"]], add=0)
    (remark,) = [r for r in report.table.remarks if r.startswith("Repeats of a")]
    assert "whose values lose their column where they are tied or spread" in remark


def test_columns_that_cannot_be_read_or_compared_are_passed_over(tmp_path):
    frame = scenes(np.random.default_rng(0))
    frame["several"] = [[1, 2]] * len(frame)
    frame.loc[frame["light"] == 0, "light"] = np.nan  # a missing entry is a value
    assert said(frame) == ([SENTENCE], [SENTENCE])
    paths = {}
    for part, of_part in frame.drop(columns="several").groupby("split"):
        paths[part] = tmp_path / f"{part}.csv"
        # Only one of the two tables has this column.
        more = of_part.assign(other=1) if part == "train" else of_part
        more.drop(columns="split").to_csv(paths[part], index=False)
    report = audit_split(
        {"train": paths["train"], "test": paths["test"]}, ["shape", "colour"], "y", add=0
    )
    assert SENTENCE in report.table.remarks
