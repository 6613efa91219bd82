"""Pictures of samples in rows with names."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.tasks.shapes.pictures import image_grid
from partwhole.training.diffusion import rows
from partwhole.training.diffusion.rows import labelled_rows

RNG = np.random.default_rng(0)
SAMPLES = {
    "seen": RNG.uniform(size=(3, 7, 7, 3)),
    "a long name of an unseen combination": RNG.uniform(size=(3, 7, 7, 3)),
}


def enlarged(page):
    return page.repeat(4, axis=0).repeat(4, axis=1)


def test_samples_are_the_grid_and_names_stand_beside_their_rows():
    plain = enlarged(image_grid(np.concatenate(list(SAMPLES.values())), 3))
    page = labelled_rows(SAMPLES)
    wide = page.shape[1] - plain.shape[1]
    np.testing.assert_array_equal(page[:, wide:], plain)
    ink = (page[:, :wide] < 1.0).any(axis=(1, 2))
    first, gap, second = ink[:28], ink[28:32], ink[32:]
    assert first[10:18].any()
    assert second[10:18].any()
    assert not gap.any()
    # The longer name takes two lines, and more ink.
    assert second.sum() > first.sum()


@pytest.mark.filterwarnings("error")
def test_any_name_is_written():
    for name in ("", "x_1 costs $2 or $3", "π", "赤い円", "word" * 40):
        page = labelled_rows({name: SAMPLES["seen"]})
        assert page.shape[0] == 28
        assert np.isfinite(page).all()


def test_rows_may_be_short_and_what_is_no_number_is_grey():
    page = labelled_rows({"one": np.full((1, 7, 7, 1), np.nan), "two": np.zeros((2, 7, 7, 1))})
    right = page[:, -60:]
    assert (right[:28, :28] == 0.5).all()
    assert (right[:28, 32:] == 1.0).all()
    assert (right[32:, :28] == 0.0).all()


def test_without_matplotlib_there_are_no_names(monkeypatch):
    monkeypatch.setattr(rows, "find_spec", lambda name: None)
    plain = enlarged(image_grid(np.concatenate(list(SAMPLES.values())), 3))
    np.testing.assert_array_equal(labelled_rows(SAMPLES), plain)
