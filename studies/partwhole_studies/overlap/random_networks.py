"""Random networks of finite width, sampled, and the saliences measured in them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int
from scipy.special import erf, ndtr

from partwhole.features import OverlapKernel, activations
from partwhole.features.random_networks import DualActivation
from partwhole.tasks._build import full_grid

ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.1 * x),
    "step": lambda x: (x > 0).astype(float),
    "rectified_quadratic": lambda x: np.maximum(x, 0.0) ** 2,
    "gaussian": lambda x: np.exp(-(x**2)),
    "erf": erf,
    "gelu": lambda x: x * ndtr(x),
    "tanh": np.tanh,
}

NETWORKS = {
    "relu": "ReLU",
    "leaky_relu": "leaky ReLU",
    "step": "step",
    "rectified_quadratic": "rectified quadratic",
    "gaussian": "Gaussian",
}
# Not of the published figures; their maps are smooth.
SMOOTH = {"erf": "erf", "gelu": "GELU", "tanh": "tanh"}


def dual(name: str) -> str | DualActivation:
    """Return the dual activation of a name as kernels of random networks take it."""
    return getattr(activations, name)() if name in SMOOTH else name


def one_hot(components: Int[np.ndarray, "n C"], n_values: int) -> Float[np.ndarray, "n p"]:
    """Return tuples as unit-norm concatenated one-hot inputs."""
    n, n_components = components.shape
    return np.eye(n_values)[components].reshape(n, -1) / np.sqrt(n_components)


def measured(gram: Float[np.ndarray, "n n"], components: Int[np.ndarray, "n C"]) -> np.ndarray:
    """Return S(1; C)..S(C; C) of a Gram matrix, averaged over pairs that share equally many."""
    shared = (components[:, None] == components[None]).sum(axis=2)
    means = [float(gram[shared == k].mean()) for k in range(components.shape[1] + 1)]
    return OverlapKernel.from_similarity(means).salience


def layers(
    nonlinearity: str, width: int, depth: int, rng: np.random.Generator
) -> Float[np.ndarray, "layers 3"]:
    """Sample a network layer by layer and measure its saliences; three components of two values.

    A layer's units are independent given the layer before, of which they see only the Gram matrix;
    so drawing them from it samples a finite network exactly, without its weight matrices. Each
    input's activity is scaled to unit norm in every layer, as in the theory: without that a
    squared ReLU doubles the log differences of norm in each layer, and any width is too small.
    """
    components = full_grid([2, 2, 2])
    inputs = one_hot(components, 2)
    gram = inputs @ inputs.T
    saliences = [measured(gram, components)]
    for _ in range(depth):
        size, basis = np.linalg.eigh(gram)
        # The symmetric root is the only one, where eigenvectors of equal size are any: with them a
        # processor's rounding would choose what is drawn.
        root = (basis * np.sqrt(np.maximum(size, 0.0))) @ basis.T
        units = ACTIVATIONS[nonlinearity](root @ rng.standard_normal((len(gram), width)))
        gram = units @ units.T
        norm = np.sqrt(np.diag(gram))
        gram = gram / norm[:, None] / norm[None, :]
        saliences.append(measured(gram, components))
    return np.array(saliences)


def one_layer(n_features: int, rng: np.random.Generator) -> Float[np.ndarray, " 3"]:
    """Measure a layer of random ReLU features on a 4 x 4 grid.

    Returns S(1; 2) of the features, that of their tangent kernel, and the salience of the first
    component where the inputs' saliences are .3 and .7.
    """
    components = full_grid([4, 4])
    inputs = one_hot(components, 4)
    weights = rng.standard_normal((n_features, inputs.shape[1]))
    fields = weights @ inputs.T
    units, active = np.maximum(fields, 0.0), (fields > 0).astype(float)
    features = 2.0 * units.T @ units / n_features
    tangent = features + (inputs @ inputs.T) * (2.0 * active.T @ active / n_features)

    units = np.maximum(weights @ (inputs * np.sqrt([0.6] * 4 + [1.4] * 4)).T, 0.0)
    gram = units.T @ units
    same = components[:, None] == components[None]
    none, identical = gram[~same.any(axis=2)].mean(), gram[same.all(axis=2)].mean()
    first = gram[same[:, :, 0] & ~same[:, :, 1]].mean()
    return np.array(
        [
            measured(features, components)[0],
            measured(tangent, components)[0],
            (first - none) / (identical - none),
        ]
    )
