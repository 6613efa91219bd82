"""The published concept spaces, and the strengths at which they were trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Bounds, Real
from partwhole.tasks.shapes.attributes import KINDS
from partwhole.tasks.shapes.concept import Concept, Law
from partwhole.tasks.shapes.space import ConceptSpace

# Twenty even steps from .1 to .8, rounded to three decimals.
CONCEPT_SIGNALS = tuple(round(0.1 + 0.7 * i / 19, 3) for i in range(20))
# Those whose paths are drawn by Yang et al. (ICLR 2025), figure 6.
CONCEPT_SIGNALS_SHOWN = CONCEPT_SIGNALS[1:17:3]


@door
def circles(
    colour_separation: Annotated[Real, Bounds(above=0, at_most=0.8)] = 0.4,
    size_separation: Annotated[Real, Bounds(above=0, at_most=0.4)] = 0.4,
    *,
    background_separation: Annotated[Real, Bounds(above=0, at_most=0.8)] | None = None,
    shapes: Sequence[str] = ("circle",),
) -> ConceptSpace:
    """Return the published concept space: red or blue, big or small, optionally with more concepts.

    With separations d for colour and s for size, red is .5 + d/2 in its channel and .5 - d/2 in
    the others, blue likewise; radii are .45 + s/2 and .45 - s/2 of half a side. Within a class
    each channel is uniform within d/8 of its mean and the radius within 3s/8, though at least .1.
    Centres are uniform in -0.5..0.5 and background channels in 0.8..1.

    Parameters
    ----------
    colour_separation : float, default 0.4
        In 0..0.8, above 0: the strength of the colour concept; `CONCEPT_SIGNALS` are those of the
        published sweep.
    size_separation : float, default 0.4
        In 0..0.4, above 0.
    background_separation : float, keyword-only, default None
        Makes a third concept, background light or dark, all channels .5 + b/2 or .5 - b/2 with a
        jitter of b/8; in 0..0.8, above 0. None for no such concept.
    shapes : sequence of str, keyword-only, default ("circle",)
        "circle", "triangle" or both, which makes a concept of them, the first one. Triangles are
        equilateral, of the circle's area, and point up; `published_triangles`, of
        `partwhole.tasks.shapes.triangles`, has the published ones, 15 % larger and pointing right.

    Returns
    -------
    ConceptSpace
        Concepts in the order shape, colour, size, background, those there are: class
        2 * colour + size for two.

    Raises
    ------
    InputError
        For a separation out of range, or other shapes.

    Notes
    -----
    Park et al. (NeurIPS 2024), 2 x 2 (a colour separation of .4 is one of many there) and
    2 x 2 x 2; Okawa et al. (NeurIPS 2023) have shape, colour and size, with other images.

    Examples
    --------
    >>> space = circles(0.8, background_separation=0.8, shapes=("circle", "triangle"))
    >>> space.names, space.n_classes, space.label(13)
    (('shape', 'colour', 'size', 'background'), 16, 'triangle blue big dark')
    """
    require(
        tuple(shapes) in ((KINDS[0],), (KINDS[1],), KINDS),
        "shapes are 'circle', 'triangle' or both, in this order",
        repr(shapes),
        'pass ("circle", "triangle")',
    )
    concepts = []
    if len(shapes) == 2:
        kinds = {word: KINDS.index(word) for word in shapes}
        concepts.append(Concept.around("shape", kinds, field="kind"))
    low, high = 0.5 - colour_separation / 2, 0.5 + colour_separation / 2
    concepts += [
        Concept.around(
            "colour",
            {"red": (high, low, low), "blue": (low, low, high)},
            jitter=colour_separation / 8,
        ),
        Concept.around(
            "size",
            {"big": 0.45 + size_separation / 2, "small": 0.45 - size_separation / 2},
            jitter=3 * size_separation / 8,
            lowest=0.1,
        ),
    ]
    if background_separation is not None:
        low, high = 0.5 - background_separation / 2, 0.5 + background_separation / 2
        concepts.append(
            Concept.around(
                "background",
                {"light": (high,) * 3, "dark": (low,) * 3},
                jitter=background_separation / 8,
            )
        )
    law = len(shapes) == 1
    return ConceptSpace(
        tuple(concepts),
        {"kind": Law.about(KINDS.index(shapes[0]))} if law else {},
        shapes[0] if law else "",
    )
