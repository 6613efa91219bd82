r"""What a linear classifier with a loss of margins answers, trained on noisy trials.

Weights minimise :math:`\tfrac12 \rho |w|^2 + \sum_i \ell(y_i f_i)` with
:math:`f_i = w x_i + b` over trials :math:`x = M_c + z`, :math:`m_c` of each of T conditions.
Without trial i, its answer is normal over training sets, of a mean :math:`\theta_c` and a variance
:math:`q_c`; with it, the trial draws its answer towards its label by a force,

.. math::
    g = -y\, \ell'(y f), \qquad f = f_{-i} + V_c\, g, \qquad
    y g = \mathrm{clip}\left(\frac{1 - y f_{-i}}{r + V_c},\, \text{least},\, \text{largest}\right),

for the hinge loss (r = 0, from 0 to C), the squared hinge (r = 1 / 2C, from 0) and the squared
error (r = 1, without bounds; then all below is that of `equivalent`). Mean answers follow from the
kernel of condition means,

.. math::
    a = K \hat m + b, \quad \hat m_c = m_c E[g_c], \quad \sum_c \hat m_c = 0, \qquad
    K = M G^{-1} M', \quad G = \rho I + \tilde d\, \Sigma, \qquad a_c = \theta_c + (V_c - d) E[g_c],

and the scalars from the resolvent, with the curvature :math:`e_c` of the loss at a condition,

.. math::
    \tilde T = [G + M' \mathrm{diag}(e) M]^{-1}, \quad d = \mathrm{tr}\, \Sigma \tilde T, \quad
    \tilde d = \sum_c \frac{m_c \pi_c}{r + V_c}, \quad \hat q = \sum_c m_c E[g_c^2],

    q = \mu' \Sigma \mu + \hat q\, \mathrm{tr} (\Sigma \tilde T)^2
    + \sum_c m_c v_c\, M_c \tilde T \Sigma \tilde T M_c',

where :math:`\pi_c` is the share of trials whose force is not clipped, :math:`v_c` the variance of
the force at the mean answer, and :math:`\mu = G^{-1} M' \hat m`. The number of such trials in a
condition varies: it is taken as binomial, and :math:`e_c` is the constant curvature with the same
mean leverage :math:`E\, M_c \tilde T M_c'` (coherent-potential approximation); :math:`V_c - d` and
:math:`q_c - q` are the leverage and the variance between training sets without one of its trials.

Source: for a few conditions and many trials of each, the equations are those of Mignacco et al.
(ICML 2020) and Loureiro et al. (NeurIPS 2021). Leave-one-out form, intercept, and everything that
depends on the trials of a condition being few: derived here, approximate but for squared errors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import InputError
from partwhole.measures.readouts.answers import Answers
from partwhole.measures.readouts.fixed_point import fixed_point
from partwhole.measures.readouts.losses import MarginLoss, mean_inverse
from partwhole.measures.readouts.means import Means

NEWTON_STEPS = 60
HALVINGS = 30
TINY = 1e-100
FEW_DIGITS = 1e-12
DAMPINGS = (0.5, 0.2)
# Of the unknowns that are logarithms.
LONGEST_STEP = 2.0
# Deviation of answers over trials, in units of labels, that is none.
NO_WEIGHTS = 3e-3


def margin_answers(
    means: Means,
    counts: Int[np.ndarray, " A"],
    labels: Float[np.ndarray, " A"],
    loss: MarginLoss,
    penalty: float = 1.0,
) -> Answers:
    """Return the answers of a classifier, trained on trials of some conditions.

    Parameters
    ----------
    means : Means
        Of all conditions, centred over the training trials.
    counts : int array, shape (A,)
        Training trials of each condition; 0 for those that are held out.
    labels : float array, shape (A,)
        -1 and +1.
    loss : MarginLoss
    penalty : float, default 1.0
        On half the sum of squared weights, above 0.

    Returns
    -------
    Answers

    Raises
    ------
    InputError
        If the scalars can't be found.
    """
    change = np.inf
    # Near as many features as trials estimated noise may leave no solution; shrunk noise does.
    for described in (lambda: means, means.shrunk):
        if described is None:
            continue
        answers, left = _solved(described(), counts, labels, loss, penalty)
        if answers is not None:
            return answers
        change = min(change, left)
    raise InputError(
        "the answers of an SVM follow from numbers that reproduce themselves; got a change by "
        f"{change:.1e} of them; lower C, or add trials"
    )


def _solved(
    means: Means,
    counts: Int[np.ndarray, " A"],
    labels: Float[np.ndarray, " A"],
    loss: MarginLoss,
    penalty: float,
) -> tuple[Answers | None, float]:
    """Return the answers, or None, and the change of the scalars that was left."""
    train = counts > 0
    system = _System(means, train, counts[train].astype(np.float64), labels[train], loss, penalty)
    start = system.start()
    longest = np.full(len(start), LONGEST_STEP)
    # Left-out means and the intercept are solved for in every step.
    longest[-len(system.counts) - 1 :] = np.inf
    change = np.inf
    for damping in DAMPINGS:
        solution = fixed_point(
            system.next,
            start,
            damping=damping,
            longest=longest,
            enough=system.is_constant,
        )
        if solution.converged:
            return system.step(solution.value)[1], solution.change
        change = min(change, solution.change)
    return None, change


@dataclass(frozen=True, eq=False)
class _System:
    """The equations of one training set.

    Its unknowns are a vector: logarithms of d, d~, q, q^, of V and of the variance of left-out
    answers by condition; the active share that stands for e, and left-out means, by condition; b.
    """

    means: Means
    train: Bool[np.ndarray, " A"]
    counts: Float[np.ndarray, " T"]
    labels: Float[np.ndarray, " T"]
    loss: MarginLoss
    penalty: float

    def start(self) -> Float[np.ndarray, " u"]:
        """Return unknowns of noise alone, with some trials at the margin."""
        noise, n = self.means.spectrum, self.counts.sum()
        s = np.append(noise.variances, noise.rest)
        of_each = np.append(np.ones(len(noise.variances)), noise.n_rest)
        r = self.loss.softness
        # Weights can put no more trials at the margin than there are directions.
        at_margin = 0.5 * min(n, of_each[s > 0].sum())
        d, d_tilde = of_each @ s / self.penalty, 0.0
        for _ in range(100):
            d_tilde = at_margin / (r + d)
            d = np.sqrt(d * (of_each @ (s / (self.penalty + d_tilde * s))))
        force = min(1.0 / (r + d), self.loss.largest)
        q_hat = at_margin * force**2
        q = q_hat * (of_each @ (s / (self.penalty + d_tilde * s)) ** 2)
        ones = np.ones_like(self.counts)
        logs = np.log(np.array([d, d_tilde, q, q_hat]))
        by_condition = [np.log(1.1 * d) * ones, np.log(q) * ones, at_margin / n * ones, 0.0 * ones]
        return np.concatenate([logs, *by_condition, [0.0]])

    def next(self, unknowns: Float[np.ndarray, " u"]) -> Float[np.ndarray, " u"]:
        """Return the unknowns of a step; NaN where these are too far off."""
        try:
            with np.errstate(all="ignore"):
                return self.step(unknowns)[0]
        except np.linalg.LinAlgError:
            return np.full(len(unknowns), np.nan)

    def is_constant(self, unknowns: Float[np.ndarray, " u"]) -> bool:
        """Return whether weights vanish, as they do where labels are unequal and signals small.

        Then d~ grows without bound. Weights may also be small because C is, which is different.
        """
        _, d_tilde, q, _ = np.exp(unknowns[:4])
        stiff = d_tilde * self.means.spectrum.mean_variance * NO_WEIGHTS > self.penalty
        return bool(q < NO_WEIGHTS**2 and stiff)

    def step(self, unknowns: Float[np.ndarray, " u"]) -> tuple[np.ndarray, Answers]:
        """Return the unknowns that follow from them, and the answers."""
        n_train, m, y, loss = len(self.counts), self.counts, self.labels, self.loss
        d, d_tilde, q, q_hat = np.exp(unknowns[:4])
        room, variance, active, theta = unknowns[4:-1].reshape(4, n_train)
        room, variance = np.maximum(np.exp(room), d), np.exp(variance)
        active = np.clip(active, FEW_DIGITS, 1.0)
        soft = loss.softness + d
        # Products of means with the noise between them: none, once and twice.
        products = self.means.at(self.penalty / d_tilde)
        kernel = products.with_r / d_tilde
        noisy = products.with_noise / d_tilde**2
        of_train = np.ix_(self.train, self.train)
        noisy_train = noisy[of_train]
        twice = products.with_noise_twice[of_train] / d_tilde**3

        theta, b = self._left_out(kernel[of_train], room, variance, room - d, theta, unknowns[-1])
        force, square, inside = loss.force(y * theta, variance, room)
        pull = m * y * force
        mean = theta + (room - d) * y * force

        inner, at, covariance = self._resolvent(kernel, active * m / soft)
        leverage = np.diag(covariance)[self.train]
        free = soft * np.maximum(1.0 / leverage - active * m / soft, FEW_DIGITS / leverage)
        new_active = (1.0 / mean_inverse(free, m, inside) - free) / m
        leverage_without = soft * mean_inverse(free, m - 1.0, inside)
        fixed, fixed_square, _ = loss.force(y * mean, np.full(n_train, q), np.full(n_train, d))
        of_force = np.maximum(fixed_square - fixed**2, 0.0)
        alpha = (
            np.diag(noisy)
            - 2.0 * np.sum(at * noisy[:, self.train], axis=1)
            + np.sum(at @ noisy_train * at, axis=1)
        )
        between = q_hat * alpha + covariance[:, self.train] ** 2 @ (m * of_force)
        without = np.maximum(between[self.train] - of_force * leverage**2, 0.0)
        without *= (leverage_without / leverage) ** 2
        both = (
            products.noise_traces[1] / d_tilde**2
            - 2.0 * np.sum(inner * twice)
            + np.sum((inner @ noisy_train) * (inner @ noisy_train).T)
        )
        new_d = products.noise_traces[0] / d_tilde - np.sum(inner * noisy_train)
        new_q = pull @ noisy_train @ pull + q_hat * both + (m * of_force) @ alpha[self.train]
        scalars = [
            new_d,
            np.sum(m * inside / (loss.softness + room)),
            new_q,
            np.sum(m * square),
        ]
        new = np.concatenate([
            np.log(np.maximum(scalars, TINY)),
            np.log(np.maximum(new_d + leverage_without, TINY)),
            np.log(np.maximum(new_q + without, TINY)),
            new_active,
            theta,
            [b],
        ])  # fmt: skip
        at_means = kernel[:, self.train] @ pull + b
        return new, Answers(at_means[:, None], between[:, None, None], np.array([[q]]))

    def _resolvent(
        self, kernel: Float[np.ndarray, "A A"], curvature: Float[np.ndarray, " T"]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (1 / e + K)^-1 with a free intercept, weights of conditions, and M T~ M'."""
        root = np.sqrt(curvature)
        train = kernel[:, self.train]
        inner = np.linalg.inv(np.eye(len(root)) + root[:, None] * train[self.train] * root)
        inner = root[:, None] * inner * root
        total = inner.sum(axis=1)
        at = train @ inner
        short = 1.0 - at.sum(axis=1)
        covariance = kernel - at @ train.T + np.outer(short, short) / total.sum()
        at = at + np.outer(short, total) / total.sum()
        return inner - np.outer(total, total) / total.sum(), at, covariance

    def _left_out(
        self,
        kernel: Float[np.ndarray, "T T"],
        room: Float[np.ndarray, " T"],
        variance: Float[np.ndarray, " T"],
        leverage: Float[np.ndarray, " T"],
        theta: Float[np.ndarray, " T"],
        b: float,
    ) -> tuple[Float[np.ndarray, " T"], float]:
        """Return the mean answers to left-out trials, and the intercept, by Newton's method."""
        m, y, loss = self.counts, self.labels, self.loss
        stiff = loss.softness + room
        unit = m.sum() * min(float(1.0 / stiff.min()), loss.largest)

        def residual(theta: np.ndarray, b: float) -> tuple[np.ndarray, np.ndarray]:
            force, _, inside = loss.force(y * theta, variance, room)
            lack = theta + leverage * y * force - kernel @ (m * y * force) - b
            return np.append(lack, (m * y * force).sum() / unit), inside / stiff

        farthest = 2.0 + 2.0 * np.sqrt(variance.max())
        lack, slope = residual(theta, b)
        for _ in range(NEWTON_STEPS):
            size = np.abs(lack).max()
            if size < FEW_DIGITS * (1.0 + np.abs(theta).max()):
                break
            jacobian = np.zeros((len(m) + 1, len(m) + 1))
            jacobian[:-1, :-1] = kernel * (m * slope)
            jacobian[:-1, :-1][np.diag_indices(len(m))] += 1.0 - leverage * slope
            jacobian[:-1, -1] = -1.0
            jacobian[-1, :-1] = -m * slope / unit
            # Where no force depends on the answer, the intercept has no slope.
            jacobian[-1, -1] = -FEW_DIGITS
            change = np.linalg.solve(jacobian, -lack)
            share = min(1.0, float(farthest / max(np.abs(change).max(), TINY)))
            for _ in range(HALVINGS):
                tried = theta + share * change[:-1], b + share * float(change[-1])
                new_lack, new_slope = residual(*tried)
                if np.abs(new_lack).max() <= size:
                    break
                share *= 0.5
            else:
                break
            (theta, b), lack, slope = tried, new_lack, new_slope
        return theta, b
