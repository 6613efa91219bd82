"""The explorer's server, on this machine alone."""

from __future__ import annotations

import base64
import json
import os
import re
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from partwhole._checks import InputError, require
from partwhole._extras import needs
from partwhole._faults import own_failure
from partwhole.explorer.chapters import chapter, title_of
from partwhole.explorer.controls import EXAMPLE
from partwhole.explorer.html import explorer
from partwhole.explorer.panels import PANELS
from partwhole.explorer.tables import columns

if TYPE_CHECKING:
    from partwhole.audit import AuditReport

ADDRESS = "127.0.0.1"
LARGEST = 64 << 20  # bytes of a question; the page's script has the same limit for tables
MOST_KEPT = 8  # tables, and reports
CHAPTERS = tuple(dict.fromkeys(panel.chapter for panel in PANELS))


class Table(NamedTuple):
    """A table of the reader's: its name, and where it lies until the explorer ends."""

    name: str
    place: Path

    def named(self, text: str) -> str:
        """Return a text with the table's name where it has its place."""
        for place in (self.place.as_posix(), str(self.place), self.place.name):
            text = text.replace(place, self.name)
        return text


class Explorer(ThreadingHTTPServer):
    """A server of the explorer, which answers from this machine and stores nothing after it ends.

    Parameters
    ----------
    port : int, default 0
        0 for any that is free.

    Raises
    ------
    InputError
        For a port that is taken or not allowed.
    MissingExtraError
        Without the packages of the extra "explore".
    """

    daemon_threads = True
    allow_reuse_address = os.name != "nt"

    def __init__(self, port: int = 0) -> None:
        needs("explore", "partwhole explore")
        self.folder = TemporaryDirectory(prefix="partwhole-explorer-")
        self.compiling = Thread(target=_compile, daemon=True)
        try:
            super().__init__((ADDRESS, port), _Handler)
        except (OSError, OverflowError) as error:
            raise InputError(
                f"the explorer's port is free, from 1 to 65535; got {port}; name another, or leave "
                "it out"
            ) from error
        self.panels = {panel.name: panel for panel in PANELS}
        self.page = explorer(PANELS, {name: title_of(name) for name in CHAPTERS})
        self.tables: dict[str, Table] = {}
        self.reports: dict[str, AuditReport] = {}
        self.numbers = count()
        self.compiling.start()

    @property
    def address(self) -> str:
        """Return the page's address."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def server_close(self) -> None:
        """Stop, and delete the tables."""
        super().server_close()
        self.folder.cleanup()
        if self.compiling.is_alive():  # Python that ends while JAX compiles is aborted
            self.compiling.join()

    def columns(self, file: dict[str, str] | None) -> dict[str, Any]:
        """Keep a table, and return its columns with a guess of their roles.

        Parameters
        ----------
        file : dict with "name" and "data", or None
            Data are in base64; None for the table that comes with the explorer.
        """
        if file is None:
            key, (names, guess) = None, columns(Path(EXAMPLE))
        else:
            # The name is shown; on disk only its ending is used.
            name = re.sub(r"[^\w .()-]", "_", file["name"])[-80:]
            ending = re.search(r"(\.\w{1,8}){1,2}$", name)
            key = str(next(self.numbers))
            place = Path(self.folder.name, f"{key}{ending[0] if ending else ''}")
            place.write_bytes(base64.b64decode(file["data"], validate=True))
            table = Table(name, place)
            try:
                names, guess = columns(place)
            except InputError as error:
                place.unlink()
                return _refusal(table.named(str(error)))
            _keep(self.tables, key, table)
        return {"columns": names, "guess": guess, "file": key}

    def answer(
        self, panel: str, values: dict[str, Any], narrow: bool, file: str | None
    ) -> dict[str, Any]:
        """Return what a panel shows.

        Parameters
        ----------
        panel : str
            Its name.
        values : dict of str to object
            Of all controls, by their names.
        narrow : bool
            Whether the page is narrow.
        file : str or None
            The number of a table, as `columns` returned it.
        """
        asked = self.panels[panel]
        try:
            chosen = asked.read(values)
            table = None if file is None else self._table(file)
        except InputError as error:
            return _refusal(str(error))
        if asked.compiles:
            self.compiling.join()
        if table is None:
            answer = asked.answer(chosen, narrow=narrow)
        else:
            answer = asked.answer({"path": table.place.as_posix(), **chosen}, narrow=narrow)
            answer = replace(answer, says=table.named(answer.says), code=table.named(answer.code))
        page = None
        if answer.report is not None:
            page = f"report-{next(self.numbers)}.html"
            _keep(self.reports, page, answer.report)
        return {"says": answer.says, "picture": answer.picture, "code": answer.code, "page": page}

    def _table(self, key: str) -> Table:
        rule = f"the explorer keeps the last {MOST_KEPT} tables"
        require(key in self.tables, rule, "an older one", "choose the file again")
        return self.tables[key]


def _keep(kept: dict[str, Any], key: str, value: Any) -> None:
    kept[key] = value
    while len(kept) > MOST_KEPT:
        del kept[next(iter(kept))]


def _refusal(sentence: str) -> dict[str, Any]:
    return {"says": sentence, "picture": "", "code": None, "page": None}


def _compile() -> None:
    """Compile the flow, which takes seconds the first time."""
    import gc

    import numpy as np

    from partwhole.flows import forecast
    from partwhole.tasks import StructuredIdentity

    forecast(StructuredIdentity([3.0, 1.0], [0.05, 0.05]), 0.01 * np.eye(2))
    # What modules hold is not looked through again at each collection, which took 80 ms.
    gc.freeze()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def explorer(self) -> Explorer:
        assert isinstance(self.server, Explorer)
        return self.server

    def do_GET(self) -> None:
        page = urlsplit(self.path).path.removeprefix("/")
        name = page.removesuffix(".html")
        if not self._is_local():
            self._send(403, "text/plain", "This explorer answers on its own machine only.")
        elif page == "":
            self._send(200, "text/html", self.explorer.page)
        elif name in CHAPTERS:
            self._send(200, "text/html", chapter(name, CHAPTERS))
        elif page in self.explorer.reports:
            self._send(200, "text/html", self.explorer.reports[page].to_html())
        else:
            self._send(404, "text/plain", "There is no such page; the explorer is at /.")

    def do_POST(self) -> None:
        answers = {"/answer": self.explorer.answer, "/columns": self.explorer.columns}
        size = int(self.headers.get("Content-Length") or 0)
        is_known = self.path in answers and size <= LARGEST
        if not (is_known and self._is_local() and self._is_of_page()):
            self.close_connection = True
            self._send(403, "text/plain", "This explorer answers its own page only.")
            return
        try:
            question = json.loads(self.rfile.read(size))
            answer: Any = answers[self.path](**question)
        except Exception as error:
            answer = _refusal(own_failure(error))
        self._send(200, "application/json", json.dumps(answer))

    def _is_local(self) -> bool:
        """Return whether the page was asked for by an address of this machine, not by a name."""
        host = urlsplit(f"//{self.headers.get('Host', '')}").hostname
        return host in (ADDRESS, "localhost")

    def _is_of_page(self) -> bool:
        # Pages of other servers may not send this kind without asking first.
        return self.headers.get_content_type() == "application/json"

    def _send(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the page says what there is to say."""
