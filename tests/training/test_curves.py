"""Learning curves: what they show of each family, on which axes, and how of many runs."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from small_trainings import CASES

from partwhole import _extras
from partwhole._extras import MissingExtraError
from partwhole.networks import Architecture
from partwhole.training import Training, train
from partwhole.training.curves import _scale


@pytest.fixture(scope="module")
def runs():
    return {
        name: train(networks, data, training, **options, progress=False)
        for name, (networks, data, training, options) in CASES.items()
    }


def keys(figure):
    (legend,) = figure.legends
    assert all(ax.get_legend() is None for ax in figure.axes)
    return [text.get_text() for text in legend.get_texts()]


def title(figure):
    return figure.legends[0].get_title().get_text()


LABELS = {
    "diagonal": (
        ["loss (squared error)"], "step",
        ["training, task 0", "training, task 1", "test, task 0", "test, task 1"],
    ),
    "two layers": (["loss (squared error)"], "step", ["training", "test"]),
    "gated": (["loss (nats)", "normalised margin"], "step", ["training", "test"]),
    "images": (["loss (nats)", "accuracy"], "epoch", ["training", "test"]),
    "structured identity": (["loss (squared error)"], "step", ["training"]),
    "diffusion": (
        ["loss (bits per dimension)"], "step",
        ["diffusion term", "latent term", "reconstruction term"],
    ),
    "any": (["loss (squared error)"], "step", ["training", "test"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_every_family_has_curves_with_units_and_one_key(runs, name):
    figure = runs[name].plot()[0].figure
    panels, along, names = LABELS[name]
    assert [ax.get_ylabel() for ax in figure.axes] == panels
    assert figure.axes[-1].get_xlabel() == along
    assert keys(figure) == names
    n = len(runs[name].outcomes)
    assert title(figure) == ("" if n == 1 else f"{n} runs, a line each")
    file = BytesIO()
    figure.savefig(file, format="png")  # nothing is left out of the page with a warning
    for ax in figure.axes:
        assert len(ax.lines) % n == 0


def test_lines_are_the_losses(runs):
    of = runs["two layers"]
    lines = of.plot()[0].lines
    values = [*of.training_loss, *of.test_loss]
    for line, expected in zip(lines, values, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), of.steps)
        np.testing.assert_array_equal(line.get_ydata(), expected)
    of = runs["images"]
    upper, lower = of.plot()
    for run in (0, 1):
        np.testing.assert_array_equal(upper.lines[run].get_xdata(), [1, 2, 3, 4])
        np.testing.assert_array_equal(upper.lines[run].get_ydata(), of.epoch_loss[run])
        np.testing.assert_array_equal(upper.lines[2 + run].get_xdata(), [0, 2, 4])
        np.testing.assert_array_equal(upper.lines[2 + run].get_ydata(), of.scores["test"].loss[run])
        training, test = (of.scores[key].accuracy[run] for key in ("training", "test"))
        np.testing.assert_array_equal(lower.lines[run].get_ydata(), training)
        np.testing.assert_array_equal(lower.lines[2 + run].get_ydata(), test)
    of = runs["diffusion"]
    for term, line in enumerate(of.plot()[0].lines):
        np.testing.assert_array_equal(line.get_xdata(), [100, 200, 230])
        np.testing.assert_array_equal(line.get_ydata(), of.diffusion.bits[0, :, term])


def test_a_run_ends_where_it_ended():
    networks, data, training, options = CASES["any"]
    changed = replace(training, steps=400, threshold=0.05, learning_rate=0.02, record=50)
    of = train(networks, data, changed, **options, progress=False)
    for line, end in zip(of.plot()[0].lines, [*of.end_steps] * 2, strict=True):
        assert line.get_xdata().max() == end < 400


def test_many_runs_are_a_median_and_a_band():
    x, y = np.random.default_rng(0).normal(size=(12, 3)), np.ones(12)
    networks = Architecture(2, 5, "relu").networks(3, seeds=range(9), outputs=1)
    of = train(networks, (x, y), Training(steps=20, record=5), progress=False)
    figure = of.plot()[0].figure
    (line,), (band,) = figure.axes[0].lines, figure.axes[0].collections
    np.testing.assert_allclose(line.get_ydata(), np.median(of.training_loss, axis=0))
    reach = band.get_datalim(figure.axes[0].transData)
    low, high = np.quantile(of.training_loss, [0.1, 0.9], axis=0)
    assert (reach.y0, reach.y1) == pytest.approx((low.min(), high.max()))
    assert title(figure) == "9 runs: median, and 10 to 90 %"


def test_a_run_that_diverged_leaves_the_others_visible():
    x, y = np.random.default_rng(0).normal(size=(12, 3)), np.ones(12)
    networks = Architecture(3, 5, "relu").networks(3, seeds=range(2), outputs=1)
    training = Training(steps=40, record=5, learning_rate=[0.01, 1e30])
    of = train(networks, (x, y), training, progress=False)
    assert not np.isfinite(of.training_loss).all()
    ax = of.plot()[0]
    assert np.isfinite(ax.get_ylim()).all()
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), of.training_loss[0])


def test_axes_are_logarithmic_where_losses_and_gaps_grow():
    x, y = np.random.default_rng(0).normal(size=(12, 3)), np.ones(12)
    network = Architecture(2, 50, "relu", initial="he", scale=1.0).network(3, seed=0, outputs=1)

    def scales(**options):
        of = train(network, (x, y), Training(**options), progress=False)
        ax = of.plot()[0]
        return ax.get_yscale(), ax.get_xscale()

    assert scales(steps=2000, learning_rate=0.02) == ("log", "symlog")
    assert scales(steps=2000, learning_rate=0.02, record=100) == ("log", "linear")
    assert scales(steps=2, learning_rate=1e-4) == ("linear", "linear")
    assert _scale([np.array([1.0, 5.0, np.inf])]) == {"value": "linear"}
    assert _scale([np.array([-1.0, 5000.0])])["value"] == "symlog"
    assert _scale([np.full(3, np.nan)]) == {"value": "linear"}


def test_without_matplotlib_the_extra_is_named(runs, monkeypatch):
    monkeypatch.setattr(_extras, "find_spec", lambda name: None if name == "matplotlib" else name)
    with pytest.raises(MissingExtraError) as caught:
        runs["any"].plot()
    assert str(caught.value) == (
        "Runs.plot needs packages of the extra 'plot'; got an installation without matplotlib; "
        "install them: pip install 'partwhole[plot]'"
    )
