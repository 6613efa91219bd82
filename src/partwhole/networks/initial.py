r"""Laws from which initial weights are drawn.

The law decides whether the error swings back. It does if weights of one sign make the end-to-end
map nearly of rank one, with nearly parallel rows. Under laws that are even in sign the correlation
of the rows fades as networks widen.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

Law = Callable[[np.random.Generator, tuple[int, ...], int, float], Float[np.ndarray, "..."]]


def framework(
    rng: np.random.Generator, shape: tuple[int, ...], fan_in: int, scale: float
) -> Float[np.ndarray, "..."]:
    r"""Draw from Uniform(-r, r) with :math:`r = 1/\sqrt{\text{fan in}}`; the scale is not used.

    The default of common frameworks, for biases too.
    """
    reach = fan_in**-0.5
    return rng.uniform(-reach, reach, shape)


def normal(
    rng: np.random.Generator, shape: tuple[int, ...], fan_in: int, scale: float
) -> Float[np.ndarray, "..."]:
    """Draw from a normal law of mean 0 and this standard deviation."""
    return scale * rng.standard_normal(shape)


def uniform(
    rng: np.random.Generator, shape: tuple[int, ...], fan_in: int, scale: float
) -> Float[np.ndarray, "..."]:
    """Draw from Uniform(0, scale)."""
    return rng.uniform(0.0, scale, shape)


def he(
    rng: np.random.Generator, shape: tuple[int, ...], fan_in: int, scale: float
) -> Float[np.ndarray, "..."]:
    r"""Draw from a normal law of standard deviation :math:`\text{scale} \sqrt{2 / \text{fan in}}`.

    At scale 1 all ReLU layers have the same mean square of their units (He et al., ICCV 2015).
    """
    return scale * np.sqrt(2.0 / fan_in) * rng.standard_normal(shape)


def orthogonal(
    rng: np.random.Generator, shape: tuple[int, ...], fan_in: int, scale: float
) -> Float[np.ndarray, "..."]:
    """Draw uniformly distributed orthonormal rows, or columns if there are fewer of these."""
    drawn = rng.standard_normal(shape)
    basis, upper = np.linalg.qr(drawn if shape[0] >= shape[1] else drawn.T)
    basis = basis * np.where(np.diag(upper) < 0, -1.0, 1.0)  # without it the law is not uniform
    return scale * (basis if shape[0] >= shape[1] else basis.T)


LAWS: dict[str, Law] = {"framework": framework, "normal": normal, "uniform": uniform, "he": he}
# Laws with a fixed scale, which also draw the biases.
SCALELESS = ("framework",)
