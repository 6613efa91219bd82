"""A classifier that reads images in concept space: one question for each concept."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import ProperFraction, Seed
from partwhole.measures.concepts.calibration import Calibration, calibration
from partwhole.networks import ImageNetwork, outputs
from partwhole.networks.images.convnet import convnet
from partwhole.networks.network import n_outputs
from partwhole.training.train import train
from partwhole.training.training import Training

SPLIT = 112  # random stream, separate from those of weights and order
# As published except for the length: on these images 15 epochs separate all classes.
USUAL = Training(loss="cross entropy", optimiser="adam", learning_rate=1e-3, batch=64, epochs=15)


@dataclass(frozen=True, eq=False, kw_only=True)
class ConceptClassifier:
    """A network that estimates the value of each concept in an image.

    Trained by `train_concept_classifier`.

    Parameters
    ----------
    network : ImageNetwork
        Its outputs are the logits of the values, concept after concept.
    n_values : int
        Values of each concept; a concept with fewer leaves some outputs unused.
    calibration : Calibration
        On held-out images: for each concept, over the probabilities of all values.
    """

    network: ImageNetwork
    n_values: int
    calibration: Calibration

    @door(single=("images",))
    def probabilities(self, images: Float[np.ndarray, "n h w c"]) -> Float[np.ndarray, "n C V"]:
        """Return the probability of each value of each concept.

        Parameters
        ----------
        images : float array, shape (n, height, width, channels)

        Returns
        -------
        float array, shape (n, C, n_values)

        Raises
        ------
        InputError
            For images with a pixel that is no finite number.
        """
        return _probabilities(self.network, images, self.n_values)

    @door(single=("images",))
    def coordinates(
        self, images: Float[np.ndarray, "n h w c"], target: Int[np.ndarray, " C"]
    ) -> Float[np.ndarray, "n C"]:
        """Return concept coordinates: for each concept the probability of its target value.

        Parameters
        ----------
        images : float array, shape (n, height, width, channels)
        target : int array, shape (C,)
            The values, as in a row of `ConceptSpace.classes`: the corner that is 1, ..., 1.

        Raises
        ------
        InputError
            For values that do not exist, and images with a pixel that is no finite number.
        """
        probabilities = self.probabilities(images)
        values, concepts = target, probabilities.shape[1]
        require(
            len(values) == concepts and bool(((values >= 0) & (values < self.n_values)).all()),
            f"a corner has a value from 0 to {self.n_values - 1} of each of {concepts} concepts",
            f"{values.tolist()}",
            "pass a row of space.classes",
        )
        return probabilities[:, np.arange(concepts), values]


@door(single=("images",))
def train_concept_classifier(
    images: Float[np.ndarray, "n h w c"],
    components: Int[np.ndarray, "n C"],
    *,
    network: ImageNetwork | None = None,
    training: Training | None = None,
    held_out: ProperFraction = 0.15,
    seed: Seed,
    progress: bool = True,
) -> ConceptClassifier:
    """Train a classifier of concepts on images of all classes.

    Parameters
    ----------
    images : float array, shape (n, height, width, channels)
        With as much noise as the images to be read, since diffusion samples retain some.
    components : int array, shape (n, C)
        The value of each concept, numbered from 0.
    network : ImageNetwork, keyword-only, default None
        With as many outputs for each concept as the concept with most values has. None for a small
        convolutional one: three layers of 16 to 32 channels and 64 dense units.
    training : Training, keyword-only, default None
        With the loss "cross entropy"; its seed is not used. None for Adam with a rate of .001,
        batches of 64 and 15 epochs.
    held_out : float, keyword-only, default 0.15
        Share of the images held out to calibrate it, as published.
    seed : int, keyword-only
        Fixes weights, order, and the held-out images.
    progress : bool, keyword-only, default True

    Returns
    -------
    ConceptClassifier

    Raises
    ------
    InputError
        For components that are no values, a network that does not fit, and a share that holds out
        nothing or all.

    Notes
    -----
    Yang et al. (ICLR 2025) train the trunk of a U-Net with a softmax for each concept, by AdamW on
    batches of 64; a small network separates the same images equally well.

    Examples
    --------
    >>> from partwhole import tasks
    >>> from partwhole.networks.images.convnet import convnet
    >>> space = tasks.circles(0.8)
    >>> shown = space.sample(60, side=8, seed=0)
    >>> network = convnet(
    ...     (8, 8, 3), outputs=4, channels=(4,), kernel=3, dense=(), seed=0
    ... )
    >>> training = Training(loss="cross entropy", optimiser="adam", epochs=2, batch=32)
    >>> classifier = train_concept_classifier(
    ...     shown.images, shown.components, network=network, training=training, seed=0
    ... )
    >>> classifier.coordinates(shown.images, space.classes[3]).shape
    (240, 2)
    """
    require(
        components.min() >= 0,
        "components are values numbered from 0",
        f"a least of {components.min()}",
        "pass labelled.components",
    )
    order = np.random.default_rng([seed, SPLIT]).permutation(len(images))
    n_calibration = round(held_out * len(images))
    require(
        0 < n_calibration < len(images),
        "some images train and some calibrate",
        f"{n_calibration} of {len(images)} held out",
        "pass more images, or another share",
    )
    calibration_rows, training_rows = order[:n_calibration], order[n_calibration:]
    n_values, concepts = int(components.max()) + 1, components.shape[1]
    if network is None:
        network = convnet(
            images.shape[1:], outputs=n_values * concepts, channels=(16, 16, 32),
            kernel=3, padding="SAME", dense=(64,), seed=seed,
        )  # fmt: skip
    n_out = n_outputs(network)
    require(
        n_out % concepts == 0 and n_out // concepts >= n_values,
        f"{concepts} concepts share a network's outputs evenly, at least {n_values} each",
        f"{n_out} outputs",
        "leave network out for one that fits",
    )
    runs = train(
        network, (images[training_rows], components[training_rows]),
        replace(training or USUAL, seed=seed), progress=progress,
    )  # fmt: skip
    trained = runs.network(0)
    n_values = n_out // concepts
    probabilities = _probabilities(trained, images[calibration_rows], n_values)
    truth = np.eye(n_values)[components[calibration_rows]]
    # The probability of every value is one coordinate, which is true or false.
    rows = (values.swapaxes(1, 2).reshape(-1, concepts) for values in (probabilities, truth))
    return ConceptClassifier(network=trained, n_values=n_values, calibration=calibration(*rows))


def _probabilities(
    network: ImageNetwork, images: Float[np.ndarray, "n h w c"], n_values: int
) -> Float[np.ndarray, "n C V"]:
    logits = np.asarray(outputs(network, images), float)
    return softmax(logits.reshape(len(images), -1, n_values), axis=2)
