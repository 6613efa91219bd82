"""Time `partwhole audit` as whole commands: sizes, memory, and growth with rows.

Tables are random, 80 % of the combinations in training, and written as CSV before the clock
starts. Every command runs in a fresh process with its page, so that start-up, reading and writing
count. The named baseline, run beside the largest table of labels, is what one would do without an
audit: read the table, encode conjunctions with scikit-learn's OneHotEncoder, fit one sparse
Ridge, and score the test rows. Of a table of your own, with columns target and split:

    python benchmarks/bench_audit.py TABLE ORDER COMPONENT COMPONENT ...
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


def audit(path: Path, parts: list[str], order: int = 1) -> tuple[float, float]:
    """Run the command; return its seconds and its peak memory in GiB."""
    command = [Path(sys.executable).with_name("partwhole"), "audit", path, "--components", *parts]
    command += ["--target", "target", "--split", "split", "--require-order", order]
    return timed([*command, "--html", Path(tempfile.gettempdir(), "audit.html")])


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


def baseline(path: Path, order: int, parts: list[str]) -> None:
    """Fit one ridge on one-hot conjunctions with scikit-learn; print its seconds and accuracy."""
    from functools import reduce
    from itertools import combinations

    import pandas as pd
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import OneHotEncoder, label_binarize

    frame = pd.read_csv(path)
    names = {name: frame[name].astype(str) for name in parts}
    columns = {
        "&".join(chosen): reduce(lambda a, b: a + "&" + b, [names[part] for part in chosen])
        for k in range(1, order + 1)
        for chosen in combinations(parts, k)
    }
    wide = pd.DataFrame(columns)
    train = (frame["split"] == "train").to_numpy()
    encoder = OneHotEncoder(handle_unknown="ignore").fit(wide[train])
    x, y = encoder.transform(wide), frame["target"].to_numpy()
    if not pd.api.types.is_numeric_dtype(frame["target"]):
        y = label_binarize(y, classes=np.unique(y)).astype(float)
    start = time.perf_counter()
    model = Ridge(alpha=1.0).fit(x[train], y[train])
    print(f"{time.perf_counter() - start:.3f}")
    error = np.mean((model.predict(x[~train]) - y[~train]) ** 2)
    print(f"squared error {error:.3g}", file=sys.stderr)


def compare(path: Path, order: int, parts: list[str]) -> tuple[float, float]:
    """Return the median seconds of audits and of whole ridge fits; print both and their ratios."""
    audits = [audit(path, parts, order) for _ in range(REPEATS)]
    command = [sys.executable, __file__, "ridge", path, order, *parts]
    fits = [timed(command)[0] for _ in range(REPEATS)]
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=True
    )
    whole, plain, fit = median(s for s, _ in audits), median(fits), float(done.stdout)
    print(
        f"{path.name}, order {order}: the whole audit takes {whole:.2f} s, one ridge with "
        f"scikit-learn {plain:.2f} s ({fit:.2f} s of it the fit): ratio {whole / plain:.2f} "
        f"(to the fit alone {whole / fit:.1f})"
    )
    return whole, plain


def main() -> None:
    """Print a line for each size, the growth, and the ratio to the baseline."""
    if sys.argv[1:2] == ["ridge"]:
        baseline(Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
        return
    if len(sys.argv) > 1:
        compare(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases = [
            ("small table", 60, 2, 8, "numbers", 2.0),
            ("5 components of 10 values, numbers", 100_000, 5, 10, "numbers", 8.0),
            ("5 components of 10 values, labels", 100_000, 5, 10, "labels", 15.0),
            ("3 components of 200 values, numbers", 1_000_000, 3, 200, "numbers", 30.0),
        ]
        for title, rows, components, values, kind, goal in cases:
            path = write(folder, rows, components, values, kind)
            runs = [audit(path, parts_of(components)) for _ in range(REPEATS)]
            peak = max(memory for _, memory in runs)
            print(
                f"{title}, {rows:,} rows: {median(s for s, _ in runs):.2f} s (median of {REPEATS}; "
                f"goal {goal:g} s), peak {peak:.2f} GiB"
            )
        sizes, seconds = [], []
        for rows in GROWTH:
            path = write(folder, rows, 3, 200, "numbers")
            sizes.append(rows)
            seconds.append(median(audit(path, parts_of(3))[0] for _ in range(REPEATS)))
            print(f"3 components of 200 values, {rows:,} rows: {seconds[-1]:.2f} s")
        power = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
        print(f"time grows as rows to the power {power:.2f}")
        compare(write(folder, 100_000, 5, 10, "labels"), 2, parts_of(5))


def parts_of(components: int) -> list[str]:
    """Return the names of so many components."""
    return [f"part{c}" for c in range(components)]


if __name__ == "__main__":
    main()
