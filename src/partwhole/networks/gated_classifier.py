"""Gated networks with an output for each of several labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, Positive, Seed
from partwhole.features.gates.joint import Gates
from partwhole.networks.gated import GatedNetwork, LearnedGates, require_inputs
from partwhole.networks.reading import outputs


@door
class GatedClassifier(eqx.Module):
    r"""Gated network whose last layer has a unit for each label, which are its outputs.

    .. math:: z_{l,i} = \langle w_{l, i, c_{l,i}(x)},\ z_{l-1} \rangle, \qquad z_0 = x, \qquad
              f_k(x) = z_{L,k}.

    It has the layers of a `GatedNetwork`, which is the sum of the last ones. The outputs share
    their hidden units. Without biases f is homogeneous in all weights, of degree L; trained with
    cross-entropy, from one gated layer and a linear readout, it ends at a stationary point of the
    margins of ``solve((inputs, one_hot), gates, fit="margin", intercept="none")``.

    Parameters
    ----------
    units : GatedNetwork
        Without a bias and without parallel chains. Its last layer has as many units as there are
        labels.

    Raises
    ------
    InputError
        For a bias, parallel chains, or a single unit in the last layer.

    Notes
    -----
    Lippl, Abbott & Chung (2022) have two labels; several are derived here. An input that feeds
    units a constant stands for their biases.

    Examples
    --------
    >>> from partwhole.features import HalfspaceGates
    >>> gates = HalfspaceGates.random(3, n_units=4)
    >>> network = GatedClassifier.draw(3, [gates, 3], seed=0)
    >>> network.predict(np.ones((2, 3))).shape
    (2,)
    >>> outputs(network, np.ones((2, 3), np.float32)).shape
    (2, 3)
    """

    units: GatedNetwork

    def __check_init__(self) -> None:
        require(
            self.units.bias is None and not self.units.parallel,
            "units of a classifier have no bias and are no parallel chains",
            "a bias" if self.units.bias is not None else "parallel chains",
            "let a constant coordinate of the inputs stand for biases",
        )
        require(
            self.n_outputs >= 2,
            "a classifier has an output for each of two labels or more",
            "one unit in the last layer",
            "use GatedNetwork for labels -1 and +1",
        )

    @classmethod
    @door(single=("scale",))
    def draw(
        cls,
        dimension: Count,
        layers: Sequence[Gates | LearnedGates | Count],
        *,
        seed: Seed,
        initial: Literal["orthogonal", "normal", "he"] = "orthogonal",
        scale: Positive = 1.0,
    ) -> GatedClassifier:
        r"""Draw a network.

        Parameters
        ----------
        dimension : int
            d.
        layers : sequence of Gates, LearnedGates or int
            From the first to the last, which has a unit for each label: ``[gates, 3]`` is a gated
            layer with a linear readout for three labels.
        seed : int, keyword-only
        initial : {"orthogonal", "normal", "he"}, keyword-only, default "orthogonal"
            As `GatedNetwork.draw`.
        scale : float, keyword-only, default 1

        Returns
        -------
        GatedClassifier
            Single precision, frozen gates in double.

        Raises
        ------
        InputError
            As `GatedNetwork.draw`, and for a last layer with one unit.
        """
        return cls(GatedNetwork.draw(dimension, layers, seed=seed, initial=initial, scale=scale))

    @property
    def n_outputs(self) -> int:
        """Return the number of labels."""
        return int(self.units.weights[-1].shape[0])

    @property
    def squared_norm(self) -> float:
        """Return the sum of all squared weights."""
        return self.units.squared_norm

    @property
    def names(self) -> tuple[str, ...]:
        """Return "layer 1", ... and "output"."""
        return (*(f"layer {place}" for place in range(1, self.units.n_layers)), "output")

    @property
    def shape(self) -> tuple[int]:
        """Return the shape of one input, (d,)."""
        return self.units.shape

    @door(empty=("inputs",))
    def contexts(
        self, inputs: Float[np.ndarray, "n d"]
    ) -> tuple[Int[np.ndarray, "n _"] | None, ...]:
        """Return the contexts of inputs in every layer; see `GatedNetwork.contexts`."""
        return self.units.contexts(inputs)

    def layer(
        self, place: int, x: Float[Array, "n _"], contexts: Sequence[Any], /
    ) -> Float[Array, "n _"]:
        """Return the outputs of one layer; see `GatedNetwork.layer`."""
        return self.units.layer(place, x, contexts)

    def partition(self) -> tuple[GatedClassifier, GatedClassifier]:
        """Return the weights, which training changes, and the gates."""
        trained = jax.tree_util.tree_map_with_path(lambda path, _: path[1].name != "gates", self)
        return eqx.partition(self, trained)

    @door(empty=("inputs",))
    def predict(self, inputs: Float[np.ndarray, "n d"]) -> Int[np.ndarray, " n"]:
        """Return the label of the largest output, counted from 0.

        Parameters
        ----------
        inputs : float array, shape (n, d)

        Returns
        -------
        int array, shape (n,)

        Raises
        ------
        InputError
            For inputs of another dimension, or that are not finite.
        """
        require_inputs(inputs, self.units.dimension)
        if not len(inputs):
            return np.zeros(0, dtype=np.int64)
        return outputs(self, inputs).argmax(axis=1).astype(np.int64)
