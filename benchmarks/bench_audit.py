"""Time `partwhole audit` as whole commands: sizes, memory, and growth with rows.

Tables are random, 80 % of the combinations in training, and written as CSV before the clock
starts. Every command runs in a fresh process with its page, so that start-up, reading and writing
count. The named baseline, run beside the largest table of labels, is what one would do without an
audit: read the table, encode conjunctions with scikit-learn's OneHotEncoder, fit one sparse
Ridge, and score the test rows.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

REPEATS = 3
GROWTH = (30_000, 100_000, 300_000)


def write(folder: Path, rows: int, components: int, values: int, kind: str) -> Path:
    """Write a table of so many random rows, split by whole combinations."""
    import pandas as pd

    rng = np.random.default_rng(0)
    table = rng.integers(0, values, size=(rows, components))
    # Distinct numbers of the combinations, in whole numbers below 2**63.
    code = np.ravel_multi_index(tuple(table.T), (values,) * components)
    places, inverse = np.unique(code, return_inverse=True)
    is_train = (rng.random(len(places)) < 0.8)[inverse]
    worth = [rng.normal(size=values) for _ in range(components)]
    score = sum(worth[c][table[:, c]] for c in range(components))
    score = score + rng.normal(size=(values, values))[table[:, 0], table[:, 1]]
    frame = pd.DataFrame({f"part{c}": table[:, c] for c in range(components)})
    frame["target"] = np.where(score > 0, "yes", "no") if kind == "labels" else score.round(6)
    frame["split"] = np.where(is_train, "train", "test")
    path = folder / f"{rows}-{components}-{values}-{kind}.csv"
    frame.to_csv(path, index=False)
    return path


def audit(path: Path, components: int) -> tuple[float, float]:
    """Run the command; return its seconds and its peak memory in GiB."""
    command = [Path(sys.executable).with_name("partwhole"), "audit", path, "--components"]
    command += [f"part{c}" for c in range(components)]
    command += ["--target", "target", "--split", "split", "--html", path.with_suffix(".html")]
    return timed(command)


def timed(command: list) -> tuple[float, float]:
    """Return a command's seconds and peak memory in GiB."""
    start = time.perf_counter()
    with open(os.devnull, "w") as nothing:
        process = subprocess.Popen([str(word) for word in command], stdout=nothing, stderr=nothing)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"failed: {' '.join(map(str, command))}")
    unit = 2**30 if sys.platform == "darwin" else 2**20
    return seconds, usage.ru_maxrss / unit


def baseline(path: Path) -> None:
    """Fit one ridge on one-hot conjunctions with scikit-learn, and print its accuracy."""
    from itertools import combinations

    import pandas as pd
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import OneHotEncoder

    frame = pd.read_csv(path)
    parts = [name for name in frame if name.startswith("part")]
    columns = {name: frame[name].astype(str) for name in parts}
    columns |= {f"{a}&{b}": columns[a] + "&" + columns[b] for a, b in combinations(parts, 2)}
    wide = pd.DataFrame(columns)
    train = (frame["split"] == "train").to_numpy()
    encoder = OneHotEncoder(handle_unknown="ignore").fit(wide[train])
    y = np.where(frame["target"] == "yes", 1.0, -1.0)
    model = Ridge(alpha=1.0).fit(encoder.transform(wide[train]), y[train])
    right = np.sign(model.predict(encoder.transform(wide[~train]))) == y[~train]
    print(f"{right.mean():.3f}")


def main() -> None:
    """Print a line for each size, the growth, and the ratio to the baseline."""
    if len(sys.argv) > 1:
        baseline(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases = [
            ("small table", 60, 2, 8, "numbers", 2.0),
            ("5 components of 10 values, numbers", 100_000, 5, 10, "numbers", 8.0),
            ("5 components of 10 values, labels", 100_000, 5, 10, "labels", 15.0),
            ("3 components of 200 values, numbers", 1_000_000, 3, 200, "numbers", 30.0),
        ]
        found = {}
        for title, rows, components, values, kind, goal in cases:
            path = write(folder, rows, components, values, kind)
            runs = [audit(path, components) for _ in range(REPEATS)]
            found[title] = median(seconds for seconds, _ in runs)
            peak = max(memory for _, memory in runs)
            print(
                f"{title}, {rows:,} rows: {found[title]:.2f} s (median of {REPEATS}; goal "
                f"{goal:g} s), peak {peak:.2f} GiB"
            )
        sizes, seconds = [], []
        for rows in GROWTH:
            path = write(folder, rows, 3, 200, "numbers")
            sizes.append(rows)
            seconds.append(median(audit(path, 3)[0] for _ in range(REPEATS)))
            print(f"3 components of 200 values, {rows:,} rows: {seconds[-1]:.2f} s")
        power = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
        print(f"time grows as rows to the power {power:.2f}")
        title = "5 components of 10 values, labels"
        path = write(folder, 100_000, 5, 10, "labels")
        plain = median(timed([sys.executable, __file__, path])[0] for _ in range(REPEATS))
        ratio = found[title] / plain
        print(
            f"one ridge with scikit-learn: {plain:.2f} s; the whole audit takes {ratio:.2f} of it"
        )


if __name__ == "__main__":
    main()
