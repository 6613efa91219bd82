"""Two-layer gated networks on files in the format of MNIST."""

from __future__ import annotations

from io import BytesIO

import idx_files
import mnist_runs
import numpy as np
import pytest

from partwhole.features import HalfspaceGates
from partwhole.limits import gated_limit
from partwhole.tasks.images._files import VARIABLE
from partwhole_studies.gated import _mnist
from partwhole_studies.gated import _two_layer_claims as on_digits
from partwhole_studies.gated import _two_layer_mnist as asked
from partwhole_studies.gated import _two_layer_published as published
from partwhole_studies.gated import _two_layer_runs as runs
from partwhole_studies.gated import two_layers as study

FEW = {"n_train": 500, "max_steps": 100, "n_test": 100}
SETTINGS = [(10, 1, "median"), (10, 1, "zero"), (10, 2, "zero"), (20, 1, "zero")]


def few(*seeds):
    return [
        study.PRESETS["mnist"][0]
        | FEW
        | {"n_units": h, "hyperplanes": k, "thresholds": kind, "seeds": [seed]}
        for h, k, kind in SETTINGS
        for seed in seeds
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return idx_files.write(tmp_path_factory.mktemp("mnist") / "files", 700)


@pytest.fixture(scope="module")
def cells(folder):
    return mnist_runs.computed_from(study, folder, few(1, 2))


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def test_the_published_sizes_are_asked_of_mnist():
    cells = study.PRESETS["mnist"]
    assert len({str(config) for config in cells}) == len(cells) == 3 * 4 * 2 * 2 * 3
    assert {config["n_train"] for config in cells} == {500, 1000, 2000}
    assert {config["n_units"] for config in cells} == {10, 20, 50, 100}
    for config in cells:
        assert {type(value) for value in config.values()} <= {str, int, list}
        assert (config["max_steps"], config["flow_steps"], config["coded"]) == (3200, 0, 0)
        assert config["n_test"] == 12_000
    for kind, k, n, units in published.ERRORS:
        told = {"thresholds": kind, "hyperplanes": k, "n_train": n, "n_units": units}
        assert sum(told.items() <= config.items() for config in cells) == 3


def test_the_split_is_the_same_for_all_seeds_and_gates_are_not(folder, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(folder))
    one, other = (_mnist.published_split(seed, 100, 200) for seed in (1, 2))
    np.testing.assert_array_equal(one.inputs, other.inputs)
    np.testing.assert_array_equal(one.selection_labels, other.selection_labels)
    np.testing.assert_array_equal(one.inputs, _mnist.mnist(1, 100, 200, 200).inputs)
    draws = [each.stream.randn(500) for each in (one, other)]
    # Of 500 independent pairs, five standard deviations.
    assert abs(np.corrcoef(draws)[0, 1]) < 5 / np.sqrt(500)
    np.testing.assert_array_equal(draws[0], _mnist.published_split(1, 100, 200).stream.randn(500))


def test_a_cell_holds_the_limit_of_its_own_gates(cells, data, folder, monkeypatch):
    """Draw the gates anew by their definition, and count the limit's errors by hand."""
    monkeypatch.setenv(VARIABLE, str(folder))
    split = _mnist.mnist(1, 500, 100, 100)
    for h, k, kind in SETTINGS:
        for seed in (1, 2):
            normals = np.random.RandomState([1, seed]).randn(h, k, 785)
            seen = np.einsum("hkd,nd->nhk", normals, split.every)
            cuts = np.median(seen, axis=0) if kind == "median" else np.zeros((h, k))
            found = gated_limit(HalfspaceGates(normals, cuts), split.inputs, split.labels)
            wrong = [
                np.mean(np.sign(found.predict(x)) != labels)
                for x, labels in (
                    (split.test_inputs, split.test_labels),
                    (split.selection_inputs, split.selection_labels),
                )
            ]
            here = data.sel(n=500, thresholds=kind, n_units=h, hyperplanes=k, seed=seed)
            told = here.errors.sel(learner=runs.GROUP, part=["report", "selection"]).values
            # The solves agree closely; one image in 100 may lie on the boundary for rounding.
            np.testing.assert_allclose(told, wrong, atol=0.0101)
            # Both are within 1e-6 of the least.
            assert float(here.group_value) == pytest.approx(found.limit.value, rel=2e-6)
            assert float(here.largest_pull) == pytest.approx(1.0, abs=1e-6)


def test_gather_leaves_no_cell_out(cells, data):
    assert data.attrs["images"] == "mnist"
    assert dict(data.group_value.sizes) == {
        "n": 1, "thresholds": 2, "n_units": 2, "hyperplanes": 2, "seed": 2
    }  # fmt: skip
    assert int(data.group_value.notnull().sum()) == len(cells)
    assert data.coded_value.isnull().all()  # too large here
    config, found = cells[-1]
    here = data.sel(
        n=500, n_units=config["n_units"], hyperplanes=config["hyperplanes"],
        thresholds=config["thresholds"], seed=config["seeds"][0],
    )  # fmt: skip
    np.testing.assert_array_equal(here.agreed.values, found["agreed"])
    np.testing.assert_array_equal(here.errors.values, found["errors"][0])


def test_cells_of_different_images_are_refused(cells):
    mnist_runs.refuse_different_images(study, cells)


def test_what_nothing_separates_has_no_limit_and_is_counted(cells, tmp_path):
    folder = mnist_runs.without_order(tmp_path / "files")
    lost = mnist_runs.computed_from(study, folder, few(1)[:1])
    ((config, found),) = lost
    learners = {name: found["errors"][0, place] for place, name in enumerate(runs.LEARNERS)}
    assert np.isfinite(learners[runs.NETWORK]).all()
    assert np.isfinite(learners[runs.LINEAR]).all()  # with slack
    for name in (runs.GROUP, runs.UNITS, runs.FUNCTION):
        assert np.isnan(learners[name]).all()
    assert np.isnan(found["agreed"]).all()
    kept = [(other, each) for other, each in cells if other != config]
    mixed = study.gather([(config, found | {"mark": cells[0][1]["mark"]}), *kept])
    notes = {claim.statement: claim.note for claim in study.claims(mixed)}
    (note,) = (each for words, each in notes.items() if "norm is the global one" in words)
    assert note.startswith(f"{len(kept)} of {len(cells)} programs have a solution.")
    for data in (mixed, study.gather(lost)):
        assert "holds" not in {
            claim.verdict.value for claim in study.claims(data)
            if not np.isfinite(claim.found)
        }  # fmt: skip
        study.figure(data).savefig(BytesIO())


def with_errors(cells, learner, told):
    """Give a learner the published errors, with another deviation in each seed."""
    changed = []
    for config, found in cells:
        errors = found["errors"].copy()
        place = runs.LEARNERS.index(learner)
        errors[:, place] = told + 0.001 * (config["seeds"][0] - 1.5)
        changed.append((config, found | {"errors": errors}))
    return {claim.statement: claim for claim in study.claims(study.gather(changed))}


def test_published_errors_hold_where_they_are_met_and_only_there(cells):
    for place, learner in enumerate((runs.NETWORK, runs.GROUP, runs.FUNCTION)):
        told = published.ERRORS["median", 1, 500, 10][place]
        statement = (
            f"Error of {published.WORDS[learner]}; 10 units, 1 hyperplane, 500 images, thresholds "
            "at the median."
        )
        claim = with_errors(cells, learner, told)[statement]
        assert claim.reference == told
        assert claim.found == pytest.approx(told, abs=1e-12)
        assert claim.interval is not None
        low, high = claim.interval
        # Student's t for two seeds is 12.706, on deviations of half a thousandth.
        assert high - low == pytest.approx(2 * 12.706 * 0.0005, rel=1e-3)
        assert claim.verdict.value == "holds"
        off = with_errors(cells, learner, told + 0.03)[statement]
        assert off.verdict.value == "does not hold"


def test_numbers_of_the_published_program_are_told_with_its_defects(data):
    notes = [
        claim.note for claim in study.claims(data)
        if claim.source == published.PAPER and "function-space" in claim.statement
    ]  # fmt: skip
    assert len(notes) >= 4
    assert all("grouped contexts of different units and had another" in note for note in notes)


def test_agreement_is_counted_as_it_is_defined(data):
    found = {claim.statement: claim for claim in study.claims(data)}
    zero = data.sel(thresholds="zero")
    p, q = (zero.errors.sel(learner=each, part="all").values for each in (runs.NETWORK, runs.GROUP))
    apart = zero.apart.sel(learner=runs.GROUP, end=runs.NETWORK).values
    (claim,) = (each for words, each in found.items() if "of what independent errors" in words
                and "group norm" in words)  # fmt: skip
    assert claim.found == pytest.approx(np.nanmean(apart / (p * (1 - q) + q * (1 - p))))
    assert claim.reference == 0.336
    (claim,) = (each for words, each in found.items() if "correlation" in words and words.endswith(
        "thresholds 0."))  # fmt: skip
    pairs = np.stack([p, q]).reshape(2, -1, 2)
    pairs = pairs[:, np.isfinite(pairs[0, :, 0])]
    told = [np.corrcoef(pairs[0, :, seed], pairs[1, :, seed])[0, 1] for seed in range(2)]
    assert claim.found == pytest.approx(np.mean(told))


def test_published_numbers_are_consistent():
    # Mean errors of limits and networks differ by no more than their mean distance.
    for _, difference, size in published.ALIKE.values():
        assert abs(difference) <= size
    # What is best of all settings is no worse than any of them, but for programs that are missing.
    for n in asked.SIZES:
        for place, learner in enumerate((runs.NETWORK, runs.GROUP, runs.FUNCTION)):
            errors = [
                told[place]
                for (kind, k, size, units), told in published.ERRORS.items()
                if size == n and (learner, kind, k, n, units) not in published.FEWER
            ]
            known = [each for each in errors if each is not None]
            assert published.LEAST[learner][n] <= min(known)


def test_selection_is_over_thresholds_too(data):
    for part, other in (("report", "selection"), ("selection", "report")):
        swapped = data.assign(errors=data.errors.copy())
        swapped.errors.loc[{"part": part}] = data.errors.sel(part=other)
        _, least = on_digits.by_selection(swapped.sel(n=500), runs.GROUP)
        told = swapped.errors.sel(n=500, learner=runs.GROUP, part="report")
        np.testing.assert_allclose(least, told.min(("thresholds", "n_units", "hyperplanes")))


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000


def test_the_mnist_preset_runs_from_the_command(folder, tmp_path, monkeypatch, capsys):
    out = mnist_runs.run_from_the_command(
        study, few(1, 2)[:2], folder, tmp_path, monkeypatch, capsys
    )
    assert "Error of networks after 3,200 steps; 10 units, 1 hyperplane, 500 images" in out
