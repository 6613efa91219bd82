"""The command that opens the explorer."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request
import webbrowser

from partwhole.cli.explore import explore
from partwhole.explorer.server import Explorer


def test_the_command_says_where_the_page_is_and_ends_when_interrupted():
    command = [sys.executable, "-m", "partwhole", "explore", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = line.split()[4]
        assert line == f"The explorer is at {address} until you press Ctrl-C.\n"
        with urllib.request.urlopen(address) as reply:
            assert b"What will it do, and why?" in reply.read()
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "Closed.\n"
        assert process.wait(timeout=30) == 0


def test_the_command_opens_the_browser_unless_told_not_to(monkeypatch):
    opened: list[str] = []

    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(Explorer, "serve_forever", interrupted)
    explore(browser=False)
    assert opened == []
    explore()
    (address,) = opened
    assert address.startswith("http://127.0.0.1:")
