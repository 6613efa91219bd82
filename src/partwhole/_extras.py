"""Packages of the extras, and the error that names the extra whose packages are missing."""

from __future__ import annotations

from importlib.util import find_spec

# The packages of each extra, by the names under which they are imported.
EXTRAS: dict[str, tuple[str, ...]] = {
    "train": ("jax", "equinox", "optax", "diffrax", "xarray"),
    "plot": ("matplotlib", "xarray"),
    "digits": ("sklearn",),
    "torch": ("torch",),
}
EXTRAS["explore"] = (
    *dict.fromkeys((*EXTRAS["train"], *EXTRAS["plot"], "latex2mathml", "markdown_it")),
)
INSTALLED_AS = {"sklearn": "scikit-learn", "markdown_it": "markdown-it-py"}


class MissingExtraError(ImportError):
    """Use of a part of partwhole without the packages that it needs."""


def needs(extra: str, part: str) -> None:
    """Raise an error of one sentence unless the packages of an extra are installed.

    Parameters
    ----------
    extra : {"train", "plot", "digits", "explore", "torch"}
    part : str
        The part of partwhole that needs them, as users call it.

    Raises
    ------
    MissingExtraError

    Examples
    --------
    >>> needs("plot", "partwhole.study")
    """
    missing = [name for name in EXTRAS[extra] if find_spec(name) is None]
    if missing:
        names = ", ".join(INSTALLED_AS.get(name, name) for name in missing)
        raise MissingExtraError(
            f"{part} needs packages of the extra {extra!r}; got an installation without {names}; "
            f"install them: pip install 'partwhole[{extra}]'",
            name=missing[0],
        )
