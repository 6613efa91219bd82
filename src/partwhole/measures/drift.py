"""How far a kernel has moved while a network was trained."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole._door import door


@door(any_size=("before", "after"))
def kernel_drift(before: Float[np.ndarray, "n m"], after: Float[np.ndarray, "n m"]) -> float:
    r"""Measure how far a kernel has turned, whatever its size.

    .. math:: 1 - \frac{\langle \Theta, \Theta' \rangle}{\|\Theta\| \, \|\Theta'\|}

    in the Frobenius product: 0 where one is a multiple of the other, as in a lazy network.

    Parameters
    ----------
    before, after : float arrays, shape (n, m)
        The same kernel at the same inputs, at two times.

    Returns
    -------
    float
        From 0 to 1 for kernels without negative eigenvalues; NaN where one of them is 0.

    Raises
    ------
    InputError
        For kernels of other shapes, or entries that are not finite.

    Notes
    -----
    The distance of Fort et al. (NeurIPS 2020).

    Examples
    --------
    >>> before = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> round(kernel_drift(before, 3.0 * before), 12), round(kernel_drift(before, np.eye(2)), 6)
    (0.0, 0.105573)
    """
    sizes = [float(np.abs(kernel).max(initial=0.0)) for kernel in (before, after)]
    if min(sizes) == 0.0:
        return float("nan")
    # Scaled first, so that no product overflows; of unit vectors, so that no digits cancel.
    first, second = (kernel / size for kernel, size in zip((before, after), sizes, strict=True))
    first, second = first / np.linalg.norm(first), second / np.linalg.norm(second)
    return float(0.5 * np.sum((first - second) ** 2))
