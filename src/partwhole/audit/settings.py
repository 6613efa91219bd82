"""Settings of an audit: thresholds, and rules that are silenced for a stated reason."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole._types import Real
from partwhole.audit.rules import RULES

NoiseSource = Literal["repeats", "estimate"]
EXAMPLE = """\
[thresholds]
coverage = 5
[silence]
shortcut = "balanced by design"
"""
SILENCED_LINES = (
    "write a line [silence], and below it for each rule a line such as shortcut = "
    '"why it does not apply"'
)
LARGEST = 1e100
# Options of the command that a user might look for in a configuration file.
OPTIONS = (
    "table",
    "components",
    "target",
    "split",
    "train",
    "test",
    "hold_out",
    "share",
    "seed",
    "require_order",
    "weights",
    "features",
    "kernel",
    "feature_columns",
    "fit",
    "target_kind",
    "duplicates",
    "noise",
    "missing",
    "bins",
    "multi_hot",
    "tied",
    "ordered",
    "salience",
    "add",
    "time_limit",
    "fail_on",
)


@door
@dataclass(frozen=True)
class Settings:
    """Thresholds of an audit, and rules silenced with a reason.

    The report keeps the findings of a silenced rule, shows them with the reason, and does not
    count them in the verdict.

    Parameters
    ----------
    determined : float, default 1
        Smallest share of held-out combinations that training must determine.
    unexplained : float, default 1e-6
        Largest unexplained share of the held-out targets' variance at which they still count as
        solvable (numbers). The default tolerates numbers that a table rounds to four digits or
        more.
    shortcut_effect : float, default 0.1
        Smallest gain in accuracy over the commonest label, or share of variance explained, by
        which a component alone predicts the targets of training.
    group_share : float, default 0.2
        Smallest share of the rows expected of a value and a label without a correlation that is
        not reported.
    unseen : float, default 0
        Largest share of held-out rows with values or labels that training lacks at which the
        verdict is that on the other rows.
    salience : float, default 2
        Factor within which the salience of a component may change without an error.
    leak_slope : float, default 0.5
        Smallest slope of predicted on true targets that is not reported; for labels read from
        noisy features, smallest share of the possible gain over guessing.
    coverage : int, default 3
        Smallest number of distinct training combinations with a tested value.
    silence : mapping of str to str, optional
        The reason for silencing, by rule id.

    Raises
    ------
    InputError
        If a threshold is not a number in its range, a rule is unknown or a reason is empty.

    Examples
    --------
    >>> Settings(leak_slope=0.25).leak_slope
    0.25
    >>> Settings(silence={"shortcut": "balanced by design"}).silence["shortcut"]
    'balanced by design'
    """

    determined: Real = 1.0
    unexplained: Real = 1e-6
    shortcut_effect: Real = 0.1
    group_share: Real = 0.2
    unseen: Real = 0.0
    salience: Real = 2.0
    leak_slope: Real = 0.5
    coverage: Real = 3
    silence: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every threshold and every reason."""
        _check(self.thresholds, self.silence)
        object.__setattr__(self, "silence", MappingProxyType(dict(self.silence)))

    @property
    def thresholds(self) -> dict[str, Real]:
        """Return the thresholds by name."""
        return {name: getattr(self, name) for name in _names()}

    @classmethod
    @door
    def load(cls, path: str | Path) -> Settings:
        """Read settings from a TOML file with the tables ``[thresholds]`` and ``[silence]``.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Settings

        Raises
        ------
        InputError
            If the file cannot be read, is not TOML, or has a table, name or value that is
            unknown or of the wrong type.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "audit.toml")
        ...     _ = path.write_text("[thresholds]\\ncoverage = 5")
        ...     Settings.load(path).coverage
        5
        """
        path = Path(path)
        remedy = "name a TOML file with the tables [thresholds] and [silence]"
        require(path.exists(), "the settings file must exist", path, remedy)
        require(path.is_file(), "settings are in a file", f"the folder {path}", remedy)
        try:
            data = tomllib.loads(path.read_bytes().decode("utf-8"))
        except UnicodeDecodeError:
            require(False, "settings are UTF-8 text", f"other bytes in {path}", remedy)
            raise
        except tomllib.TOMLDecodeError as error:
            require(False, f"{path} must be TOML", str(error).rstrip("."), "correct that line")
            raise
        except (ValueError, RecursionError) as error:
            excess = "nested brackets" if isinstance(error, RecursionError) else "digits"
            raise InputError(
                f"settings are short numbers and texts; got too many {excess} in {path}; {remedy}"
            ) from error
        return _from_tables(data)


