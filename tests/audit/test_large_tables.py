"""Small files that once took minutes and gibibytes: each in a process with a limit of both."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

SECONDS = 60  # of a processor, most of what a machine that is three times slower would take
MEMORY = 2.5 * 2**30  # 16 million held-out rows times labels, over some 20 representations

TABLES = {
    "20 binary components": ("2, (120, 20)", "1.0 * (x.sum(1) % 3)", {"order": 1}),
    "1,000 labels": ("40, (16_000, 3)", "[f'label {i}' for i in rng.integers(0, 1000, n)]", {}),
    "20 columns of values that are all different": (
        "10**9, (7_000, 20)", "rng.normal(size=n)", {},
    ),
    "30 components at order 3": ("3, (400, 30)", "rng.normal(size=n)", {"order": 3}),
    "a million values": ("500_000, (1_000_000, 2)", "rng.normal(size=n)", {"order": 1}),
}  # fmt: skip

PROGRAM = """
import resource, numpy as np, pandas as pd, partwhole as pw
rng = np.random.default_rng(0)
x = rng.integers(0, {values})
n = len(x)
frame = pd.DataFrame(x, columns=[f"c{{i}}" for i in range(x.shape[1])])
parts = list(frame)
frame["y"] = {target}
frame["split"] = {split}
report = pw.audit_split(frame, parts, "y", "split", **{options})
report.to_json()
used = resource.getrusage(resource.RUSAGE_SELF)
print(report.verdict, len(report.evidence), used.ru_maxrss * 1024, used.ru_utime + used.ru_stime)
"""
ONE_TEST = "np.where(rng.random(n) < 0.2, 'test', 'train')"
MANY_TESTS = "np.where(rng.random(n) < 0.5, 'train', [f'test {i}' for i in rng.integers(0, 50, n)])"


def audited(**parts: object) -> list[str]:
    """Audit a table in a process of its own; return what it prints."""

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(**parts)],
        capture_output=True, text=True, preexec_fn=bounded,
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])
    return done.stdout.split()


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_took_minutes(name):
    values, target, options = TABLES[name]
    given = {"values": values, "target": target, "options": options}
    verdict, splits, memory, _ = audited(split=ONE_TEST, **given)
    assert verdict in ("supported", "unsupported", "not-decided")
    assert splits == "1"
    assert float(memory) < MEMORY


@pytest.mark.slow
def test_fifty_splits_together():
    parts = {"values": "12, (4_000, 3)", "target": "rng.normal(size=n)", "options": {}}
    assert audited(split=MANY_TESTS, **parts)[1] == "50"
