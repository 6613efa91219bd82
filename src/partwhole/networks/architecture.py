"""Architecture of a multilayer network, from which networks are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import jax
import numpy as np
from jaxtyping import Int

from partwhole._checks import require, seed_list
from partwhole._device import on_device
from partwhole._door import door
from partwhole._types import Count, Real, Seed
from partwhole.networks.initial import LAWS, SCALELESS, framework
from partwhole.networks.mlp import MLP

WEIGHTS = 102  # keeps the stream of the weights apart from those of samples and their order


@door
@dataclass(frozen=True)
class Architecture:
    r"""Architecture and initial law of a multilayer network, from d inputs to d outputs or others.

    Parameters
    ----------
    layers : int, default 1
        L, the number of weight matrices.
    width : int, default None
        Units between layers; None for d.
    nonlinearity : {"linear", "relu"}, default "linear"
    bias : bool, default True
    initial : {"framework", "normal", "uniform", "he"}, default "framework"
        "framework" draws weights and biases from :math:`U(-1/\sqrt{n}, 1/\sqrt{n})` for a layer
        of n inputs, the default of common frameworks; "normal" draws weights from
        :math:`N(0, \text{scale}^2)`, "uniform" from U(0, scale), "he" from
        :math:`N(0, 2\, \text{scale}^2 / n)`, and these three initialise biases to 0 by default.
    scale : float, default None
        Of "normal", "uniform" and "he", above 0; None for "framework".
    initial_bias : {"zero", "spread"}, default "zero"
        Of "normal", "uniform" and "he": "spread" draws biases from
        :math:`U(-\text{scale}/\sqrt{n}, \text{scale}/\sqrt{n})`, as in the dense networks of
        Lippl & Stachenfeld (ICLR 2025), with weights by "he".

    Raises
    ------
    InputError
        For an unknown option, no layer, no units, or a scale for a law without one.

    Examples
    --------
    >>> Architecture(layers=4, width=4).network(2, seed=0).n_layers
    4
    """

    layers: Count = 1
    width: Count | None = None
    nonlinearity: Literal["linear", "relu"] = "linear"
    bias: bool = True
    initial: Literal["framework", "normal", "uniform", "he"] = "framework"
    scale: Real | None = None
    initial_bias: Literal["zero", "spread"] = "zero"

    def __post_init__(self) -> None:
        fits = self.initial_bias == "zero" or (self.bias and self.initial not in SCALELESS)
        require(
            fits,
            'initial_bias is of networks with biases, and of "normal", "uniform" and "he"',
            f"bias={self.bias} with {self.initial!r}",
            "leave it out",
        )
        if self.initial in SCALELESS:
            require(
                self.scale is None,
                f'the initial law "{self.initial}" has a scale of its own',
                f"scale {self.scale}",
                'leave scale out, or choose "normal" or "uniform"',
            )
        else:
            require(
                self.scale is not None and self.scale > 0,
                f'the initial law "{self.initial}" needs a scale above 0',
                f"scale {self.scale!r}",
                "pass scale=0.1, say",
            )

    @door
    def sizes(self, dimension: int, outputs: int | None = None) -> tuple[int, ...]:
        """Return the numbers of units from input to output."""
        between = dimension if self.width is None else self.width
        last = dimension if outputs is None else outputs
        return (dimension, *[between] * (self.layers - 1), last)

    @door
    def network(self, dimension: Count, *, seed: Seed, outputs: Count | None = None) -> MLP:
        """Draw one network.

        Parameters
        ----------
        dimension : int
            d.
        seed : int, keyword-only
            At least 0.
        outputs : int, keyword-only, default None
            None for d.

        Raises
        ------
        InputError
            For a dimension or outputs below 1, or a seed below 0.
        """
        drawn = self.networks(dimension, seeds=[seed], outputs=outputs)
        return jax.tree.map(lambda w: on_device(np.asarray(w)[0]), drawn)

    @door
    def networks(
        self,
        dimension: Count,
        *,
        seeds: Sequence[int] | Int[np.ndarray, " n"],
        outputs: Count | None = None,
    ) -> MLP:
        """Draw a network for each seed, along a leading axis, as `network` draws it.

        Parameters
        ----------
        dimension : int
        seeds : sequence of int, keyword-only
            At least one, each at least 0.
        outputs : int, keyword-only, default None
            None for d.

        Raises
        ------
        InputError
            As `network`.

        Examples
        --------
        >>> many = Architecture(layers=2, width=8).networks(3, seeds=range(5))
        >>> [weight.shape for weight in many.weights]
        [(5, 8, 3), (5, 3, 8)]
        """
        chosen, sizes = seed_list(seeds), self.sizes(dimension, outputs)
        drawn = [self._draw(np.random.default_rng([seed, WEIGHTS]), sizes) for seed in chosen]
        # By NumPy: compiling the draws would take longer than training.
        weights, biases = (
            tuple(on_device(np.stack(arrays), np.float32) for arrays in zip(*kind, strict=True))
            for kind in zip(*drawn, strict=True)
        )
        return MLP(weights, biases if self.bias else None, self.nonlinearity)

    def _draw(
        self, rng: np.random.Generator, sizes: tuple[int, ...]
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        law, scale = LAWS[self.initial], 0.0 if self.scale is None else self.scale
        weights, biases = [], []
        for n, m in pairwise(sizes):
            weights.append(law(rng, (m, n), n, scale))
            if self.initial in SCALELESS:
                biases.append(law(rng, (m,), n, scale))
            elif self.initial_bias == "spread":
                biases.append(scale * framework(rng, (m,), n, scale))
            else:
                biases.append(np.zeros(m))
        return weights, biases


@door(single=("scale",))
def mlp(
    dimension: Count,
    layers: Count = 1,
    width: Count | None = None,
    *,
    seed: Seed,
    nonlinearity: Literal["linear", "relu"] = "linear",
    bias: bool = True,
    initial: Literal["framework", "normal", "uniform", "he"] = "framework",
    scale: Real | None = None,
) -> MLP:
    """Draw one multilayer network from d numbers to d numbers.

    Parameters
    ----------
    dimension : int
        d.
    layers, width, nonlinearity, bias, initial, scale
        As in `Architecture`.
    seed : int, keyword-only
        At least 0.

    Returns
    -------
    MLP

    Raises
    ------
    InputError
        As `Architecture` and its `network`.

    Examples
    --------
    >>> network = mlp(2, layers=2, seed=0, initial="uniform", scale=0.3)
    >>> bool((network.end_to_end()[0] > 0).all())
    True
    """
    architecture = Architecture(layers, width, nonlinearity, bias, initial, scale)
    return architecture.network(dimension, seed=seed)