def _from_tables(data: Mapping[str, Any]) -> Settings:
    tables = ("thresholds", "silence")
    for name, content in data.items():
        _require_no_option(name)
        require(
            name in tables,
            "settings have the tables [thresholds] and [silence]",
            repr(name),
            "move it into one of them",
        )
        require(
            isinstance(content, Mapping),
            f"{name} is a table of settings",
            "" if isinstance(content, Mapping) else _value_text(content),
            SILENCED_LINES
            if name == "silence"
            else f"write a line [{name}] and its entries below it",
        )
    thresholds = data.get("thresholds", {})
    for name in thresholds:
        _require_no_option(name)
        require(
            name in _names(),
            f"a threshold is one of {', '.join(_names())}",
            repr(name),
            f"the nearest is {_nearest(name, list(_names()))}",
        )
    silence = data.get("silence", {})
    _check(thresholds, silence)
    return Settings(**thresholds, silence=silence)


def _require_no_option(name: str) -> None:
    option = name.replace("-", "_")
    require(
        option not in OPTIONS,
        "settings have the tables [thresholds] and [silence]",
        f"{name}, which is an option of the command, not of a configuration",
        "name the file first" if option == "table" else f"use --{option.replace('_', '-')}",
    )


def _names() -> tuple[str, ...]:
    return tuple(entry.name for entry in fields(Settings) if entry.name != "silence")


def _check(thresholds: Mapping[str, Any], silence: Mapping[str, Any]) -> None:
    for name, value in thresholds.items():
        _check_threshold(name, value)
    for rule, reason in silence.items():
        require(
            rule in RULES,
            "a silenced rule is one of those that `partwhole audit --rules` lists",
            repr(rule),
            f"the nearest is {_nearest(str(rule), list(RULES))}",
        )
        require(
            isinstance(reason, str) and reason.strip(),
            "the reason for silencing a rule is a text",
            f"{_value_text(reason)} for {rule}",
            f'write {rule} = "why it does not apply"',
        )


def _check_threshold(name: str, value: object) -> None:
    # Comparing works for whole numbers of any length, converting does not; NaN is in no range.
    number = isinstance(value, int | float) and not isinstance(value, bool)
    number = number and -LARGEST <= value <= LARGEST  # pyright: ignore
    if name == "coverage":
        require(
            number and value == int(value) and value >= 0,  # pyright: ignore
            "coverage is a whole number of combinations, 0 or more",
            _value_text(value),
            "write such as coverage = 3",
        )
    elif name in ("leak_slope", "salience"):
        least = 0 if name == "leak_slope" else 1
        require(
            number and value >= least,  # pyright: ignore
            f"{name} is a number, {least} or more",
            _value_text(value),
            f"write such as {name} = {getattr(Settings, name):g}",
        )
    else:
        require(
            number and 0 <= value <= 1,  # pyright: ignore
            f"{name} is a share from 0 to 1",
            _value_text(value),
            f"write such as {name} = {getattr(Settings, name):g}",
        )


def _value_text(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:
        return "a whole number of over 4,300 digits"
    return text if len(text) <= 60 else f"{text[:60]}…"


def require_rules(rules: Iterable[str], known: Iterable[str]) -> None:
    """Refuse ids that no rule has."""
    ids = list(known)
    for rule in rules:
        require(
            rule in ids,
            "a build fails on rules of the audit",
            repr(rule),
            f"the nearest is {_nearest(rule, ids)}",
        )


def _nearest(name: str, names: list[str]) -> str:
    return (get_close_matches(name, names, 1, 0.0) or names)[0]
