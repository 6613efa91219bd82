"""Sampling of pictures, with any number for each class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, Index, Real, Seed
from partwhole.tasks.shapes.attributes import ShapeAttributes, from_columns
from partwhole.tasks.shapes.classes import Classes
from partwhole.tasks.shapes.labelled import LabelledShapes
from partwhole.tasks.shapes.renderer import Noise, render, spread

# Separate random streams: draws for one purpose do not change draws for another.
DRAW, NOISE = 2, 3


class Sampled(Classes):
    """Sampling of pictures, a part of `ConceptSpace`."""

    @property
    @abstractmethod
    def laws(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...

    @door
    def counts(
        self,
        per_class: Count,
        rare: Mapping[str, Index] | None = None,
        *,
        is_train: Bool[np.ndarray, " k"] | None = None,
    ) -> Int[np.ndarray, " k"]:
        """Return the number of pictures of each class when some values are rare.

        Parameters
        ----------
        per_class : int
            Of each class without a rare value.
        rare : mapping of str to int, default None
            Words and how many pictures of each there are altogether, shared evenly by the classes
            that have it, the first ones taking what is left over. Where two words meet, the
            smaller share holds.
        is_train : bool array, shape (k,), keyword-only, default None
            Which classes there are pictures of; None for all.

        Returns
        -------
        int array, shape (k,)

        Raises
        ------
        InputError
            For an unknown word, or more of a rare value than there would be anyway.

        Notes
        -----
        Okawa et al. (NeurIPS 2023), frequency sweep: one value is subsampled to k pictures.

        Examples
        --------
        >>> from partwhole.tasks import circles
        >>> from partwhole.tasks.shapes.splits import distance_one
        >>> space = circles()
        >>> space.counts(2048, {"blue": 100}, is_train=distance_one(space, "red big")).tolist()
        [2048, 2048, 100, 0]
        """
        seen = self._flags(is_train)
        counts = np.where(seen, per_class, 0)
        for word, largest in (rare or {}).items():
            holds = np.flatnonzero(self.select(word) & seen)
            require(
                largest <= per_class * len(holds),
                "a rare value has fewer pictures than the others",
                f"{largest} that are {word}, of {per_class} in each of {len(holds)} classes",
                "pass fewer, or leave the word out",
            )
            common_share, remainder = divmod(int(largest), max(1, len(holds)))
            share = common_share + (np.arange(len(holds)) < remainder)
            counts[holds] = np.minimum(counts[holds], share)
        return counts

    @door
    def draw(
        self,
        counts: int | np.integer | Int[np.ndarray, " k"] | Sequence[int],
        *,
        seed: Seed,
        is_train: Bool[np.ndarray, " k"] | None = None,
        jitter: bool = True,
    ) -> tuple[ShapeAttributes, Int[np.ndarray, " n"]]:
        """Draw the attributes of pictures, class by class, without rendering.

        Parameters
        ----------
        counts : int, or int array, shape (k,)
            How many of each class.
        seed : int, keyword-only
            Each class has a random stream of its own, from which more pictures begin with the
            fewer.
        is_train : bool array, shape (k,), keyword-only, default None
            Which classes to draw; None for all.
        jitter : bool, keyword-only, default True
            Whether attributes vary within a class, by the laws of the space; if not, all of
            them are the means, as in `mean_attributes`.

        Returns
        -------
        attributes : ShapeAttributes
        classes : int array, shape (n,)

        Raises
        ------
        InputError
            For counts that are not one whole number for each class, or nothing to draw.
        """
        numbers = self._numbers(counts, is_train)
        mean, low, high = self.laws
        rows = []
        for c in np.flatnonzero(numbers):
            rng = np.random.default_rng([seed, DRAW, int(c)])
            chance = rng.random((int(numbers[c]), mean.shape[1]))
            varied = low[c] + (high[c] - low[c]) * chance
            rows.append(varied if jitter else np.broadcast_to(mean[c], chance.shape))
        return from_columns(np.concatenate(rows)), np.repeat(np.arange(self.n_classes), numbers)

    @door
    def sample(
        self,
        counts: int | np.integer | Int[np.ndarray, " k"] | Sequence[int],
        *,
        seed: Seed,
        side: int = 32,
        is_train: Bool[np.ndarray, " k"] | None = None,
        jitter: bool = True,
        blur: Real | None = None,
        noise: Noise = 1e-3,
    ) -> LabelledShapes:
        """Draw pictures, class by class.

        Parameters
        ----------
        counts, seed, is_train, jitter
            As in `draw`; the noise of a class has a random stream of its own too.
        side : int, keyword-only, default 32
            Pixels to a side.
        blur, noise : float, keyword-only
            As in `render_shapes`.

        Returns
        -------
        LabelledShapes
            Class after class, so shuffle before taking batches.

        Notes
        -----
        Park et al. (NeurIPS 2024): 2048 of each of three classes, of which 15 % validate
        (`LabelledShapes.split`), and 32 of the held-out one.

        Examples
        --------
        >>> import numpy as np
        >>> from partwhole.tasks import circles
        >>> from partwhole.tasks.shapes.splits import leave_out
        >>> space = circles(colour_separation=0.4)
        >>> seen = space.sample(64, seed=0, side=16, is_train=leave_out(space, "blue small"))
        >>> seen.images.shape, seen.conditions().shape, np.bincount(seen.classes).tolist()
        ((192, 16, 16, 3), (192, 4), [64, 64, 64])
        """
        spread(side, blur)
        attributes, classes = self.draw(counts, seed=seed, is_train=is_train, jitter=jitter)
        images = np.empty((len(classes), side, side, 3), dtype=np.float32)
        for c in np.unique(classes):
            first, last = np.searchsorted(classes, [c, c + 1])
            numbers = slice(int(first), int(last))
            stream = (seed, NOISE, int(c))
            render(attributes.take(numbers), side, blur, noise, stream, images[numbers])
        return LabelledShapes(images, classes, attributes, self)  # pyright: ignore[reportArgumentType]
