"""Time the panels of the explorer as its page asks for them, beside their code run by hand.

A question moves one slider by a step, and its answer comes over HTTP with the picture. The baseline
is the code of the same panel, as readers copy it, in this process, with its figure saved as SVG.
JAX has compiled the flow before, which takes the first seconds. Asked for: less than 100 ms for
every panel, on two quiet cores.

    python benchmarks/bench_explorer.py
"""

from __future__ import annotations

import http.client
import io
import json
import time
from contextlib import redirect_stdout
from threading import Thread

import matplotlib as mpl
import numpy as np

from partwhole.explorer.controls import Slider
from partwhole.explorer.panel import Panel
from partwhole.explorer.panels import PANELS
from partwhole.explorer.server import Explorer

REPEATS = 20


def questions(panel: Panel) -> list[dict]:
    """Return values that move the first slider forth and back by a step."""
    start = {name: panel.starts[name] for name in panel.controls}
    name, control = next(iter(panel.controls.items()))
    if not isinstance(control, Slider):
        return [start] * REPEATS
    place = control.values.index(start[name])
    step = control.values[place - 1 if place else 1]
    return [start | {name: value} for value in [step, start[name]] * (REPEATS // 2)]


def answered(connection: http.client.HTTPConnection, panel: Panel, values: dict) -> float:
    """Return the seconds in which the explorer answers."""
    question = {"panel": panel.name, "values": values, "narrow": False, "file": None}
    start = time.perf_counter()
    kind = {"Content-Type": "application/json"}
    connection.request("POST", "/answer", json.dumps(question), kind)
    answer = json.loads(connection.getresponse().read())
    seconds = time.perf_counter() - start
    assert answer["picture"], answer["says"]
    return seconds


def by_hand(panel: Panel, values: dict) -> float:
    """Return the seconds of the code that readers copy."""
    import matplotlib.pyplot as plt

    start = time.perf_counter()
    scope: dict = {}
    with redirect_stdout(io.StringIO()):
        exec(panel.code(values), scope)
    scope["figure"].savefig(io.BytesIO(), format="svg")
    plt.close("all")
    return time.perf_counter() - start


def main() -> None:
    """Print a line for each panel."""
    mpl.use("agg")
    with Explorer() as explorer:
        thread = Thread(target=explorer.serve_forever, daemon=True)
        thread.start()
        connection = http.client.HTTPConnection("127.0.0.1", explorer.server_port)
        explorer.compiling.join()
        for panel in PANELS:
            asked = questions(panel)
            first = answered(connection, panel, asked[0])
            by_hand(panel, asked[0])
            times = [answered(connection, panel, values) for values in asked]
            baseline = [by_hand(panel, values) for values in asked]
            ms, hand = 1e3 * np.median(times), 1e3 * np.median(baseline)
            print(
                f"{panel.name:9} {ms:4.0f} ms (largest {1e3 * max(times):.0f}, first "
                f"{1e3 * first:.0f}), {ms / 100:.2f} of 100 ms; by hand {hand:.0f} ms, "
                f"{hand / ms:.1f} times as long"
            )
        connection.close()
        explorer.shutdown()
        thread.join()


if __name__ == "__main__":
    main()
