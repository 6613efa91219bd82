"""Why a file of JSON Lines cannot be read, in plain words."""

from __future__ import annotations

import re

from partwhole._checks import InputError
from partwhole.audit.reading.columns import quoted

KINDS = {
    "object": "an object", "array": "an array", "string": "text", "number": "a number",
    "boolean": "a boolean", "null": "null",
}  # fmt: skip
CHANGED = re.compile(r"Column\((?:/(.*))?\) changed from (\w+) to (\w+) in row (\d+)")
TWICE = re.compile(r"Column\(/(.*)\) was specified twice in row (\d+)")
NO_JSON = re.compile(r"(?:JSON parse error: )?(.*?)\.? in row (\d+)")


def not_json_lines(message: str, name: str) -> InputError:
    """Return the sentence for what Arrow says of a file of JSON Lines.

    Examples
    --------
    >>> print(not_json_lines("JSON parse error: Column(/a) changed from string to number in row 4",
    ...                  "t.jsonl"))
    the entries of one name in a .jsonl file have one type; got text and then a number for 'a', the
    number in row 4 (counted from 0) of 't.jsonl'; write all of them as text, say
    """
    place = "(counted from 0) of " + repr(name)
    if changed := CHANGED.search(message):
        of, before, after, row = changed.groups()
        first, second = (KINDS.get(kind, kind) for kind in (before, after))
        if of is None:
            return InputError(
                f"a .jsonl file holds an object in each line; got {second} in row {row} {place}; "
                'write each row as an object in a line of its own, such as {"shape": "disc"}'
            )
        definite = second.removeprefix("a ").removeprefix("an ")
        return InputError(
            f"the entries of one name in a .jsonl file have one type; got {first} and then "
            f"{second} for {quoted(of)}, the {definite} in row {row} {place}; write all of them "
            "as text, say"
        )
    if twice := TWICE.search(message):
        of, row = twice.groups()
        return InputError(
            f"an object in a .jsonl file has each name once; got {quoted(of)} twice in row {row} "
            f"{place}; rename one of them"
        )
    got = f"something else in {name!r}"
    if no_json := NO_JSON.search(message):
        reason, row = no_json.groups()
        got = f"other text in row {row} {place} ({reason[:1].lower()}{reason[1:]})"
    return InputError(
        f"a .jsonl file holds an object of JSON in each line; got {got}; correct the line"
    )
