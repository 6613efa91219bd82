r"""Concepts in numbers, read off images by a ridge regression that knows when not to answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from partwhole._arrays import as_read
from partwhole._checks import require
from partwhole._door import door
from partwhole._types import NonNegative, Positive, ProperFraction, Real, Seed
from partwhole.measures.concepts._patches import RandomPatches
from partwhole.measures.concepts.coordinates import Mean, Spread, between

SPLIT = 113  # a random stream of its own
PENALTIES = 10.0 ** np.arange(-4.0, 6.5, 0.5)
LEAST = 20  # images
TYPICAL = 0.99  # of the held-out images, whose distance is usual

Features = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False, kw_only=True)
class ConceptRegressor:
    """A ridge regression from images to concepts in numbers, with its error on held-out images.

    Fitted by `fit_regressor`.

    Parameters
    ----------
    names : tuple of str
        The concepts, in the order of the values they were fitted to.
    error : dict of str to float array, shape (k,)
        Root mean square error of each concept's k numbers, on the held-out images that are read.
    explained : dict of str to float array, shape (k,)
        The share of the held-out images' variance that is explained: 1 - error² / variance.
    abstained : float
        The share of the held-out images on which it abstains.
    penalty : float
        Of the squared coefficients of standardised features.
    low, high : float arrays, shape (K,)
        The range of all numbers, outside of which it abstains.
    largest_distance : float
        Above it an image is unlike those that were fitted, and the regressor abstains.
    """

    names: tuple[str, ...]
    error: dict[str, Float[np.ndarray, " k"]]
    explained: dict[str, Float[np.ndarray, " k"]]
    abstained: float
    penalty: float
    low: Float[np.ndarray, " K"]
    high: Float[np.ndarray, " K"]
    largest_distance: float
    _features: Features
    _fit: _Ridge
    _shape: tuple[int, ...]

    @door(single=("images",))
    def values(
        self, images: Float[np.ndarray, "*batch height width channels"]
    ) -> dict[str, Float[np.ndarray, "*batch k"]]:
        """Return each concept's numbers in each image, NaN where the regressor abstains.

        Parameters
        ----------
        images : float array, shape (..., height, width, channels)

        Returns
        -------
        dict of str to float array, shape (..., k)

        Raises
        ------
        InputError
            For no images or those of another size, or features of one's own that are not finite.
        """
        pixels = np.asarray(images)
        require(
            pixels.shape[-3:] == self._shape,
            f"images have the size of those it was fitted to, {self._shape}",
            f"shape {pixels.shape}",
            "fit another regressor to images of this size",
        )
        require(pixels.size > 0, "there is an image to read", f"shape {pixels.shape}", "pass some")
        batch = pixels.shape[:-3]
        numbers, distance = self._fit.predict(
            _featured(self._features, pixels.reshape(-1, *self._shape))
        )
        outside = (numbers < self.low) | (numbers > self.high)
        numbers[outside.any(axis=1) | (distance > self.largest_distance)] = np.nan
        return _by_name({n: len(e) for n, e in self.error.items()}, numbers.reshape(*batch, -1))

    @door(single=("images",))
    def coordinates(
        self,
        images: Float[np.ndarray, "*batch height width channels"],
        values: Mapping[str, tuple[Mean, Mean]],
        *,
        law: Literal["linear", "logistic"] = "linear",
        spread: Spread = 0.15,
    ) -> Float[np.ndarray, "*batch C"]:
        """Return each image's place between two values of each concept, as a decoder does.

        Parameters
        ----------
        images : float array, shape (..., height, width, channels)
        values : mapping of a name to two means
            What the coordinates 0 and 1 stand for: ``{"size": (0.65, 0.25)}``, or of a
            `tasks.ConceptSpace` its `ends()`.
        law, spread : keyword-only, defaults "linear" and 0.15
            As in `between`.

        Returns
        -------
        float array, shape (..., C)
            In 0..1, in the order of `values`; NaN for an image on which it abstains, which
            `calibration`, `concept_path` and `capability` count as abstained.

        Raises
        ------
        InputError
            For no concept, one that it was not fitted to, and what `values` and `between` refuse.
        """
        require(len(values) > 0, "values name one concept or more", "none", 'pass {"size": (1, 0)}')
        unknown = [name for name in values if name not in self.names]
        require(
            not unknown,
            f"concepts are among those that were fitted, {', '.join(self.names)}",
            unknown,
            "fit a regressor to it too",
        )
        numbers = self.values(images)
        return np.stack(
            [
                between(numbers[name], first, second, law=law, spread=spread)
                for name, (first, second) in values.items()
            ],
            axis=-1,
        )

    def describe(self) -> str:
        """Return the error of each concept, and how often it abstains."""
        lines = [
            f"{name}: error {', '.join(f'{e:.3g}' for e in self.error[name])}, explained "
            f"{', '.join(f'{share:.3f}' for share in self.explained[name])}"
            for name in self.names
        ]
        return "\n".join([*lines, f"abstained on {self.abstained:.1%} of the held-out images"])


@door(single=("images",))
def fit_regressor(
    images: Float[np.ndarray, "n height width channels"],
    values: Mapping[str, Any],
    *,
    features: Features | None = None,
    penalty: Positive | None = None,
    held_out: ProperFraction = 0.15,
    margin: NonNegative = 3.0,
    unlike: Positive = 1.5,
    seed: Seed,
) -> ConceptRegressor:
    r"""Fit a ridge regression from images to the numbers of their concepts.

    With the standardised features :math:`\phi` of an image, centred values y and a penalty
    :math:`\lambda`,

    .. math::
        \hat y = B^\top \phi, \qquad
        B = (\Phi^\top \Phi + \lambda I)^{-1} \Phi^\top Y,

    and :math:`\lambda` has the least leave-one-out error
    :math:`\mathrm{mean}\,\big(\frac{y_i - \hat y_i}{1 - h_i}\big)^2`, with the leverage
    :math:`h = \frac1n + \phi^\top (\Phi^\top \Phi + \lambda I)^{-1} \phi`, relative to the variance
    of each number and over all of them. Held-out images give the error.

    It abstains on an image whose numbers lie outside the range of those it was fitted to, by more
    than `margin` errors, or which is unlike the images it was fitted to: with a distance
    :math:`\phi^\top (\Phi^\top \Phi + I)^{-1} \phi` above `unlike` times what 99 of 100 held-out
    images have at most.

    Parameters
    ----------
    images : float array, shape (n, height, width, channels)
        With as much noise as the images to be read, since samples of diffusion retain some.
    values : mapping of str to float array, shape (n,) or (n, k)
        What each image shows: ``{"colour": shapes.attributes.colour, ...}``.
    features : callable, keyword-only, default None
        From images, shape (n, height, width, channels), to features, shape (n, m): the hidden layer
        of a network, say. None for 512 of random filters of 3 x 3 pixels, a rectifier each, of
        which mean and maximum over the image are taken, so that the place of a shape has no effect.
    penalty : float, keyword-only, default None
        None for the one of least leave-one-out error, of 10^-4 to 10^6 in half decades.
    held_out : float, keyword-only, default 0.15
        Share of the images held out to measure its error, as a classifier's.
    margin : float, keyword-only, default 3.0
        In errors: how far outside the range of the fitted values a number may lie.
    unlike : float, keyword-only, default 1.5
        How far from the fitted images an image may lie, in distances of held-out ones.
    seed : int, keyword-only
        Fixes the filters and the held-out images.

    Returns
    -------
    ConceptRegressor
        Its `coordinates` go to `concept_path` and `capability`, and to `calibration`.

    Raises
    ------
    InputError
        For fewer than 20 images, no concept, values that are not finite, that have another length
        or do not vary, a share that holds out fewer than two images, and features of one's own
        that are no finite table with a row for each image.

    Notes
    -----
    The published code has a regression in place of the classifier as a variant (Park et al.,
    NeurIPS 2024). This one is linear in its features, so that leave-one-out errors and distances
    are exact; derived here. It needs images whose values are known, where `decode_shapes` needs
    none; it reads any attribute that varies, not those of one disc alone.

    Empty frames are much like the smallest circles where noise or few pixels hide these. Fitted to
    published circles of side 16, colours .689 apart, it abstained on all of 50 empty frames with
    noise of deviation .001, and on none with .08; where a model draws such frames, use
    `decode_shapes`, or fit it to larger circles.

    Examples
    --------
    >>> from partwhole.tasks import circles
    >>> space = circles(0.8)
    >>> shapes = space.sample(100, side=12, seed=0)
    >>> known = {"colour": shapes.attributes.colour, "size": shapes.attributes.size}
    >>> regressor = fit_regressor(shapes.images, known, seed=0)
    >>> bool(regressor.error["size"] < 0.05)
    True
    >>> means = space.sample(1, side=12, seed=1, jitter=False).images
    >>> regressor.coordinates(means, space.ends()).round().tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> regressor.coordinates(np.zeros((1, 12, 12, 3)), space.ends()).tolist()  # no circle
    [[nan, nan]]
    """
    n = len(images)
    require(n >= LEAST, f"a regressor is fitted to {LEAST} images or more", n, "pass more")
    columns = _columns(values, n)
    order = np.random.default_rng([seed, SPLIT]).permutation(n)
    n_held = round(held_out * n)
    require(
        2 <= n_held <= n - 2,
        "two images or more are fitted, and two or more give the error",
        f"{n_held} of {n} held out",
        "pass more images, or another share",
    )
    held, fitted = np.sort(order[:n_held]), np.sort(order[n_held:])
    known = np.concatenate(list(columns.values()), axis=1)
    for part, role in ((fitted, "fitted"), (held, "held-out")):
        flat = [
            name for name, column in columns.items() if (np.ptp(column[part], axis=0) == 0).any()
        ]
        require(
            not flat,
            f"each number of a concept varies among the {role} images",
            f"{flat[0]!r}, which does not" if flat else "",
            "pass other images, or leave out what never changes",
        )
    read = RandomPatches.of(images[fitted], seed=seed) if features is None else features
    ridge = _Ridge.of(_featured(read, images[fitted]), known[fitted], penalty)
    numbers, distance = ridge.predict(_featured(read, images[held]))
    error = np.sqrt(((numbers - known[held]) ** 2).mean(axis=0))
    low, high = (
        known[fitted].min(axis=0) - margin * error,
        known[fitted].max(axis=0) + margin * error,
    )
    largest = float(unlike * np.quantile(distance, TYPICAL))
    inside = ((numbers >= low) & (numbers <= high)).all(axis=1)
    decided = inside & (distance <= largest)
    square = ((numbers - known[held])[decided] ** 2).mean(axis=0) if decided.any() else error**2
    widths = {name: column.shape[1] for name, column in columns.items()}
    return ConceptRegressor(
        names=tuple(columns),
        error=_by_name(widths, np.sqrt(square)),
        explained=_by_name(widths, 1.0 - square / known[held].var(axis=0)),
        abstained=float(1.0 - decided.mean()),
        penalty=ridge.penalty,
        low=low,
        high=high,
        largest_distance=largest,
        _features=read,
        _fit=ridge,
        _shape=images.shape[1:],
    )


@dataclass(frozen=True, eq=False)
class _Ridge:
    """Coefficients of standardised features, and the metric of distances."""

    centre: Float[np.ndarray, " m"]
    scale: Float[np.ndarray, " m"]
    offset: Float[np.ndarray, " K"]
    coefficients: Float[np.ndarray, "m K"]
    axes: Float[np.ndarray, "m r"]  # of the features, in units of a distance
    penalty: float

    @classmethod
    def of(
        cls, features: Float[np.ndarray, "n m"], known: Float[np.ndarray, "n K"],
        penalty: Real | None,
    ) -> _Ridge:  # fmt: skip
        """Fit by the singular values of the features, with the penalty of least error if None."""
        n = len(features)
        centre, scale = features.mean(axis=0), features.std(axis=0)
        # A feature that never varied has no effect later either.
        scale = np.where(scale > 1e-9 * np.maximum(1.0, abs(centre)), scale, np.inf)
        left, sizes, right = np.linalg.svd((features - centre) / scale, full_matrices=False)
        offset = known.mean(axis=0)
        centred = known - offset
        turned = left.T @ centred

        def shrunk(amount: float) -> np.ndarray:
            return sizes**2 / (sizes**2 + amount)

        def left_out(amount: float) -> float:
            kept = shrunk(amount)
            leverage = (left**2 @ kept + 1.0 / n)[:, None]
            errors = (centred - left @ (kept[:, None] * turned)) / np.maximum(1.0 - leverage, 1e-9)
            return float(((errors**2).mean(axis=0) / known.var(axis=0)).sum())

        best = float(min(PENALTIES, key=left_out)) if penalty is None else float(penalty)
        weights = sizes / (sizes**2 + best)
        return cls(
            centre, scale, offset, right.T @ (weights[:, None] * turned),
            right.T / np.sqrt(sizes**2 + 1.0), best,
        )  # fmt: skip

    def predict(
        self, features: Float[np.ndarray, "n m"]
    ) -> tuple[Float[np.ndarray, "n K"], Float[np.ndarray, " n"]]:
        """Return numbers and distances."""
        standard = (features - self.centre) / self.scale
        return (
            self.offset + standard @ self.coefficients,
            ((standard @ self.axes) ** 2).sum(axis=1),
        )


def _columns(values: Any, n: int) -> dict[str, Float[np.ndarray, "n k"]]:
    """Return the numbers of each concept, a row for each image."""
    require(
        isinstance(values, Mapping) and len(values) > 0,
        "values name one concept or more, each with its numbers",
        as_read(values) if not isinstance(values, Mapping) else "none",
        'pass {"size": sizes}',
    )
    columns = {}
    for name, numbers in values.items():
        try:
            column = np.asarray(numbers, dtype=float)
        except (TypeError, ValueError):
            column = np.full(0, np.nan)
        require(
            column.ndim in (1, 2) and len(column) == n and column.size > 0,
            f"values of a concept are numbers, a row for each of the {n} images",
            f"{as_read(numbers)} for {name!r}",
            "pass an array of shape (n,) or (n, k)",
        )
        require(
            bool(np.isfinite(column).all()),
            "values of a concept are finite",
            f"{int((~np.isfinite(column)).sum())} of {name!r} that are not",
            "leave those images out",
        )
        columns[str(name)] = column.reshape(n, -1)
    return columns


def _featured(features: Features, images: np.ndarray) -> Float[np.ndarray, "n m"]:
    """Return features of images, validated."""
    table = np.asarray(features(images))
    require(
        table.ndim == 2 and len(table) == len(images) and table.shape[1] > 0
        and np.issubdtype(table.dtype, np.number) and bool(np.isfinite(table).all()),
        "features are a table of finite numbers with a row for each image",
        f"shape {table.shape} of {table.dtype} for {len(images)} images",
        "flatten all other axes with reshape(n, -1)",
    )  # fmt: skip
    return table.astype(float)


def _by_name(widths: Mapping[str, int], numbers: np.ndarray) -> dict[str, np.ndarray]:
    """Return the last axis cut into the numbers of each concept."""
    ends = np.cumsum(list(widths.values()))[:-1]
    return dict(zip(widths, np.split(numbers, ends, axis=-1), strict=True))
