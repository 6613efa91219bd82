"""Numbers that penalties are compared with, computed by other programs from the formulas."""

from __future__ import annotations

# q(z) = 2 - sqrt(4 + z^2) + z asinh(z/2); the first by its series z^2/4 - z^4/192.
ENTROPY = {
    0.01: 2.49999479e-5,
    0.5: 0.06218042,
    1.0: 0.24514385,
    2.0: 0.93432005,
    10.0: 14.92634439,
    1000.0: 5909.75427898,
}
# Orders at a coefficient of 1, by the auxiliary or pretrained coefficient.
RATIOS = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)
ORDERS = {
    "multitask": (1.001000, 1.010000, 1.099504, 1.707107, 1.995037, 1.999950),
    "finetuning": (1.151320, 1.229801, 1.432339, 1.886663, 1.998342, 1.999983),
}
# Published penalty of finetuning with readouts of 1e-3: (coefficient, pretrained, penalty).
FINETUNING = (
    (1.0, 1e-3, 13.2018074),
    (1.0, 1.0, 0.9343192),
    (1.0, 1e3, 9.99999916e-4),
    (0.1, 1e-3, 0.8614606),
    (0.1, 1.0, 9.991682e-3),
    (0.1, 1e3, 1.0e-5),
)
# Of a ReLU unit of strength 1: (pretrained, cosine, penalty, order).
RELU = (
    (1.0, 1.0, 0.669500, 1.568003),
    (1.0, 0.99, 0.697051, 1.518003),
    (1.0, 0.9, 0.940211, 1.207115),
    (1.0, 0.5, 1.928623, 0.780355),
    (1.0, 0.0, 3.0, 0.666667),
    (100.0, 0.9, 19.012344, 0.001298),
    (0.01, 1.0, 1.807436, 1.051231),
)
# Decades over which the order rises: from 1.1 to 1.9, and from 1.05 to 1.95.
WIDTHS = {
    "multitask": (1.3127, 1.784),
    "finetuning": (4.5139, 9.046),
    "relu": (2.0296, 2.794),
}
# Width and tilt after pretraining to 1/sqrt(40), width without; readouts and weights of 1e-3.
STARTS = (0.158113883, 5.03e-3, 4.0e-6)
# Prices of a coefficient of 0.2 by rescaling: of a pretrained feature, less its tilt, and of one
# that is new.
PRICES = {
    1.0: (0.8291, 6.1030),
    0.1: (3.1132, 8.4056),
    0.01: (5.4158, 10.7082),
    0.001: (7.7184, 13.0108),
}
