"""Write the tables of docs/new-results.md from the stored results of three studies."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import numpy as np
import xarray as xr

from partwhole.limits.random_splits import critical_rows, determined_share, dimensions
from partwhole.study import Estimate, geometric_mean
from partwhole.study.evidence import stored
from partwhole_studies.gated import frozen_gates
from partwhole_studies.overlap import random_splits
from partwhole_studies.reuse import deep_finetuning, deep_penalty

AGAIN = 1000  # samples of tables for an interval
PAGE = Path(__file__).with_name("new-results.md")


def finetuning() -> str:
    """Return what depth does to the nested regime, and to the growth of samples."""
    data = _data(deep_finetuning)
    factors = sorted(data.rescale.values.tolist(), reverse=True)
    rows = []
    for depth in deep_finetuning.DEPTHS:
        powers = [deep_finetuning.exponent(data, depth, c) for c in factors]
        rows.append([str(depth), f"{deep_penalty.nested(depth):.2f}", *map(_cell, powers)])
    heads = ["layers", "nested regime, decades", *(f"power, factor {c:g}" for c in factors)]
    return _table(heads, rows)


def splits() -> str:
    """Return where others begin to follow from random combinations, and how sharply."""
    data, rows = _data(random_splits), []
    for learner in random_splits.LEARNERS:
        of, values, order = random_splits.largest(data, learner)
        crossing, size = of.crossing.dropna("seed").values, dimensions(values, order)
        # Rows with which 95 of 100 tables are beyond the jump, in parts of the critical ones.
        safe = np.quantile(crossing, 0.95) / crossing.mean()
        rows.append(
            [
                learner,
                f"{values[0]}",
                f"{crossing.mean():.3f} ± {1.96 * crossing.std(ddof=1) / len(crossing) ** 0.5:.3f}",
                f"{critical_rows(values, order) / size:.3f}",
                _cell(scatter(data, learner)),
                f"{safe - 1.0:.1%}",
            ]
        )
    heads = ["learner", "values", "measured", "theory", "power of the scatter", "more rows"]
    return _table(heads, rows)


def scatter(data: xr.Dataset, learner: str) -> Estimate:
    """Estimate the power of the dimension with which the crossing varies between tables.

    The interval has the middle 95 % of estimates from tables drawn again with replacement.
    """
    crossing = data.crossing.sel(learner=learner).dropna("values", how="all")
    crossing = crossing.transpose("values", "seed").values
    sizes = data["values"][data.crossing.sel(learner=learner).notnull().any("seed").values]
    n_components, order = random_splits.LEARNERS[learner]
    logs = np.log([dimensions((int(n),) * n_components, order) for n in sizes])

    def power(tables: np.ndarray) -> float:
        return float(np.polyfit(logs, np.log(tables.std(axis=1, ddof=1)), 1)[0])

    rng, n = np.random.default_rng(0), crossing.shape[1]
    drawn = [power(row) for row in (crossing[:, rng.integers(0, n, n)] for _ in range(AGAIN))]
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Estimate(power(crossing), float(low), float(high), n)


def small_tables() -> str:
    """Return what small training sets determine, in 50 tables, beside theory."""
    values, order, whole = (12, 12, 12), 2, 12**3
    shares, measured = (0.2, 0.3, 0.4), []
    for seed in range(50):
        index = random_splits.conjunctions(12, 3, order, whole, seed)
        drawn = np.random.default_rng(seed).normal(size=(3 * 12**order, random_splits.FUNCTIONS))
        rows = [round(share * whole) for share in shares]
        measured.append([random_splits.measured(index, n, drawn)[0] for n in rows])
    theory = [determined_share(round(share * whole), values, order) for share in shares]
    table = [
        [f"{share:g}", f"{share_of:.3f} ± {1.96 * error:.3f}", f"{expected:.3f}"]
        for share, share_of, error, expected in zip(
            shares, np.mean(measured, 0), np.std(measured, 0, ddof=1) / 50**0.5, theory, strict=True
        )
    ]
    return _table(["share in training", "determined", "theory"], table)


def gates() -> str:
    """Return when gates are fixed, by setting."""
    data, base = _data(frozen_gates), frozen_gates.WIDTHS[0]
    rows = []
    for setting in data.setting.values.tolist():
        of = data.sel(setting=setting)
        steps = [geometric_mean(of[name].dropna("seed")) for name in ("separated", "fixed")]
        agreement = float(of.frozen.sel(ratio=1.0).mean())
        factor = "1" if setting == base else _cell(frozen_gates.change(data, setting), ".2f")
        rows.append([setting, *(f"{s.value:.0f}" for s in steps), factor, f"{agreement:.2f}"])
    heads = ["setting", "step of separation", "gates fixed", "factor", "agreement at separation"]
    width, numbers = _cell(frozen_gates.power_of_width(data)), frozen_gates.numbers(data)
    limits = ", ".join(
        f"{numbers[key]:.2f} {of}"
        for key, of in (("initial", "initially"), ("known", "at separation"), ("final", "finally"))
    )
    return _table(heads, rows) + (
        f"\nPower of the number of units, 10 to 100: {width}. Agreement of the final network with "
        f"the\ncertified limit of the gates, digits: {limits}.\n"
    )


def costs() -> str:
    """Return what the stored results stand on."""
    rows = []
    for study in (deep_finetuning, random_splits, frozen_gates):
        data = _data(study)
        hours = 2.0 * float(data.attrs["seconds"]) / 3600.0
        name = study.__name__.split(".", 1)[1]
        rows.append([f"`{name}`", str(data.attrs["preset"]), f"{hours:.1f}", data.attrs["seeds"]])
    return _table(["study", "preset", "processor hours", "seeds"], rows)


TABLES = {"finetuning": finetuning, "splits": splits, "gates": gates, "costs": costs}
COMPUTED = {"small tables": small_tables}  # anew, in a minute


def _data(study: ModuleType) -> xr.Dataset:
    result = stored(study)
    assert result is not None
    return result.data


def _cell(estimate: Estimate, digits: str = ".2f") -> str:
    ends = f"{estimate.low:{digits}}, {estimate.high:{digits}}".replace("-", "−")
    return f"{estimate.value:{digits}} [{ends}]".replace("-", "−")


def _table(heads: Iterable[str], rows: Iterable[list[str]]) -> str:
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Write the tables into the page."""
    page = PAGE.read_text("utf-8")
    for name, table in (TABLES | COMPUTED).items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        inner = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        text = begin + table() + end
        page = inner.sub(lambda _, text=text: text, page)
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
