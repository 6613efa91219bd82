"""The user's torch, which is imported when it is first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from partwhole._extras import needs


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
    needs("torch", f"partwhole.torch.{part}")
    return import_module("torch")
