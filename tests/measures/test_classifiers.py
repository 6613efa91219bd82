"""Predicted LDA and SVMs against trained ones, closed forms and other solvers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate
from scipy.optimize import minimize
from scipy.stats import binom, norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.svm import SVC

from partwhole._checks import InputError
from partwhole.measures import predict_readout
from partwhole.measures.readouts import LDA, SVM, lda, margins, svm
from partwhole.measures.readouts.equivalent import ridge_answers
from partwhole.measures.readouts.fixed_point import fixed_point
from partwhole.measures.readouts.labels import right_shares
from partwhole.measures.readouts.losses import MarginLoss, clipped_normal, mean_inverse
from partwhole.measures.readouts.means import MeasuredMeans
from partwhole.measures.readouts.noise import NoiseSpectrum

GRID = np.array([[a, b] for a in range(4) for b in range(4)])
CORNER = (GRID >= 2).all(axis=1)
MIDDLE = np.isin(4 * GRID[:, 0] + GRID[:, 1], [3, 6, 9])
LABELS = {
    "sum": np.where(GRID.sum(axis=1) >= 3, 1.0, -1.0),
    "large sum": np.where(GRID.sum(axis=1) > 3, 1.0, -1.0),
    "first": np.where(GRID[:, 0] >= 2, 1.0, -1.0),
    "same half": np.where((GRID[:, 0] >= 2) == (GRID[:, 1] >= 2), 1.0, -1.0),
}


def world(seed, p, *, noise=1.0, correlated=False):
    """Means of a 4 x 4 grid: shares .4 and .4 of parts, .2 of conjunctions; covariance of noise."""
    rng = np.random.default_rng(seed)
    first, second, both = (rng.normal(size=(n, p)) for n in (4, 4, 16))
    means = np.sqrt(0.4) * (first[GRID[:, 0]] + second[GRID[:, 1]]) + np.sqrt(0.2) * both
    covariance = np.eye(p)
    if correlated:
        factors = rng.normal(size=(p, max(1, p // 10)))
        shared = factors @ factors.T
        covariance = 0.5 * covariance + 0.5 * p * shared / np.trace(shared)
    return rng, means, noise**2 * covariance


def trials(rng, means, covariance, counts):
    index = np.repeat(np.arange(len(means)), counts)
    noise = rng.normal(size=(len(index), means.shape[1])) @ np.linalg.cholesky(covariance).T
    return means[index] + noise, index


def exact(means, covariance, counts):
    return MeasuredMeans.of(means, NoiseSpectrum.of_matrix(covariance)).training(counts)


def rms(array):
    return float(np.sqrt(np.mean(np.square(array))))


@pytest.mark.parametrize(
    ("p", "m", "correlated", "ridge"),
    [(20, 20, False, 1e-2), (60, 20, False, 30.0), (200, 5, True, 1e-3), (60, 1, False, 1.0)],
)
def test_with_squared_errors_margins_are_those_of_ridge(p, m, correlated, ridge):
    """The equations for any loss, against the deterministic equivalent that has its own tests."""
    rng, means, covariance = world(0, p, correlated=correlated)
    counts = np.where(CORNER, 0, rng.integers(m, 2 * m + 1, 16))
    labels = LABELS["large sum"]
    noise = NoiseSpectrum.of_matrix(covariance)
    expected = ridge_answers(means, noise, counts, labels[:, None], ridge)
    answers = margins.margin_answers(
        exact(means, covariance, counts), counts, labels, MarginLoss.squared_error(), ridge
    )
    np.testing.assert_allclose(answers.mean, expected.mean, atol=1e-6)
    np.testing.assert_allclose(answers.between, expected.between, rtol=1e-5)
    np.testing.assert_allclose(answers.within, expected.within, rtol=1e-5)


def squared_hinge(x, y, counts, C):
    """Minimise the loss by a general solver."""

    def value(v):
        gap = np.maximum(0.0, 1.0 - y * (x @ v[:-1] + v[-1]))
        slope = -2.0 * C * counts * gap * y
        gradient = np.append(v[:-1] + x.T @ slope, slope.sum())
        return 0.5 * v[:-1] @ v[:-1] + C * np.sum(counts * gap**2), gradient

    return minimize(value, np.zeros(x.shape[1] + 1), jac=True, method="BFGS", tol=1e-9).x


@pytest.mark.parametrize("C", [0.003, 0.03, 1.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_with_little_noise_an_svm_is_that_of_means(loss, C):
    """Answers differ by the order of the noise, or less: a fifth of it, to a factor of two."""
    rng, means, _ = world(0, 40)
    counts = np.where(CORNER, 0, rng.integers(2, 9, 16))
    labels, used = LABELS["sum"], counts > 0
    if loss == "hinge":
        readout = SVC(kernel="linear", C=C, tol=1e-8)
        readout.fit(means[used], labels[used], sample_weight=counts[used])
        expected = readout.decision_function(means)
    else:
        solution = squared_hinge(means[used], labels[used], counts[used], C)
        expected = means @ solution[:-1] + solution[-1]
    gaps = []
    for noise in (0.05, 0.01):
        described = exact(means, noise**2 * np.eye(40), counts)
        answers = SVM(C, loss).answers(described, counts, labels[:, None])
        gaps.append(np.abs(answers.mean[:, 0] - expected).max())
    assert gaps[1] < 0.4 * gaps[0]
    assert gaps[1] < 0.1
    assert answers.between.max() < 0.01


# Neurons, training trials of a condition, noise, correlated, classifier, label. Accuracies of
# trained classifiers from .05 to .99.
KNOWN = [
    (30, 20, 1.0, False, SVM(1.0), "sum"),
    (60, 20, 2.0, False, SVM(0.01), "sum"),
    (200, 5, 1.0, False, SVM(1.0), "sum"),
    (20, 20, 2.0, True, SVM(0.01), "large sum"),
    (30, 20, 1.0, False, SVM(1.0, "squared_hinge"), "first"),
    (20, 20, 1.0, True, LDA(), "sum"),
    (60, 20, 2.0, False, LDA(0.2), "large sum"),
    (200, 5, 1.0, False, LDA(0.3), "same half"),
]


@pytest.mark.parametrize(("p", "m", "noise", "correlated", "classifier", "label"), KNOWN)
def test_of_known_noise_accuracies_are_those_of_trained_classifiers(
    p, m, noise, correlated, classifier, label
):
    """Means of 2 worlds of 40 trained each: standard errors of a condition's up to .015."""
    y = LABELS[label]
    predicted, measured, sizes = [], [], []
    for seed in range(2):
        rng, means, covariance = world(seed, p, noise=noise, correlated=correlated)
        counts = np.where(CORNER, 0, rng.integers(m // 2, 3 * m // 2 + 1, 16))
        answers = classifier.answers(exact(means, covariance, counts), counts, y[:, None])
        spread = answers.between + answers.within
        predicted.append(right_shares(answers.mean, spread, (y > 0).astype(int)))
        shares, at_means = [], []
        for _ in range(40):
            x, index = trials(rng, means, covariance, counts)
            readout = classifier.train(x, y[index][:, None])
            answer, w = readout(means)[:, 0], readout.weights[:, 0]
            shares.append(norm.cdf(y * answer / np.sqrt(w @ covariance @ w)))
            at_means.append(answer)
        measured.append(np.mean(shares, axis=0))
        sizes.append(answers.mean[:, 0] @ np.mean(at_means, axis=0) / np.sum(answers.mean**2))
    differences = np.array(predicted) - np.array(measured)
    assert abs(differences[:, CORNER].mean()) < 0.02
    assert abs(differences[:, ~CORNER].mean()) < 0.01
    assert rms(differences) < 0.025
    # Scales of answers vary between training sets; their means agree to ten percent.
    assert np.mean(sizes) == pytest.approx(1.0, abs=0.1)


def test_lda_of_several_labels_is_that_of_trained_ones():
    """Three labels of 3, 4 and 6 conditions, unequal trials, by fresh trials."""
    label = GRID.sum(axis=1) * 3 // 7
    y = np.where(np.eye(3)[label] > 0, 1.0, -1.0)
    differences, gaps = [], []
    for seed in range(2):
        rng, means, covariance = world(seed, 60, correlated=True)
        counts = np.where(MIDDLE, 0, rng.integers(10, 31, 16))
        answers = LDA(0.1).answers(exact(means, covariance, counts), counts, y)
        predicted = right_shares(answers.mean, answers.between + answers.within, label)
        shares, at_means = [], []
        for _ in range(30):
            x, index = trials(rng, means, covariance, counts)
            readout = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1).fit(x, label[index])
            fresh, of = trials(rng, means, covariance, np.full(16, 100))
            shares.append(np.bincount(of, readout.predict(fresh) == label[of]) / 100)
            at_means.append(readout.decision_function(means))
        differences.append(predicted - np.mean(shares, axis=0))
        # A term in common to the labels is left out.
        expected, mean = np.mean(at_means, axis=0), answers.mean
        gap = mean - mean.mean(axis=1, keepdims=True) - expected
        gaps.append(rms(gap + expected.mean(axis=1, keepdims=True)) / rms(expected))
    differences = np.array(differences)
    assert abs(differences[:, MIDDLE].mean()) < 0.02
    assert abs(differences[:, ~MIDDLE].mean()) < 0.01
    assert rms(differences) < 0.025
    assert np.mean(gaps) < 0.05


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("shrinkage", [0.02, 0.5])
def test_with_little_noise_lda_is_that_of_means(shrinkage, n_labels):
    """Exactly: optimal scoring, priors, and shrinkage as a ridge."""
    rng, means, _ = world(0, 40)
    counts = np.where(MIDDLE, 0, rng.integers(1, 9, 16))
    label = GRID.sum(axis=1) * n_labels // 7
    y = np.where(np.eye(n_labels)[label] > 0, 1.0, -1.0)[:, n_labels == 2 :]
    index = np.repeat(np.arange(16), counts)
    readout = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage)
    expected = readout.fit(means[index], label[index]).decision_function(means)
    described = exact(means, 1e-8 * np.eye(40), counts)
    answers = LDA(shrinkage).answers(described, counts, y).mean
    if n_labels == 2:
        expected = expected[:, None]
    else:
        expected = expected - expected.mean(axis=1, keepdims=True)
        answers = answers - answers.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(answers, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize(("p", "shrinkage"), [(30, 0.0), (30, 0.3), (200, 0.1)])
@pytest.mark.parametrize("n_labels", [2, 4])
def test_trained_lda_is_that_of_scikit_learn(p, shrinkage, n_labels):
    rng, means, covariance = world(0, p)
    x, index = trials(rng, means, covariance, rng.integers(3, 9, 16))
    label = (GRID.sum(axis=1) * n_labels // 7)[index]
    y = np.where(np.eye(n_labels)[label] > 0, 1.0, -1.0)[:, n_labels == 2 :]
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage or None).fit(x, label)
    ours, expected = LDA(shrinkage).train(x, y)(x), theirs.decision_function(x)
    if n_labels == 2:
        np.testing.assert_allclose(ours[:, 0], expected, rtol=1e-6, atol=1e-8)
    else:
        centring = np.eye(n_labels) - 1.0 / n_labels
        np.testing.assert_allclose(ours @ centring, expected @ centring, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("C", [0.01, 0.1, 10.0])
@pytest.mark.parametrize("p", [20, 150])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_trained_svms_are_those_of_other_solvers(loss, p, C):
    rng, means, covariance = world(0, p)
    x, index = trials(rng, means, covariance, np.full(16, 8))
    y = LABELS["first"][index]
    ours = SVM(C, loss).train(x, y[:, None])(x)[:, 0]
    if loss == "hinge":
        expected = SVC(kernel="linear", C=C).fit(x, y).decision_function(x)
    else:
        solution = squared_hinge(x, y, np.ones(len(x)), C)
        expected = x @ solution[:-1] + solution[-1]
    # scikit-learn stops at violations of 1e-3.
    np.testing.assert_allclose(ours, expected, atol=5e-3 if loss == "hinge" else 1e-5)


# As above; then the largest error by condition over recordings of held-out and of training
# conditions. A condition's accuracy from m trials has an error of about .4 / sqrt(m) alone, at
# chance, and a third of that at .95.
FROM_TRIALS = [
    (60, 20, SVM(1.0), 0.07),
    (200, 20, SVM(1.0), 0.05),
    (200, 5, SVM(1.0), 0.06),
    (60, 20, LDA(), 0.07),
    (200, 5, LDA(0.3), 0.06),
]


@pytest.mark.parametrize(("p", "m", "classifier", "largest"), FROM_TRIALS)
def test_accuracies_are_predicted_from_trials_alone(p, m, classifier, largest):
    """Accuracies over training sets of 4 worlds, from two recordings of each."""
    y, errors = LABELS["sum"], []
    for seed in range(4):
        rng, means, covariance = world(seed, p)
        predicted, shares = [], []
        for recording in range(10):
            x, index = trials(rng, means, covariance, np.full(16, m))
            used = ~CORNER[index]
            readout = classifier.train(x[used], y[index[used]][:, None])
            w = readout.weights[:, 0]
            shares.append(norm.cdf(y * readout(means)[:, 0] / np.sqrt(w @ covariance @ w)))
            if recording < 2:
                measured = predict_readout(x, GRID[index], y[index], used, classifier=classifier)
                predicted.append(measured.accuracy)
        errors.append(np.array(predicted) - np.mean(shares, axis=0))
    errors = np.concatenate(errors)
    assert rms(errors) < largest
    assert abs(errors[:, CORNER].mean()) < 0.03
    assert abs(errors[:, ~CORNER].mean()) < 0.015


def recording(seed=0, p=30, m=6, label="first"):
    rng, means, covariance = world(seed, p)
    x, index = trials(rng, means, covariance, np.full(16, m))
    return x, GRID[index], LABELS[label][index], ~CORNER[index]


@pytest.mark.parametrize("classifier", [SVM(0.1), SVM(0.1, "squared_hinge"), LDA(0.1)])
def test_offsets_rotations_units_and_the_order_of_trials_change_nothing(classifier):
    x, rows, y, used = recording()
    expected = predict_readout(x, rows, y, used, classifier=classifier)
    rng = np.random.default_rng(1)
    turn = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    order = rng.permutation(len(x))
    rescaled = classifier if isinstance(classifier, LDA) else SVM(0.001, classifier.loss)
    for another, sign in (
        (predict_readout(x + 50.0, rows, y, used, classifier=classifier), 1.0),
        (predict_readout(x @ turn, rows, y, used, classifier=classifier), 1.0),
        (predict_readout(x[order], rows[order], y[order], used[order], classifier=classifier), 1.0),
        (predict_readout(10.0 * x, rows, y, used, classifier=rescaled), 1.0),
        (predict_readout(x, rows, -y, used, classifier=classifier), -1.0),
    ):
        np.testing.assert_allclose(sign * another.predicted, expected.predicted, atol=1e-4)
        np.testing.assert_allclose(another.deviation, expected.deviation, rtol=1e-4)
        # Trained to scikit-learn's tolerance.
        np.testing.assert_allclose(sign * another.trained, expected.trained, atol=2e-2)
        np.testing.assert_allclose(another.accuracy, expected.accuracy, atol=1e-4)


def test_trained_accuracy_is_the_share_of_other_trials():
    x, rows, y, used = recording()
    readout = predict_readout(x, rows, y, used, classifier=SVM(0.1))
    right = SVC(kernel="linear", C=0.1).fit(x[used], y[used]).predict(x) == y
    corner = CORNER[4 * rows[:, 0] + rows[:, 1]]
    expected = [right[corner & (rows == row).all(axis=1)].mean() for row in GRID[CORNER]]
    np.testing.assert_allclose(readout.trained_accuracy[CORNER], expected)
    assert np.isnan(readout.trained_accuracy[~CORNER]).all()
    frame = readout.to_frame()
    np.testing.assert_allclose(frame["trained accuracy"][CORNER], expected)
    np.testing.assert_allclose(frame["accuracy"], readout.accuracy)
    of_ridge = predict_readout(x, rows, y, used)
    answers = of_ridge.trained[CORNER, 0] * LABELS["first"][CORNER]
    assert ((of_ridge.trained_accuracy[CORNER] > 0.5) == (answers > 0)).mean() > 0.7
    of_numbers = predict_readout(x, rows, rows.sum(axis=1), used)
    assert np.isnan(of_numbers.trained_accuracy).all()
    assert "accuracy" not in of_numbers.to_frame()


def test_without_scikit_learn_an_svm_is_predicted_and_not_trained(monkeypatch):
    monkeypatch.setattr(svm, "find_spec", lambda name: None)
    readout = predict_readout(*recording(), classifier=SVM(0.1))
    assert np.isfinite(readout.predicted).all()
    assert np.isnan(readout.trained).all()
    assert np.isnan(readout.trained_accuracy).all()


def test_with_unequal_labels_and_no_signal_weights_vanish():
    """The answer is that of the larger label, for training sets and for the prediction."""
    rng = np.random.default_rng(0)
    means = 0.1 * rng.normal(size=(4, 5))
    labels, counts = np.array([1.0, -1.0, -1.0, -1.0]), np.array([10, 30, 30, 0])
    x, index = trials(rng, means, np.eye(5), counts)
    readout = SVC(kernel="linear").fit(x, labels[index])
    np.testing.assert_allclose(readout.decision_function(means), -1.0, atol=1e-2)
    answers = SVM().answers(exact(means, np.eye(5), counts), counts, labels[:, None])
    np.testing.assert_allclose(answers.mean, -1.0, atol=1e-2)
    assert answers.within.item() < 1e-4


@pytest.mark.parametrize("bounds", [(0.0, 0.7), (0.0, np.inf), (-np.inf, 0.4)])
def test_clipped_normal_numbers_have_the_moments_of_integrals(bounds):
    for mean, deviation in [(0.3, 0.5), (-1.0, 2.0), (2.0, 0.3)]:
        moments = clipped_normal(np.array([mean]), np.array([deviation]), bounds)
        for power, moment in ((1, moments[0]), (2, moments[1])):

            def density(x, power=power, mean=mean, deviation=deviation):
                return np.clip(x, *bounds) ** power * norm.pdf(x, mean, deviation)

            ends = mean - 12 * deviation, mean + 12 * deviation
            kinks = [bound for bound in bounds if ends[0] < bound < ends[1]]
            value = integrate.quad(density, *ends, points=kinks, epsabs=1e-12)[0]
            assert moment.item() == pytest.approx(value, abs=1e-9)
        ends = norm.cdf(bounds, mean, deviation)
        assert moments[2].item() == pytest.approx(ends[1] - ends[0], abs=1e-12)


def test_mean_inverses_are_those_of_binomial_numbers():
    offset, n, share = np.array([0.2, 3.0, 0.5]), np.array([7.0, 1.0, 20.0]), np.array([0.3, 1, 0])
    expected = [
        binom(int(k), p).expect(lambda x, a=a: 1.0 / (a + x))
        for a, k, p in zip(offset, n, share, strict=True)
    ]
    np.testing.assert_allclose(mean_inverse(offset, n, share), expected, rtol=1e-12)


def test_iterations_without_a_fixed_point_are_not_converged():
    assert not fixed_point(lambda x: x + 1.0, np.zeros(2)).converged
    assert not fixed_point(lambda x: np.exp(x) * np.nan, np.zeros(2)).converged
    # Steps alone would grow without bound.
    solution = fixed_point(lambda x: 1.0 - 5.0 * x, np.array([1.0]))
    assert solution.converged
    assert solution.value.item() == pytest.approx(1 / 6)


def several(y):
    return np.stack([y, -y], axis=1)


REFUSED = {
    "ridge with a classifier": (
        lambda x, rows, y, used: (x, rows, y, used),
        {"classifier": LDA(), "ridge": 2.0},
        r"ridge is the penalty of a ridge readout; got ridge=2.0 with LDA\(shrinkage=0.0\); leave",
    ),
    "other targets": (
        lambda x, rows, y, used: (x, rows, 2 * y, used),
        {"classifier": SVM()},
        "classifiers are for labels, targets of -1 and \\+1 with one \\+1 of several; got other "
        "targets; pass labels, or leave classifier out",
    ),
    "several columns": (
        lambda x, rows, y, used: (x, rows, several(y), used),
        {"classifier": SVM()},
        "an SVM separates two labels, in one column; got 2 columns; pass one column of -1 and \\+1",
    ),
    "one label": (
        lambda x, rows, y, used: (x, rows, y, used & (y > 0)),
        {"classifier": SVM()},
        "an SVM is trained on trials of both labels; got those of label 1 alone; mark trials of",
    ),
    "a label without trials": (
        lambda x, rows, y, used: (x, rows, several(y), used & (y > 0)),
        {"classifier": LDA(0.1)},
        "LDA is trained on trials of every label; got none of 1 of 2 labels; mark trials of them",
    ),
    "too many features": (
        lambda x, rows, y, used: (np.hstack([x, x, x]), rows, y, used),
        {"classifier": LDA()},
        "LDA without shrinkage needs fewer features than training trials less labels; got 90 "
        "features, and 72 trials less 2 labels; raise shrinkage",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_predicted_is_refused(name):
    change, options, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        predict_readout(*change(*recording()), **options)


def test_parameters_out_of_range_are_refused():
    with pytest.raises(InputError, match="shrinkage"):
        lda.LDA(1.0)
    with pytest.raises(InputError, match="C is"):
        SVM(0.0)
    with pytest.raises(InputError, match="loss"):
        SVM(1.0, "log")


def test_equations_that_are_not_solved_are_an_error(monkeypatch):
    monkeypatch.setattr("partwhole.measures.readouts.fixed_point.MOST_STEPS", 3)
    with pytest.raises(InputError, match=r"reproduce themselves; got a change by .*; lower C, or"):
        predict_readout(*recording(), classifier=SVM(0.1))
