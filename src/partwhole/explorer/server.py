"""The explorer's server, on this machine alone."""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from secrets import token_urlsafe
from tempfile import TemporaryDirectory
from threading import Condition, Thread
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
from partwhole.page import visible

if TYPE_CHECKING:
    from partwhole.audit import AuditReport

ADDRESS = "127.0.0.1"
LARGEST = 64 << 20  # bytes of a question: in base64 a table of 40 MiB, the most of the script
MOST_KEPT = 8  # tables, and reports
CHAPTERS = tuple(dict.fromkeys(panel.chapter for panel in PANELS))


class Table(NamedTuple):
    """A table of the reader's: its name, and where it lies until the explorer ends."""

    name: str
    place: Path

    def named(self, text: str) -> str:
        """Return a text with the table's name where it has its place."""
        return text.replace(str(self.place), self.name)


class Explorer(ThreadingHTTPServer):
    """A server of the explorer, which answers from this machine and stores nothing after it ends.

    Parameters
    ----------
    port : int, default 0
        0 for any that is free.

    Attributes
    ----------
    address : str
        Of the page. A random word in it keeps others on a shared machine out.

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
        self.idle, self.n_busy = Condition(), 0  # answers that are computed now
        try:
            super().__init__((ADDRESS, port), _Handler)
        except (OSError, OverflowError) as error:
            raise InputError(
                f"the explorer's port is free, from 1 to 65535; got {port}; name another, or leave "
                "it out"
            ) from error
        self.address = f"http://{ADDRESS}:{self.server_port}/{token_urlsafe(12)}/"
        self.panels = {panel.name: panel for panel in PANELS}
        self.page = explorer(PANELS, {name: title_of(name) for name in CHAPTERS})
        self.tables: dict[str, Table] = {}
        self.reports: dict[str, AuditReport] = {}
        self.numbers = count()
        self.compiling.start()

    def server_close(self) -> None:
        """Stop, delete the tables, and then wait for what is computed."""
        super().server_close()
        self.folder.cleanup()
        # Python that ends while other threads compute or compile is aborted.
        if self.compiling.is_alive():
            self.compiling.join()
        with self.idle:
            self.idle.wait_for(lambda: self.n_busy == 0)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing of pages that were closed while they were answered."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

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
            name = visible(file["name"])
            key = str(next(self.numbers))
            folder = Path(self.folder.name, key)
            folder.mkdir()
            place = folder / re.sub(r"[^\w .()'-]", "_", name)[-80:].lstrip(".")
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
            answer = asked.answer({"path": str(table.place), **chosen}, narrow=narrow)
            code = asked.code({"path": table.name, **chosen})
            answer = replace(answer, says=table.named(answer.says), code=code)
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
    return {"says": sentence, "picture": "", "code": "", "page": None}


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
        page = self._asked()
        name = (page or "").removesuffix(".html")
        if page is None:
            self._send(403, "text/plain", "This explorer answers at the address that it printed.")
        elif page == "":
            self._send(200, "text/html", self.explorer.page)
        elif name in CHAPTERS:
            self._send(200, "text/html", chapter(name, CHAPTERS))
        elif page in self.explorer.reports:
            self._send(200, "text/html", self.explorer.reports[page].to_html())
        else:
            self._send(404, "text/plain", "The explorer has no such page.")

    def do_POST(self) -> None:
        answers = {"answer": self.explorer.answer, "columns": self.explorer.columns}
        asked, size = self._asked(), self.headers.get("Content-Length", "")
        # Pages of other servers may not send this kind without asking first.
        is_of_page = self.headers.get_content_type() == "application/json"
        if asked not in answers or not is_of_page or not (size.isdigit() and int(size) <= LARGEST):
            self.close_connection = True
            self._send(403, "text/plain", "This explorer answers its own page only.")
            return
        question = self.rfile.read(int(size))
        explorer = self.explorer
        with explorer.idle:
            explorer.n_busy += 1
        try:
            answer: Any = answers[asked](**json.loads(question))
        except Exception as error:
            answer = _refusal(own_failure(error))
        finally:
            with explorer.idle:
                explorer.n_busy -= 1
                explorer.idle.notify_all()
        self._send(200, "application/json", json.dumps(answer))

    def _asked(self) -> str | None:
        """Return the page that is asked for; None for what others than the reader ask."""
        try:
            host = urlsplit(f"//{self.headers.get('Host', '')}").hostname
        except ValueError:
            return None
        before = urlsplit(self.explorer.address).path
        is_local = host in (ADDRESS, "localhost")
        return self.path.removeprefix(before) if is_local and self.path.startswith(before) else None

    def _send(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Frame-Options", "DENY")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the page says what there is to say."""
