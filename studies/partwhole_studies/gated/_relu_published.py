"""Published numbers of ReLU networks on MNIST and of the limits beside them, as data."""

from __future__ import annotations

from partwhole_studies.gated._relu_runs import HIDDEN, LEARNED, NETWORK, RANDOM

SIZES = (500, 1000, 2000)
WIDTHS = (10, 20, 50, 100)

# Agreement beyond chance with the network, by momentum: means over the programs solved.
AGREEMENT = {
    0.9: {HIDDEN: 0.960, LEARNED: 0.680, RANDOM: 0.444},
    0.0: {HIDDEN: 0.897, LEARNED: 0.646, RANDOM: 0.457},
}
# Mean error above that of the network.
ABOVE = {
    0.9: {HIDDEN: 0.0006, LEARNED: 0.0091, RANDOM: 0.0205},
    0.0: {HIDDEN: 0.0015, LEARNED: 0.0118, RANDOM: 0.0316},
}
# Least error over widths and both momenta, mean of three seeds, by training size; the hidden
# layer's once with widths of 500 and 1,000 (as published), once with those of the others.
LEAST = {
    NETWORK: (0.1112, 0.0752, 0.0550),
    HIDDEN: (0.1111, 0.0755, 0.0556),
    LEARNED: (0.1269, 0.0883, 0.0662),
    RANDOM: (0.1428, 0.1014, 0.0813),
}
LEAST_WIDER = (0.1026, 0.0715, 0.0528)
LINEAR = (0.2622, 0.2450, 0.2255)
# Error of the network by momentum and training size, for each width; mean of three seeds.
ERRORS = {
    (0.9, 500): (0.1634, 0.1339, 0.1208, 0.1135),
    (0.9, 1000): (0.1323, 0.0958, 0.0852, 0.0759),
    (0.9, 2000): (0.1057, 0.0833, 0.0632, 0.0550),
    (0.0, 500): (0.1473, 0.1224, 0.1129, 0.1114),
    (0.0, 1000): (0.1028, 0.0889, 0.0791, 0.0770),
    (0.0, 2000): (0.0799, 0.0709, 0.0630, 0.0602),
}


def recovered(kind: str) -> tuple[float, ...]:
    """Return the share of the improvement over the linear machine that a limit recovers."""
    return tuple(
        (line - limit) / (line - network)
        for line, limit, network in zip(LINEAR, LEAST[kind], LEAST[NETWORK], strict=True)
    )
