"""The user's torch, which is imported when it is first needed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from partwhole._extras import MissingExtraError


def torch_for(part: str) -> Any:
    """Import torch and return it, or raise an error of one sentence where it isn't installed.

    Parameters
    ----------
    part : str
        The function of this room that needs it.

    Raises
    ------
    MissingExtraError
    """
    if find_spec("torch") is None:
        raise MissingExtraError(
            f"partwhole.torch.{part} needs packages of the extra 'torch'; got an installation "
            "without torch; install them: pip install 'partwhole[torch]'",
            name="torch",
        )
    return import_module("torch")
