r"""Kernels of wide dense ReLU networks at any inputs: their random function, and their tangents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float

from partwhole._checks import is_finite, require
from partwhole._door import door
from partwhole._types import Index, Real


@door
def dense_kernel(
    inputs: Float[np.ndarray, "n d"],
    depth: Index,
    kind: Literal["nngp", "ntk"] = "nngp",
    *,
    other: Float[np.ndarray, "m d"] | None = None,
    weight_variance: Real | Sequence[Real] = 2.0,
    bias_variance: Real | Sequence[Real] = 0.0,
) -> Float[np.ndarray, "n m"]:
    r"""Return the kernel of an infinitely wide dense ReLU network.

    With weights of variance v / n in a layer of n inputs and biases of variance b,

    .. math:: \Sigma_1 = \tfrac vd\, x \cdot x' + b, \quad
              \Sigma_{l+1} = \tfrac v{2\pi} |x|_l |x'|_l (\sin\theta_l + (\pi - \theta_l)
              \cos\theta_l) + b, \quad
              \Theta_{l+1} = \Sigma_{l+1} + v\, \tfrac{\pi - \theta_l}{2\pi}\, \Theta_l,

    where :math:`|x|_l^2 = \Sigma_l(x, x)` and :math:`\theta_l` is the angle in layer l.

    Parameters
    ----------
    inputs : float array, shape (n, d)
    depth : int
        Hidden layers, at least 0; the kernel is that of the output.
    kind : {"nngp", "ntk"}, default "nngp"
        The covariance of the outputs over initial weights, which rules where the readout alone
        learns; or the tangent kernel in the tangent parametrisation.
    other : float array, shape (m, d), keyword-only, default None
        The second argument of the kernel; None for the inputs themselves.
    weight_variance, bias_variance : float, or depth + 1, keyword-only, defaults 2 and 0
        v, above 0, and b, at least 0: of all layers, or of each from the first to the output.

    Returns
    -------
    float array, shape (n, m)

    Raises
    ------
    InputError
        For inputs that are not finite or differ in their dimension, and numbers out of range.

    Notes
    -----
    Cho & Saul (NeurIPS 2009) for the maps; Lee et al. (ICLR 2018) and Jacot, Gabriel & Hongler
    (NeurIPS 2018) for the recursions. `OverlapKernel.random_network` has the saliences of these
    kernels for one-hot inputs, to more digits in very deep networks.

    Examples
    --------
    >>> one_hot = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1]], dtype=float)
    >>> similarity = dense_kernel(one_hot, 1)[0]
    >>> round(float((similarity[1] - similarity[2]) / (similarity[0] - similarity[2])), 6)
    0.426422
    """
    v, b = (_of_layers(second, depth) for second in (weight_variance, bias_variance))
    require(
        len(v) == depth + 1 and all(is_finite(array) and array > 0 for array in v),
        f"weight_variance is above 0, one number or {depth + 1}",
        repr(weight_variance),
        "pass 2, which keeps the size of ReLU units",
    )
    require(
        len(b) == depth + 1 and all(is_finite(array) and array >= 0 for array in b),
        f"bias_variance is at least 0, one number or {depth + 1}",
        repr(bias_variance),
        "pass 0 for no biases",
    )
    x, z = inputs, inputs if other is None else other
    scale = v[0] / x.shape[1]
    covariance = scale * (x @ z.T) + b[0]
    left, right = (scale * np.sum(rows**2, axis=1) + b[0] for rows in (x, z))
    tangent = covariance
    # Sizes that overflow in deep networks are refused below.
    with np.errstate(over="ignore", invalid="ignore"):
        for layer in range(1, depth + 1):
            norms = np.sqrt(np.outer(left, right))
            cosine = np.divide(covariance, norms, out=np.zeros_like(norms), where=norms > 0)
            cosine = cosine.clip(-1.0, 1.0)
            if other is None:
                np.fill_diagonal(cosine, 1.0)  # exact, whatever rounding says
            angle = np.arccos(cosine)
            active = (np.pi - angle) / (2.0 * np.pi)
            bent = np.sin(angle) / (2.0 * np.pi) + active * cosine
            covariance = v[layer] * norms * bent + b[layer]
            tangent = covariance + v[layer] * active * tangent
            left, right = (0.5 * v[layer] * array + b[layer] for array in (left, right))
    kernel = covariance if kind == "nngp" else tangent
    require(
        np.isfinite(kernel).all(),
        "a kernel is of finite numbers",
        f"numbers beyond 1e308 after {depth} layers",
        "pass fewer layers or less variance; 2 keeps the size of ReLU units",
    )
    return kernel


def _of_layers(array: Real | Sequence[Real], depth: int) -> tuple[Real, ...]:
    return tuple(array) if isinstance(array, Sequence) else (array,) * (depth + 1)
