"""Noise of repeats: what it leaves unexplained in a solvable task, and what it does not excuse."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from partwhole import audit_split
from partwhole._checks import InputError
from partwhole.audit.case import AuditTable
from partwhole.audit.noise import Noise


def table(rng, repeats, noise, interaction):
    cells = np.array([(a, b) for a in range(5) for b in range(5)])
    worth = rng.normal(size=(2, 5))
    score = worth[0][cells[:, 0]] + worth[1][cells[:, 1]]
    score = score + interaction * rng.normal(size=25)
    held_out = np.isin(cells[:, 0], [3, 4]) & np.isin(cells[:, 1], [2, 3, 4])
    components = np.repeat(cells, repeats, axis=0)
    y = np.repeat(score, repeats) + noise * rng.normal(size=25 * repeats)
    return AuditTable(
        components,
        y[:, None],
        None,
        np.repeat(held_out, repeats).astype(int),
        np.ones(len(y)),
        ("a", "b"),
        (tuple(range(5)),) * 2,
        ("y",),
        None,
        ("train", "test"),
    )


def unexplained(case):
    """Return the share of the held-out means that no additive function gives, and its rank."""
    rows = case.task.components[case.held_out]
    y = case.task.targets[case.held_out]
    one_hot = np.hstack([np.eye(5)[rows[:, 0]], np.eye(5)[rows[:, 1]]])
    fitted = one_hot @ np.linalg.lstsq(one_hot, y, rcond=None)[0]
    return np.sum((y - fitted) ** 2) / np.sum((y - y.mean()) ** 2), np.linalg.matrix_rank(one_hot)


def test_noise_alone_is_excused_and_interactions_are_not():
    excused = {0.0: 0, 1.0: 0}
    for seed in range(400):
        for interaction in excused:
            rng = np.random.default_rng(seed)
            case = table(rng, 4, 0.2, interaction).case(1, 1)
            share, rank = unexplained(case)
            noise = Noise.of(case)
            excused[interaction] += share <= noise.unexplained(len(case.held_out), int(rank))
    # One in a thousand is not excused by chance: 4 or more of 400 has probability .001.
    assert excused[0.0] >= 397
    # Their residuals have 101 times the noise's mean square on 2 degrees of freedom: below the
    # .999 quantile of F(2, 75), 7.5, with probability 1 - exp(-7.5 / 101), 28 of 400.
    assert excused[1.0] <= 60


def test_the_variance_is_that_within_combinations():
    case = table(np.random.default_rng(0), 3, 0.5, 0.0).case(1, 1)
    noise = Noise.of(case)
    y = case.table.targets.reshape(25, 3)
    assert noise.variance == pytest.approx(np.mean(y.var(axis=1, ddof=1)), rel=1e-12)
    assert noise.of_means == pytest.approx(noise.variance / 3, rel=1e-12)
    assert noise.degrees == 50


def test_without_repeats_that_differ_there_is_no_noise_to_know():
    assert Noise.of(table(np.random.default_rng(0), 1, 0.5, 0.0).case(1, 1)) is None
    assert Noise.of(table(np.random.default_rng(0), 3, 0.0, 1.0).case(1, 1)) is None


def noisy(interaction, seed=0, noise=0.01):
    """Return a table of 20 x 20 sums with noise, each combination once."""
    rng = np.random.default_rng(seed)
    grid = [(a, b) for a in range(20) for b in range(20)]
    frame = pd.DataFrame(grid, columns=["a", "b"])
    score = frame["a"] + frame["b"] + interaction * frame["a"] * frame["b"]
    frame["y"] = score + noise * score.std() * rng.normal(size=400)
    frame["split"] = np.where(rng.random(400) < 0.2, "test", "train")
    return frame, noise * score.std()


@pytest.mark.parametrize("seed", range(5))
def test_sums_with_noise_are_solvable_up_to_it(seed):
    frame, deviation = noisy(0.0, seed)

    def audited(noise):
        return audit_split(frame, ["a", "b"], "y", "split", noise=noise, add=0)

    assert audited("repeats").solvable is False
    assert audited(deviation).solvable is True
    assert audited(0.1 * deviation).solvable is False
    report = audited("estimate")
    assert report.solvable is True
    assert any("taken as the noise of a single row" in one
               for one in report.evidence[0].solvability.remarks)  # fmt: skip


def test_the_estimate_is_the_residual_variance_of_least_squares():
    frame, _ = noisy(0.0)
    report = audit_split(frame, ["a", "b"], "y", "split", add=0)
    case = report.evidence[0].case
    train = frame[frame["split"] == "train"]
    one_hot = np.hstack([np.eye(20)[train["a"]], np.eye(20)[train["b"]]])
    left = train["y"] - one_hot @ np.linalg.lstsq(one_hot, train["y"], rcond=None)[0]
    estimate = Noise.of(case, "estimate")
    degrees = len(train) - np.linalg.matrix_rank(one_hot)
    assert estimate.degrees == degrees
    assert estimate.variance == pytest.approx(np.sum(left**2) / degrees, rel=1e-9)


def test_what_does_not_add_up_is_said_although_it_counts_as_noise():
    frame, _ = noisy(0.3)
    report = audit_split(frame, ["a", "b"], "y", "split", noise="estimate", add=0)
    assert ", which explains 9" in report.headline
    assert " of training (the rest is noise, or parts interact)" in report.headline


@pytest.mark.parametrize("noise", ["guess", -1.0, float("nan"), [1.0]])
def test_noise_is_refused_in_one_sentence(noise):
    with pytest.raises(InputError, match=r"^noise is .*; got .*; (pass|choose) "):
        audit_split(noisy(0.0)[0], ["a", "b"], "y", "split", noise=noise)


def of_three(target, seed=0):
    """Return a table of 6 x 6 x 6 combinations with noise, each once, a fifth held out."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(np.indices((6, 6, 6)).reshape(3, -1).T, columns=["a", "b", "c"])
    frame["y"] = target(frame) + 0.1 * rng.normal(size=len(frame))
    frame["split"] = np.where(rng.random(len(frame)) < 0.2, "test", "train")
    return frame


