"""Audit a table in which nothing is wrong.

Prices of bouquets: a flower, a vase and a size, each with its own share of the price. Every value
and every pair of values occurs in training; single combinations are held out.
"""

from __future__ import annotations

from itertools import product

import pandas as pd

import partwhole as pw

FLOWER = {"rose": 9.0, "tulip": 6.0, "iris": 5.0, "peony": 11.0}
VASE = {"glass": 4.0, "clay": 3.0, "tin": 1.5, "none": 0.0}
SIZE = {"small": 0.0, "medium": 4.5, "large": 10.0}
COLUMNS = list(product(FLOWER, VASE, SIZE))


def table() -> pd.DataFrame:
    """Return the table; a combination is held out where the three places add up to 0 mod 4."""
    frame = pd.DataFrame(COLUMNS, columns=["flower", "vase", "size"])
    frame["price"] = [FLOWER[f] + VASE[v] + SIZE[s] for f, v, s in COLUMNS]
    place = [
        list(FLOWER).index(f) + list(VASE).index(v) + list(SIZE).index(s) for f, v, s in COLUMNS
    ]
    frame["split"] = ["test" if total % 4 == 0 else "train" for total in place]
    return frame


def main() -> pw.audit.AuditReport:
    """Audit the table and print what there is to say."""
    report = pw.audit_split(table(), ["flower", "vase", "size"], target="price", split="split")
    print(report.to_text())
    report.raise_if_unsupported()
    return report


if __name__ == "__main__":
    main()
