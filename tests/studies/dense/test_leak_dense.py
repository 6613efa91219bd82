"""Leak of dense networks: networks that were trained, and kernel machines in their place."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole.limits import memorization_leak
from partwhole.measures import slope
from partwhole.measures.slope import item_values
from partwhole.study import published
from partwhole_studies.dense import leak_dense as study
from partwhole_studies.dense import networks, similarities
from partwhole_studies.dense.slopes import leak, slope_of_ends
from partwhole_studies.network_tasks import make_task

NNGP = OverlapKernel.random_network("relu", 2, 1)


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


@cache
def answers(name, kernel):
    return solve(make_task(name), kernel, intercept="none").predictions


def kernel_machines(config, kernel):
    """Return the cell of networks that do as a kernel machine does."""
    answer = answers(config["task"], kernel)
    seeds, depth = len(config["seeds"]), config["depth"]
    predictions = answer * (1.0 + 0.001 * np.arange(seeds) / seeds)[:, None]
    saliences = np.tile([*kernel.salience], (seeds, depth, 1))
    cell = {"predictions": predictions, "salience_after": saliences}
    cell |= {"loss": np.zeros(seeds), "learned": np.ones(seeds, dtype=bool)}
    similar = np.tile(np.array([[0.0], [kernel.salience[0]], [1.0]]), (seeds, 1, 5))
    cell |= {"similarity_before": similar, "similarity_after": similar}
    heights = np.tile(similarities.shares([row[:1] for row in similar[0]]), (seeds, 1, 1))
    cell |= {"pairs_before": heights, "pairs_after": heights}
    return cell | ({"regime": predictions[: config["kernels"]]} if config["kernels"] else {})


def synthetic(preset, kernel=NNGP):
    fewer = [config | {"seeds": config["seeds"][:6]} for config in study.PRESETS[preset]]
    return [(config, kernel_machines(config, kernel)) for config in fewer]


def test_it_is_whole(data):
    require_whole(study, data)


def test_theory_is_that_of_random_features(data):
    # Computed independently of this package, to six digits.
    np.testing.assert_allclose(data.theory, (0.743443, 0.852845), atol=1e-6)


def test_lazy_networks_leak_as_random_features(data):
    slopes = data.slope.sel(scale=study.LAZY).mean("seed")
    # Theory leaves out the biases, which change it by .016 at most.
    np.testing.assert_allclose(slopes, data.theory, atol=0.02)


def test_lazy_networks_do_as_their_own_kernels(data):
    lazy = data.sel(scale=study.LAZY)
    for task in lazy.task.values:
        pairs = np.stack([lazy[name].sel(task=task) for name in ("regime", "slope")])
        pairs = pairs[:, np.isfinite(pairs).all(axis=0)]
        assert pairs.shape[1] == study.KERNELS
        assert np.corrcoef(pairs)[0, 1] > 0.98


def test_training_scatters_similarities_from_small_weights_only(data):
    """Published: unchanged from large initial weights, with a peak of overlapping pairs at .43."""
    pairs = data.sel(task="both").mean("seed")
    lazy, rich = (pairs.sel(scale=scale) for scale in (study.LAZY, study.RICH))
    middle = [lazy[name].sel(shared=1, quantile=0.5) for name in study.SIMILARITIES]
    np.testing.assert_allclose(middle, 0.43, atol=0.02)  # read to .01, biases change it by .005
    before, after = (similarities.span(lazy[name]) for name in study.SIMILARITIES)
    assert float(after.item()) < 1.5 * float(before.item())
    assert float(similarities.span(rich.similarity_after).item()) > 3 * float(before.item())


def test_a_bent_curve_has_another_slope_between_its_ends():
    task = make_task("extrapolation")
    values = np.arange(-4.0, 5.0)
    cubes = (values**3)[task.components].sum(axis=1)
    # The items are -4 to -1 and 1 to 4: 64 / 4, and the sum of fourth powers over that of squares.
    assert slope_of_ends(item_values(task, cubes)) == pytest.approx(16.0)
    assert slope(task, cubes).value == pytest.approx(354 / 30)


def test_published_slopes_are_those_between_the_ends(data):
    """For one anchor a fitted line is less steep, by more than can be misread."""
    paper = published(study.__file__, ["task", "scale"], network="wide").slope
    rich = data.sel(scale=study.RICH)
    table = paper.sel(scale=study.RICH, task=rich.task)
    assert float(abs(rich.ends.mean("seed") - table).max()) < 0.01
    one = rich.slope.sel(task="extrapolation").dropna("seed")
    assert one.size == 5
    assert float(abs(one - table.sel(task="extrapolation")).min()) > 0.01


def test_kernel_machines_are_lazy_networks_and_no_rich_ones():
    data = study.gather(synthetic("laptop"))
    require_whole(study, data)
    verdict = verdicts(study, data)
    assert verdict["lazy_two"] == verdict["kernel_gap"] == "holds"
    assert verdict["ends_one"] == verdict["ends_two"] == "does not hold"


def test_another_kernel_is_noticed():
    step = OverlapKernel.random_network("step", 2, 1)
    data = study.gather(synthetic("quick", step))
    assert verdicts(study, data)["lazy_two"] == "does not hold"
    assert study.numbers(data)["predicts"] == "does not predict"


def test_networks_that_did_not_learn_or_stopped_early_are_left_out_and_counted():
    cells = synthetic("quick")
    for _, arrays in cells:
        arrays["predictions"][0] = 1e6
        arrays["learned"][0] = False
        arrays["loss"][1] = 2 * study.LARGEST_LOSS
    data = study.gather(cells)
    assert study.numbers(data)["not_learned"] == "8 of 22"
    assert not {0, 1} & set(data.seed.values)
    assert float(data.slope.max()) < 1.0


@pytest.mark.parametrize(("share", "learned"), [(0.2, True), (0.25, False)])
def test_a_sum_is_learned_to_a_share_of_the_variance(share, learned):
    task = make_task("extrapolation")
    # Errors of a share s of each target's deviation are s squared of the variance.
    mean = task.train_targets.mean()
    assert networks.has_learned(task, mean + (1 + share) * (task.targets - mean)) is learned


def test_a_label_is_learned_with_its_sign():
    task = make_task("CD-1")
    assert networks.has_learned(task, 0.01 * task.targets)
    assert not networks.has_learned(task, np.where(np.arange(72) == 40, -1, 1) * task.targets)


def test_a_salience_out_of_range_is_that_of_its_end():
    assert leak(0.51, 1) == memorization_leak(0.5, 1) == 1.0
    assert leak(-0.01, 2) == 0.0