def test_interactions_are_not_estimated_as_noise():
    """The estimate is that of pairs, which F's test finds to fit better."""
    pairs = of_three(lambda frame: frame["a"] + frame["b"] * frame["c"])
    report = audit_split(pairs, ["a", "b", "c"], "y", "split", noise="estimate", add=0)
    assert report.headline.startswith(
        "Not supported if parts add up (order 1): they do not add up to the targets"
    )
    (finding,) = [item for item in report.findings if item.rule == "not-solvable"]
    assert "The best sum of at most 2 components leaves a standard deviation of" in finding.message
    assert "% is more." in finding.message
    assert "Proof" not in finding.message
    sums = of_three(lambda frame: frame["a"] + frame["b"] + frame["c"])
    report = audit_split(sums, ["a", "b", "c"], "y", "split", noise="estimate", add=0)
    assert report.verdict == "supported"
    (remark,) = report.evidence[0].solvability.remarks
    assert "The best sum of at most 1 component leaves" in remark
    assert "cannot tell" not in remark


def test_an_estimate_that_could_be_an_interaction_says_so():
    report = audit_split(noisy(0.0)[0], ["a", "b"], "y", "split", noise="estimate", add=0)
    (remark,) = report.evidence[0].solvability.remarks
    assert "; training cannot tell it from an interaction. In 999 of 1,000 cases" in remark


def test_noise_that_may_be_all_there_is_decides_nothing():
    frame, _ = noisy(0.0)
    frame["y"] = np.random.default_rng(1).normal(size=len(frame))
    report = audit_split(frame, ["a", "b"], "y", "split", noise="estimate", add=0)
    assert report.solvable is None
    (finding,) = [item for item in report.findings if item.rule == "not-decided"]
    assert finding.severity == "error"
    assert "so that noise may be all there is. Add rows, or repeat combinations." in finding.message


def test_repeats_that_do_not_excuse_are_named_with_what_they_would():
    """A sum of a few noisy targets would prove nothing, so that none is shown."""
    rng = np.random.default_rng(0)
    frame, _ = noisy(0.0, noise=0.0)
    frame["y"] += 4.0 * ((frame["a"] > 14) & (frame["b"] > 14))
    frame = pd.concat([frame] * 3, ignore_index=True)
    frame["y"] += 0.3 * rng.normal(size=len(frame))
    report = audit_split(frame, ["a", "b"], "y", "split", add=0)
    (finding,) = [item for item in report.findings if item.rule == "not-solvable"]
    assert "Rows of the same combination differ with a standard deviation of 0." in finding.message
    assert "% is more." in finding.message
    assert "0.0001 %" not in finding.message
    assert "Proof" not in finding.message


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        ("repeats", "Rows of the same combination differ with a standard deviation of 0."),
        (0.2, "The noise of a single row was given as 0.2."),
        ("estimate", "The best sum of at most 1 component leaves a standard deviation of 0."),
    ],
)
def test_remarks_say_what_was_taken_as_noise(noise, words):
    frame = pd.concat([noisy(0.0)[0]] * 2, ignore_index=True)
    frame["y"] += 0.2 * np.random.default_rng(3).normal(size=len(frame))
    report = audit_split(frame, ["a", "b"], "y", "split", noise=noise, add=0)
    assert [remark for remark in report.table.remarks if words in remark]
    labels = frame.assign(y=np.where(frame["y"] > frame["y"].median(), "high", "low"))
    remarks = audit_split(labels, ["a", "b"], "y", "split", noise=noise, add=0).table.remarks
    if noise == 0.2:
        assert "The share of rows with a wrong label was given as 0.2." in remarks
