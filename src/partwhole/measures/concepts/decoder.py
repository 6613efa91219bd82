"""Colour, size, place and background of one shape, read off its pixels by least squares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Bool, Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Fraction, NonNegative, Real
from partwhole.measures.concepts._fit import fit_discs, white_noise
from partwhole.measures.concepts.coordinates import Mean, Spread, between
from partwhole.tasks.shapes.renderer import MOST_NOISE

if TYPE_CHECKING:
    import pandas as pd

CHUNK = 2**15  # pixels at once: 32 images of 32 x 32, in about 70 MB
FIELDS = ("colour", "size", "background", "position", "x", "y")
LEAST_SIDE = 8
# Measured on white noise: the mean square of N values less that read off their second
# differences' median has a deviation of 3.5 / sqrt(N) of itself at side 32, and 4.4 at side 8.
MEDIAN = 4.0


@dataclass(frozen=True, eq=False)
class Decoded:
    """Shape, colours and quality of the fit for each image.

    Parameters
    ----------
    position : float array, shape (..., 2)
        Of the centre, first along the rows of pixels, then along the columns; -1 is the first
        pixel's middle and 1 the last one's.
    size : float array, shape (...)
        Radius, in the same units.
    colour, background : float arrays, shape (..., 3)
        Of the shape, within 0..1, and of what surrounds it.
    noise : float array, shape (...)
        Deviation of the pixels' noise: as given, or as read off the residual.
    explained : float array, shape (...)
        The share of an image's variance beyond its noise that one disc explains, 0 to 1.
    detection : float array, shape (...)
        How far the disc stands out, in deviations of its contrast.
    is_shape : bool array, shape (...)
        Whether the image is taken for one shape; where it is not, the decoder abstains.
    """

    position: Float[np.ndarray, "*batch 2"]
    size: Float[np.ndarray, "*batch"]
    colour: Float[np.ndarray, "*batch 3"]
    background: Float[np.ndarray, "*batch 3"]
    noise: Float[np.ndarray, "*batch"]
    explained: Float[np.ndarray, "*batch"]
    detection: Float[np.ndarray, "*batch"]
    is_shape: Bool[np.ndarray, "*batch"]

    @property
    def area(self) -> Float[np.ndarray, "*batch"]:
        """Return the disc's area, as a share of the square from -1 to 1; it may reach beyond."""
        return np.pi * self.size**2 / 4.0

    @property
    def confidence(self) -> Float[np.ndarray, "*batch"]:
        """Return the explained share, and 0 where the decoder abstains."""
        return np.where(self.is_shape, self.explained, 0.0)

    @property
    def abstained(self) -> float:
        """Return the share of the images that are not taken for one shape."""
        return float(1.0 - self.is_shape.mean())

    @door(missing=("unsure",))
    def coordinates(
        self,
        values: Mapping[str, tuple[Mean, Mean]],
        *,
        law: Literal["linear", "logistic"] = "linear",
        spread: Spread = 0.15,
        unsure: Real = float("nan"),
    ) -> Float[np.ndarray, "*batch C"]:
        """Return each image's place between two values of each concept.

        Parameters
        ----------
        values : mapping of a field to two means
            ``{"colour": (red, blue), "size": (0.65, 0.25)}``: what the coordinate 0 and the
            coordinate 1 stand for, with fields colour, size, background, position, and its parts x
            (down) and y (to the right); of a `tasks.ConceptSpace` its `ends()`.
        law, spread : keyword-only, defaults "linear" and 0.15
            As in `between`.
        unsure : float, keyword-only, default NaN
            The coordinates of an image on which the decoder abstains. `calibration`, `concept_path`
            and `capability` count NaN as abstained; any number, say 0.5, they take for a reading.

        Returns
        -------
        float array, shape (..., C)
            In 0..1, in the order of `values`.

        Raises
        ------
        InputError
            For no concept, a field that is not decoded, means that are equal or don't fit it, and
            options out of range.

        Examples
        --------
        A red disc and noise, seen from concepts whose second values are blue and small:

        >>> grid = np.linspace(-1.0, 1.0, 16)
        >>> inside = (np.add.outer(grid**2, grid**2) < 0.45**2)[..., None]
        >>> noise = np.random.default_rng(0).standard_normal((16, 16, 3))
        >>> images = np.stack([np.where(inside, [0.7, 0.3, 0.3], 0.9), 0.5 + 0.1 * noise])
        >>> decoded = decode_shapes(images)
        >>> values = {"colour": ((0.7, 0.3, 0.3), (0.3, 0.3, 0.7)), "size": (0.65, 0.25)}
        >>> decoded.is_shape.tolist(), decoded.coordinates(values).round(1).tolist()
        ([True, False], [[0.0, 0.6], [nan, nan]])
        """
        require(len(values) > 0, "values name one concept or more", "none", 'pass {"size": (1, 0)}')
        unknown = [name for name in values if name not in FIELDS]
        require(
            not unknown,
            f"concepts are among {', '.join(FIELDS)}",
            unknown,
            "read kinds by a classifier of concepts"
            if "kind" in unknown
            else "rename or leave out",
        )
        require(np.isnan(unsure) or 0 <= unsure <= 1, "unsure is NaN or in 0..1", unsure, "use 0.5")
        columns = []
        for name, (first, second) in values.items():
            axis = {"x": 0, "y": 1}.get(name)
            estimates = getattr(self, name) if axis is None else self.position[..., axis]
            estimates = estimates[..., None] if estimates.ndim == self.size.ndim else estimates
            columns.append(between(estimates, first, second, law=law, spread=spread))
        return np.where(self.is_shape[..., None], np.stack(columns, axis=-1), float(unsure))

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each image, in the order of the leading axes."""
        import pandas as pd

        columns: dict[str, np.ndarray] = {}
        for name, parts in (
            ("position", ("row", "column")),
            ("colour", ("red", "green", "blue")),
            ("background", ("red", "green", "blue")),
        ):
            flat = getattr(self, name).reshape(-1, len(parts))
            columns |= {f"{name} {part}": flat[:, i] for i, part in enumerate(parts)}
        for name in ("size", "noise", "explained", "detection", "is_shape"):
            columns[name.replace("_", " ")] = getattr(self, name).ravel()
        return pd.DataFrame(columns)


@door
def decode_shapes(
    images: Float[np.ndarray, "*batch side side 3"],
    *,
    blur: Real | None = None,
    noise: Real | None = None,
    sizes: tuple[Real, Real] = (0.05, 1.2),
    least_explained: Fraction = 0.85,
    least_detection: NonNegative = 8.0,
) -> Decoded:
    r"""Read colour, size, place and background off images of one shape, without any training.

    An image is taken for :math:`m c + (1 - m) b` and noise, with the mask m of a disc of radius
    r, centred at x and blurred. The estimate is that of least squares,

    .. math::
        \min_{x, r, b, c \in [0, 1]^3} \sum_{\text{pixels } p}
        \big\| I_p - m_p(x, r) \, c - (1 - m_p(x, r)) \, b \big\|^2,

    which for normal noise is the most likely one. Colours follow from the mask by a line for each
    channel, so a search over discs half a radius apart,
    :math:`\max_{x, r} \sum_{\text{channels}} \langle \tilde m, I \rangle^2 / \|\tilde m\|^2` with
    the centred mask :math:`\tilde m`, finds where to start, and damped Gauss-Newton steps in x
    and r, with the colours eliminated, end at the minimum.

    With the residual's mean square e², the noise σ and the image's variance v, the disc explains
    :math:`1 - (e^2 - (1 + \delta) \sigma^2)_+ / (v - \sigma^2)` of what is not noise, and stands
    out by :math:`\|c - b\| \, \|\tilde m\| / \max(\sigma, e)`. Noise is white, so its size is
    read off the second differences of the residual, in which unexplained shapes hardly show; δ is
    three deviations of :math:`e^2 / \sigma^2` in white noise. An image is taken for one shape where
    both are large enough, and the disc is not of the largest radius.

    Parameters
    ----------
    images : float array, shape (..., side, side, 3)
        In 0..1, with noise possibly beyond; sides of 8 or more. On most images in -1..1 it
        abstains (`Decoded.abstained`): halve them and add .5.
    blur : float, keyword-only, default None
        Deviation of the Gaussian blur, in pixels; None for side / 32, as in the published images.
    noise : float, keyword-only, default None
        Deviation of the pixels' noise, where it is known; None to read it off each image.
    sizes : pair of floats, keyword-only, default (0.05, 1.2)
        The least and the largest radius.
    least_explained : float, keyword-only, default 0.85
        The share that one disc must explain.
    least_detection : float, keyword-only, default 8.0
        How far it must stand out; the best disc in white noise stands out by 5 or so.

    Returns
    -------
    Decoded

    Raises
    ------
    InputError
        For no images, whole numbers, values that are not finite, sides below 8, and options out
        of range.

    Notes
    -----
    The estimator is derived here, for the images of Park et al. (NeurIPS 2024), whose generated
    ones keep noise of deviation 0.08. With that noise, radii 0.65 and 0.25 and colours 0.137 and
    more apart, all of 600 images of exact class means were told apart in colour and size at sides
    16 and 32, and none was abstained on; with the published jitter, colours 0.137 apart were right
    in 0.994 and 0.998, with 0.013 and 0 of the images abstained on.

    A disc of less than about two pixels' area has no size and colour of its own, only their
    product, as published sizes have at sides below 16. Other compact shapes are decoded as the
    disc that fits best, with about their area. Of two discs where the second is much smaller or
    fainter, or which touch, the larger may be taken for the only one.

    Examples
    --------
    >>> grid = np.linspace(-1.0, 1.0, 32)
    >>> inside = np.add.outer((grid - 0.2) ** 2, grid**2)[..., None] < 0.5**2
    >>> noise = 0.08 * np.random.default_rng(0).standard_normal((32, 32, 3))
    >>> decoded = decode_shapes(np.where(inside, [0.3, 0.3, 0.7], 0.9) + noise)
    >>> decoded.position.round(2).tolist(), decoded.size.round(2).item()
    ([0.2, 0.0], 0.5)
    >>> decoded.noise.round(2).item()
    0.08
    >>> decoded.colour.round(1).tolist(), bool(decoded.is_shape)
    ([0.3, 0.3, 0.7], True)
    """
    pixels = np.asarray(images)
    require(
        pixels.ndim >= 3 and pixels.shape[-1] == 3 and pixels.shape[-2] == pixels.shape[-3],
        "images have a height, an equal width and 3 channels on their last axes",
        f"shape {pixels.shape}",
        "move the channels last, and repeat a single one three times",
    )
    require(
        np.issubdtype(pixels.dtype, np.floating),
        "pixels are fractions of 0..1",
        f"{pixels.dtype}",
        "divide levels of 0..255 by 255",
    )
    side, batch = pixels.shape[-2], pixels.shape[:-3]
    require(side >= LEAST_SIDE, f"sides are of {LEAST_SIDE} pixels or more", side, "render larger")
    require(pixels.size > 0, "there is an image to decode", f"shape {pixels.shape}", "pass some")
    min_radius, max_radius = sizes
    require(
        0 < min_radius < max_radius,
        "sizes are a least radius above 0 and a larger one",
        sizes,
        "use (0.05, 1.2)",
    )
    for name, value, most in (("blur", blur, side), ("noise", noise, MOST_NOISE)):
        require(
            value is None or 0 < value <= most,
            f"{name} is None or a deviation above 0, at most {most:g}",
            value,
            "leave it out",
        )
    pixel = 2.0 / (side - 1)
    # Below half a pixel a mask is a step between two pixels, whatever its blur.
    width = max(side / 32.0 if blur is None else float(blur), 0.25)
    flat = pixels.reshape(-1, side, side, 3)
    parts = []
    count = max(1, CHUNK // side**2)
    for start in range(0, len(flat), count):
        chunk = flat[start : start + count].astype(float)
        fit = fit_discs(chunk, width, (min_radius / pixel, max_radius / pixel))
        residual = fit.residual.reshape(chunk.shape)
        sigma = white_noise(residual) if noise is None else np.full(len(chunk), float(noise))
        square = (residual**2).mean(axis=(1, 2, 3))
        total = chunk.var(axis=(1, 2)).mean(axis=1)
        doubt = 3.0 * (MEDIAN if noise is None else 2**0.5) / np.sqrt(residual[0].size)
        left = np.maximum(square - (1.0 + doubt) * sigma**2, 0.0)
        beyond = np.maximum(total - sigma**2, np.finfo(float).tiny)
        explained = np.clip(1.0 - left / beyond, 0.0, 1.0)
        contrast = np.sqrt(((fit.colour - fit.background) ** 2).sum(axis=1) * fit.mass)
        # An image of one colour leaves neither contrast nor residual.
        error = np.maximum(np.maximum(sigma, np.sqrt(square)), 1e-12)
        parts.append(
            (
                fit.discs[:, :2] * pixel - 1.0,
                fit.discs[:, 2] * pixel,
                fit.colour,
                fit.background,
                sigma,
                explained,
                contrast / error,
            )
        )
    position, size, colour, background, sigma, explained, detection = (
        np.concatenate(chunks).reshape(batch + chunks[0].shape[1:])
        for chunks in zip(*parts, strict=True)
    )
    # At the largest radius the disc is an edge, of which no more is seen.
    is_shape = (explained >= least_explained) & (detection >= least_detection) & (size < max_radius)
    return Decoded(
        position, size, colour, background, sigma, explained, detection, np.asarray(is_shape)
    )
