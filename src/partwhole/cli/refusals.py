"""What is wrong with the arguments of a command, in one sentence."""

from __future__ import annotations

import difflib
import types
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature, unwrap
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from tyro.conf import Positional

# Signs of which a box is drawn around the text of the parser.
FRAME = "╭╮╰╯│─"
NUMBERS = {int: ("a whole number", "1"), float: ("a number", "0.5")}


def refusal(
    args: Sequence[str], commands: Mapping[str, Callable[..., None]], said: str = ""
) -> str:
    """Return why arguments that the parser refuses are wrong: rule; what was given; remedy.

    Parameters
    ----------
    args : sequence of str
        With the name of the command first.
    commands : mapping from str to function
        Whose parameters are positional arguments and options.
    said : str, default ""
        What the parser says of it, for a fault that is none of those looked for here.

    Returns
    -------
    str

    Examples
    --------
    >>> def draw(width: int = 3, ink: Literal["red", "blue"] = "red") -> None: ...
    >>> refusal(["draw", "--width", "two"], {"draw": draw})
    "--width is a whole number; got 'two'; write such as --width 1"
    >>> refusal(["draw", "--ink", "rde"], {"draw": draw})
    "--ink is red or blue; got 'rde'; did you mean red?"
    >>> refusal(["draw", "--widht", "2"], {"draw": draw})
    'options are those of partwhole draw --help; got --widht; did you mean --width?'
    >>> refusal(["darw"], {"draw": draw})
    "the commands of partwhole are draw; got 'darw'; did you mean draw?"
    """
    name = args[0] if args else ""
    if name not in commands:
        remedy = _near(name, [*commands], "see partwhole --help")
        return f"the commands of partwhole are {', '.join(commands)}; got {name!r}; {remedy}"
    fault = _fault(name, list(args[1:]), commands[name])
    if fault:
        return fault
    text = " ".join(said.translate(dict.fromkeys(map(ord, FRAME), " ")).split())[:200]
    return f"arguments are those of partwhole {name} --help; got others ({text}); see its help"


def _fault(name: str, tokens: list[str], command: Callable[..., None]) -> str:
    """Return the first fault of the arguments of a command, empty if none is found."""
    hints = get_type_hints(unwrap(command), include_extras=True)
    parameters = signature(command).parameters
    positional = {p: hints[p] for p in parameters if _is_positional(hints[p])}
    options = {f"--{p.replace('_', '-')}": hints[p] for p in parameters if p not in positional}
    free, place = [], 0
    while place < len(tokens):
        token = tokens[place]
        place += 1
        if not _is_option(token):
            free.append(token)
            continue
        written, sign, value = token.partition("=")
        option = written.replace("_", "-")
        if option not in options:
            remedy = _near(option, [*options], "see its help")
            return f"options are those of partwhole {name} --help; got {written}; {remedy}"
        kind = _plain(options[option])
        values = [value] if sign else []
        while not sign and place < len(tokens) and not _is_option(tokens[place]):
            if kind is bool or (values and get_origin(kind) is not tuple):
                break
            values.append(tokens[place])
            place += 1
        if kind is bool and sign:
            return f"{option} takes no value; got {value!r}; write {option} alone, or leave it out"
        if kind is not bool and get_origin(kind) is not tuple and not values:
            return f"{option} needs a value; got none; write {option} {_example(kind)}"
        for one in values:
            fault = _of_value(option, f"{option} ", one, kind)
            if fault:
                return fault
    for (parameter, hint), value in zip(positional.items(), free, strict=False):
        fault = _of_value(parameter.upper(), "", value, _plain(hint))
        if fault:
            return fault
    if len(free) > len(positional):
        most = " and ".join(p.upper() for p in positional) or "options alone"
        surplus = " ".join(free[len(positional) :])
        return (
            f"partwhole {name} takes {most}; got {surplus!r} besides; put the values of an option "
            "directly after it"
        )
    absent = [p for p in [*positional][len(free) :] if parameters[p].default is Parameter.empty]
    if absent:
        missing = " and ".join(p.upper() for p in absent)
        return f"partwhole {name} needs {missing}; got none; see partwhole {name} --help"
    return ""


def _is_option(token: str) -> bool:
    """Return whether a token names an option: neither a value, nor a dash, nor a number below 0."""
    return token.startswith("--") or (token.startswith("-") and token[1:2].isalpha())


def _of_value(subject: str, start: str, value: str, kind: Any) -> str:
    """Return what is wrong with a value, empty if nothing is."""
    kind = get_args(kind)[0] if get_origin(kind) is tuple else kind
    if get_origin(kind) is Literal:
        choices = [str(choice) for choice in get_args(kind)]
        if value in choices:
            return ""
        remedy = _near(value, choices, "name one of them")
        listed = " or ".join([", ".join(choices[:-1]), choices[-1]] if choices[1:] else choices)
        return f"{subject} is {listed}; got {value!r}; {remedy}"
    if kind not in NUMBERS:
        return ""
    try:
        kind(value)
    except ValueError:
        rule, example = NUMBERS[kind]
        return f"{subject} is {rule}; got {value!r}; write such as {start}{example}"
    return ""


def _plain(hint: Any) -> Any:
    """Return a type without what describes it, and without None."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in (Union, types.UnionType):
        others = [kind for kind in get_args(hint) if kind is not type(None)]
        return _plain(others[0]) if len(others) == 1 else hint
    return hint


def _is_positional(hint: Any) -> bool:
    """Return whether a parameter has no option."""
    marks = set(map(repr, get_args(Positional[int])[1:]))
    return get_origin(hint) is Annotated and any(repr(mark) in marks for mark in get_args(hint)[1:])


def _example(kind: Any) -> str:
    """Return what stands for a value."""
    if get_origin(kind) is Literal:
        return str(get_args(kind)[0])
    return NUMBERS[kind][1] if kind in NUMBERS else "and then a value"


def _near(text: str, names: Sequence[str], otherwise: str) -> str:
    matches = difflib.get_close_matches(text, names, n=1)
    return f"did you mean {matches[0]}?" if matches else otherwise
