"""A panel of the explorer: a function that draws and prints, with controls for its arguments.

The body of the function is the code that a reader copies: lines that set the arguments and create
the axes stand before it, and its `yield`, between what is computed and what is drawn, is left out.
"""

from __future__ import annotations

import ast
import inspect
import io
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from textwrap import dedent
from threading import Lock
from typing import Any, get_type_hints

from partwhole._checks import InputError
from partwhole._figures import STYLE
from partwhole.audit import AuditReport
from partwhole.explorer.controls import Column, Slider
from partwhole.page import visible

# Outcomes of limits and of paths that decide something; what ends otherwise is never drawn.
DECIDED = ("SOLVED", "STATIONARY", "INFEASIBLE", "REACHED")
FIGURE = 'figure, axes = plt.subplots(1, 2, figsize=(6.6, 2.8), layout="constrained")'
# Fixed margins are drawn in half of the time that a layout takes which looks at all labels.
WIDE: dict[Any, Any] = {"left": 0.1, "right": 0.97, "bottom": 0.19, "top": 0.9, "wspace": 0.42}
NARROW: dict[Any, Any] = {"left": 0.19, "right": 0.95, "bottom": 0.09, "top": 0.95, "hspace": 0.34}
_DRAWING = Lock()  # the style of figures is that of the process


@dataclass(frozen=True)
class Answer:
    """What a panel shows for some values.

    Parameters
    ----------
    says : str
        What the code printed, or in one sentence why there is no answer.
    code : str
        The code, with these values.
    picture : str
        SVG; empty if there is no answer.
    report : AuditReport or None
    """

    says: str
    code: str
    picture: str = ""
    report: AuditReport | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Panel:
    """A function that draws and prints, with controls, and the chapter that explains it.

    Parameters
    ----------
    draw : generator function
        Its first argument is a list of two axes, its second what it calls to print; the others have
        defaults, at which the page opens, and a `Slider` or `Column` as annotation, or none for the
        path of a table. It yields once what it has computed, a limit, a path or a report, and then
        draws. SystemExit with a sentence ends it where there is no answer. The docstring of its
        module is the title, the text and what the picture shows.
    chapter : str
        A page of the guide, without its ending.
    compiles : bool, default False
        Whether the first answer takes seconds, in which JAX compiles the flow.
    """

    draw: Callable[..., Iterator[Any]]
    chapter: str
    compiles: bool = False

    @property
    def name(self) -> str:
        """Return the name of the function, which is the panel's address on the page."""
        return self.draw.__name__

    @cached_property
    def starts(self) -> dict[str, Any]:
        """Return the values at which the page opens, by argument."""
        arguments = list(inspect.signature(self.draw).parameters.values())[2:]
        return {argument.name: argument.default for argument in arguments}

    @cached_property
    def controls(self) -> dict[str, Slider | Column]:
        """Return the controls by argument."""
        hints = get_type_hints(self.draw, include_extras=True).items()
        return {name: hint.__metadata__[0] for name, hint in hints if hasattr(hint, "__metadata__")}

    @property
    def title(self) -> str:
        """Return the question that the panel answers."""
        return self._words[0]

    @property
    def text(self) -> str:
        """Return what the panel is about."""
        return self._words[1]

    @property
    def alternative(self) -> str:
        """Return what the picture shows, in words."""
        return self._words[2]

    @cached_property
    def _words(self) -> list[str]:
        words = sys.modules[self.draw.__module__].__doc__ or ""
        return [" ".join(part.split()) for part in words.strip().split("\n\n")]

    @cached_property
    def _program(self) -> tuple[str, str]:
        """Return the imports that the code needs, and the code below its arguments."""
        source = inspect.getsource(self.draw)
        (function,) = ast.parse(source).body
        assert isinstance(function, ast.FunctionDef)
        body = function.body
        lines = source.splitlines()[body[0].lineno - 1 : body[-1].end_lineno]
        lines = [line for line in lines if not line.startswith("    yield ")]
        used = {node.id for part in body for node in ast.walk(part) if isinstance(node, ast.Name)}
        imports = ["import matplotlib.pyplot as plt"]
        for node in ast.parse(inspect.getsource(sys.modules[self.draw.__module__])).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                node.names = [name for name in node.names if (name.asname or name.name) in used]
                imports += [ast.unparse(node)] * bool(node.names)
        return "\n".join(imports), dedent("\n".join(lines))

    def code(self, values: Mapping[str, Any]) -> str:
        """Return the code for some values, as a program of its own.

        Parameters
        ----------
        values : dict of str to object
            By argument; the others are as the page opens.
        """
        imports, body = self._program
        chosen = "\n".join(
            f"{name} = {value!r}" for name, value in (self.starts | {**values}).items()
        )
        return f"{imports}\n\n{chosen}\n\n{FIGURE}\n{body}\nplt.show()\n"

    def read(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of all controls, as a page sent them, by argument.

        Raises
        ------
        InputError
            For a value that its control does not have.
        """
        return {
            name: control.read(name, values.get(name)) for name, control in self.controls.items()
        }

    def answer(self, values: Mapping[str, Any], *, narrow: bool = False) -> Answer:
        """Draw and print for some values.

        Parameters
        ----------
        values : dict of str to object
            By argument; the others are as the page opens.
        narrow : bool, keyword-only, default False
            One picture above the other, for a narrow page.

        Returns
        -------
        Answer
            With one sentence, and no picture, for values that have no answer.
        """
        import matplotlib as mpl
        from matplotlib.figure import Figure

        code = self.code(values)
        lines: list[str] = []
        style: dict[Any, Any] = {"figure.constrained_layout.use": False, "svg.fonttype": "none"}
        drawn = self.draw(
            axes := [], lambda *words: lines.append(" ".join(map(str, words))), **values
        )
        try:
            result = next(drawn)
            outcome = getattr(result, "outcome", None)
            if outcome is not None and outcome.name not in DECIDED:
                return Answer(f"{outcome.value[0].upper()}{outcome.value[1:]}.", code)
            with _DRAWING, mpl.rc_context(STYLE | style), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of signs that a font lacks
                figure = Figure(figsize=(3.6, 5.6) if narrow else (6.6, 2.8))
                axes += list(figure.subplots(2, 1) if narrow else figure.subplots(1, 2))
                figure.subplots_adjust(**(NARROW if narrow else WIDE))
                next(drawn, None)
                file = io.BytesIO()
                figure.savefig(file, format="svg", metadata={"Date": None})
        except (InputError, SystemExit) as error:
            return Answer(str(error), code)
        picture = visible(file.getvalue().decode())
        report = result if isinstance(result, AuditReport) else None
        return Answer("\n".join(lines), code, picture, report)
