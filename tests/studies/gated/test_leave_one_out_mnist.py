"""Rows left out of one gated unit, on files in the format of MNIST."""

from __future__ import annotations

from io import BytesIO

import idx_files
import mnist_runs
import numpy as np
import pytest

from partwhole_studies.gated import leave_one_out as study


def few(*seeds, ks):
    first = study.PRESETS["mnist"][0] | {"n": 200, "n_test": 100}
    return [first | {"hyperplanes": [k], "seeds": [seed]} for k in ks for seed in seeds]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return idx_files.write(tmp_path_factory.mktemp("mnist") / "files", 700)


@pytest.fixture(scope="module")
def cells(folder):
    return mnist_runs.computed_from(study, folder, few(1, 2, ks=(0, 2, 4, 9)))


def test_every_published_setting_is_asked_of_mnist():
    """180 support vector machines are published; without hyperplanes there are no thresholds."""
    cells = study.PRESETS["mnist"]
    assert len({str(config) for config in cells}) == len(cells) == 180 - 9
    assert {config["n"] for config in cells} == {500, 1000, 2000}
    assert {config["n_test"] for config in cells} == {12_000}


def test_bounds_hold_on_images_of_files(cells):
    data = study.gather(cells)
    assert data.attrs["images"] == "MNIST"
    numbers = study.numbers(data)
    assert numbers["holds"] <= 1e-9
    assert numbers["order"] <= 1e-9
    assert np.isfinite(data.error.sel(hyperplanes=4)).all()
    study.figure(data).savefig(BytesIO())


def test_cells_of_different_images_are_refused(cells):
    mnist_runs.refuse_different_images(study, cells)


def test_the_preset_runs_from_the_command(folder, tmp_path, monkeypatch, capsys):
    out = mnist_runs.run_from_the_command(
        study, few(1, 2, ks=(2, 9)), folder, tmp_path, monkeypatch, capsys
    )
    assert "Rows left out are wrong as often as test images" in out
