"""Compare audits of tables as large as the published benchmarks' with one sparse ridge.

The named baseline, run beside each audit in the same process, is one sparse Ridge of scikit-learn
on the one-hot conjunctions of the required order, with an output for each label. Both are given as
seconds of processor time. Tables are made here with the sizes of MIT-States and C-GQA: pairs of an
attribute and an object, with the frequencies of words, a tenth of the pairs held out. The grid of
dSprites is the published one, with the squares on its right side held out.

With the path of a folder as its argument it also audits mit_images.csv.gz, cgqa_images.csv.gz and
scan_simple.csv.gz in it, if they are there.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd

REPEATS = 3
PAIRS = ("attr", "obj")
SCAN = ("verb1", "manner1", "dir1", "rep1", "conj", "verb2", "manner2", "dir2", "rep2")
SPRITES = {"shape": 3, "scale": 6, "orientation": 40, "x": 32, "y": 32}
# Files in a folder of the user, with their components, target and required order.
PUBLISHED = {
    "mit_images.csv.gz": (PAIRS, "attr_label", 1),
    "cgqa_images.csv.gz": (PAIRS, "attr_label", 1),
    "scan_simple.csv.gz": (SCAN, "length", 2),
}
GOAL = 5.0


def attribute_object(rows: int, attributes: int, objects: int) -> pd.DataFrame:
    """Return rows of attribute-object pairs with the frequencies of words."""
    rng = np.random.default_rng(0)
    sides = []
    for n in (attributes, objects):
        frequency = 1.0 / np.arange(1, n + 1)
        sides.append(rng.choice(n, rows, p=frequency / frequency.sum()))
    pair = sides[0] * objects + sides[1]
    pairs = np.unique(pair)
    is_test = np.isin(pair, rng.permutation(pairs)[: len(pairs) // 10])
    frame = pd.DataFrame({"attr": [f"a{i}" for i in sides[0]], "obj": [f"o{i}" for i in sides[1]]})
    return frame.assign(label=frame["attr"], split=np.where(is_test, "test", "train"))


def dsprites() -> pd.DataFrame:
    """Return the 737,280 combinations of dSprites, without squares on the right in training."""
    places = np.indices(tuple(SPRITES.values())).reshape(len(SPRITES), -1)
    frame = pd.DataFrame(dict(zip(SPRITES, places, strict=True)))
    is_test = (frame["shape"] == 0) & (frame["x"] > 15)
    return frame.assign(position=frame["x"] / 31.0, split=np.where(is_test, "test", "train"))


def ridge_of(frame: pd.DataFrame, components: tuple[str, ...], target: str, order: int) -> Callable:
    """Return the fit of a sparse ridge on the conjunctions of an order, as a function."""
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import OneHotEncoder

    train = frame[frame["split"] == "train"]
    codes = {name: pd.factorize(train[name])[0] for name in components}
    wide = [
        np.unique(np.stack([codes[name] for name in names], axis=1), axis=0, return_inverse=True)[1]
        for names in combinations(components, order)
    ]
    x = OneHotEncoder().fit_transform(np.stack(wide, axis=1))
    y = np.array(train[target])
    if y.dtype.kind not in "iuf":
        y = 2.0 * (y[:, None] == np.unique(y)[None, :]) - 1.0
    return lambda: Ridge(alpha=1.0).fit(x, y)


def processor(work: Callable[[], object], who: int = resource.RUSAGE_SELF) -> float:
    """Return the median processor time of a function."""
    times = []
    for _ in range(REPEATS):
        before = resource.getrusage(who)
        work()
        after = resource.getrusage(who)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(times)


def compare(title: str, table: pd.DataFrame | Path, roles: tuple) -> None:
    """Print the time of an audit, that of one ridge, and their ratio."""
    from partwhole.audit import audit_split

    components, target, order = roles
    audited = processor(
        lambda: audit_split(table, components, target, "split", require_order=order)
    )
    frame = pd.read_csv(table) if isinstance(table, Path) else table
    plain = processor(ridge_of(frame, components, target, order))
    print(
        f"{title}: audit {audited:.2f} s, one sparse ridge {plain:.2f} s (medians of {REPEATS}): "
        f"{audited / plain:.1f} times (goal {GOAL:g})"
    )


def main() -> None:
    """Print the ratios, the start of the command, and the largest grid."""
    compare("sizes of MIT-States", attribute_object(53_753, 115, 245), (PAIRS, "label", 1))
    compare("sizes of C-GQA", attribute_object(39_298, 413, 674), (PAIRS, "label", 1))
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    for name, roles in PUBLISHED.items():
        if folder is not None and (folder / name).exists():
            compare(name, folder / name, roles)
    script = Path(sys.executable).with_name("partwhole")
    children = resource.RUSAGE_CHILDREN
    start = processor(
        lambda: subprocess.run([script, "audit", "--rules"], stdout=subprocess.DEVNULL), children
    )
    bare = [sys.executable, "-c", "import numpy, scipy.sparse"]
    plain = processor(lambda: subprocess.run(bare), children)
    print(
        f"start of the command: {start:.2f} s, of numpy and scipy.sparse alone {plain:.2f} s "
        f"(medians of {REPEATS}): {start / plain:.1f} times (goal .5 s)"
    )
    compare("dSprites, 737,280 rows", dsprites(), (tuple(SPRITES), "position", 1))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 2**20 if sys.platform == "darwin" else 2**10
    print(f"peak memory of this process: {peak / unit:.0f} MB")


if __name__ == "__main__":
    main()
