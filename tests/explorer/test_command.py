"""The command that opens the explorer."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import urllib.request
import webbrowser
from threading import Thread

from partwhole.cli.explore import explore
from partwhole.explorer.server import Explorer

# Tests in the background, as on a build server, ignore interrupts, and so would what they start.
CODE = """
import signal
from partwhole.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main(["explore", "--no-browser"])
"""
COMMAND = [sys.executable, "-c", CODE]


def test_the_command_says_where_the_page_is_and_ends_when_terminated():
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = line.split()[4]
        assert line == f"The explorer is at {address} until you press Ctrl-C.\n"
        with urllib.request.urlopen(address) as reply:
            assert b"What will it do, and why?" in reply.read()
        process.terminate()
        assert process.stdout.read() == "Closing.\n"
        assert process.wait(timeout=60) == 0


def test_an_answer_is_waited_for_and_tables_are_deleted():
    """Python that ends while a thread computes is aborted."""
    question = {"panel": "gates", "values": {"n_units": 30, "gap": 0.02, "seed": 0}}
    body = json.dumps(question | {"narrow": False, "file": None}).encode()
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline().decode()
        address = line.split()[4]
        assert line == f"The explorer is at {address} until you press Ctrl-C.\n"
        kind = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{address}answer", body, kind)
        replies: list[bytes] = []
        thread = Thread(target=lambda: replies.append(urllib.request.urlopen(request).read()))
        thread.start()
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert (process.stdout.read(), process.stderr.read()) == (b"Closing.\n", b"")
        assert process.wait(timeout=60) == 0
        thread.join()
    assert json.loads(replies[0])["picture"]


def test_the_command_opens_the_browser_unless_told_not_to(monkeypatch):
    opened: list[str] = []

    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(Explorer, "serve_forever", interrupted)
    before = signal.getsignal(signal.SIGTERM)
    explore(browser=False)
    assert opened == []
    assert signal.getsignal(signal.SIGTERM) == before
    explore()
    (address,) = opened
    assert address.startswith("http://127.0.0.1:")
