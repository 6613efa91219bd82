"""Published errors of diagonal networks, as data: by overlap, and by sparsity."""

from __future__ import annotations

import numpy as np

from partwhole.recommendation.methods import FINETUNING, MULTI, PROBING, SINGLE

SCRATCH = "linear probing, not pretrained"
METHODS = (SINGLE, MULTI, FINETUNING, PROBING, SCRATCH)
SIZES = (16, 32, 64, 128, 256, 512)
OVERLAPS = (0, 20, 30, 40)
ACTIVE = (5, 20, 40)
SHARED = ("none", "all")

# Means of six seeds. 40 features are active in both tasks, main entries are 1/sqrt(40):
# for each overlap and method, one for each of the sizes.
BY_OVERLAP = {
    (0, MULTI): (0.9942, 0.9944, 0.9946, 0.9746, 0.1043, 1.134e-5),
    (0, FINETUNING): (0.9971, 0.9956, 0.9952, 0.9814, 0.09646, 5.611e-6),
    (0, PROBING): (0.9971, 0.9956, 0.9952, 0.9953, 0.9405, 0.7043),
    (0, SINGLE): (0.9941, 0.9894, 0.9722, 0.8215, 0.01013, 2.389e-6),
    (0, SCRATCH): (0.9768, 0.9636, 0.9353, 0.8787, 0.7679, 0.6503),
    (20, MULTI): (0.914, 0.8632, 0.7658, 0.4355, 0.000781, 1.534e-6),
    (20, FINETUNING): (0.9688, 0.9637, 0.7985, 0.4129, 0.0002558, 4.374e-7),
    (20, PROBING): (0.9653, 0.9169, 0.7683, 0.6324, 0.4898, 0.3577),
    (20, SINGLE): (1.01, 1.006, 1.008, 0.7744, 0.01472, 1.947e-6),
    (20, SCRATCH): (0.9922, 0.9786, 0.952, 0.8794, 0.7777, 0.6538),
    (30, MULTI): (0.8103, 0.6243, 0.4545, 0.06209, 4.843e-5, 5.086e-7),
    (30, FINETUNING): (0.8772, 0.6654, 0.4531, 0.0285, 7.392e-6, 8.556e-8),
    (30, PROBING): (0.8347, 0.5917, 0.4478, 0.3409, 0.2424, 0.1777),
    (30, SINGLE): (0.9903, 0.9895, 0.9627, 0.7586, 0.009888, 1.779e-6),
    (30, SCRATCH): (0.9715, 0.9558, 0.9284, 0.8687, 0.7591, 0.6435),
    (40, MULTI): (0.6566, 0.3122, 0.001351, 9.197e-6, 7.105e-7, 1.183e-7),
    (40, FINETUNING): (0.6558, 0.3081, 2.825e-5, 1.902e-7, 1.523e-8, 2.402e-9),
    (40, PROBING): (0.6308, 0.2346, 1.208e-6, 6.408e-8, 8.774e-9, 1.948e-9),
    (40, SINGLE): (0.9927, 0.9878, 0.9569, 0.7246, 0.01114, 1.817e-6),
    (40, SCRATCH): (0.9761, 0.9615, 0.9281, 0.8669, 0.7677, 0.6497),
}

# The same for main tasks of fewer features, with entries of one over their number; "all" of
# them are active in the auxiliary task too, or "none".
BY_SPARSITY = {
    ("none", MULTI, 5): (0.2004, 0.1958, 0.08239, 8.011e-5, 1.191e-6, 9.232e-8),
    ("none", MULTI, 20): (0.04982, 0.04983, 0.04983, 0.03619, 0.0001728, 1.547e-6),
    ("none", MULTI, 40): (0.02485, 0.02486, 0.02486, 0.02432, 0.004047, 9.003e-6),
    ("none", FINETUNING, 5): (0.2008, 0.2007, 0.2007, 0.0001927, 1.235e-6, 8.153e-8),
    ("none", FINETUNING, 20): (0.04998, 0.0499, 0.04987, 0.04735, 0.0001791, 8.053e-7),
    ("none", FINETUNING, 40): (0.02494, 0.0249, 0.02489, 0.02479, 0.004583, 3.633e-6),
    ("none", PROBING, 5): (0.2008, 0.2007, 0.2007, 0.2006, 0.2007, 0.1983),
    ("none", PROBING, 20): (0.04998, 0.0499, 0.04987, 0.04985, 0.04986, 0.04916),
    ("none", PROBING, 40): (0.02494, 0.0249, 0.02489, 0.02489, 0.02486, 0.02421),
    ("none", SINGLE, 5): (0.1926, 0.1467, 0.01309, 1.426e-5, 4.118e-7, 4.548e-8),
    ("none", SINGLE, 20): (0.04936, 0.04888, 0.04313, 0.01461, 2.162e-5, 4.424e-7),
    ("none", SINGLE, 40): (0.02472, 0.02462, 0.02411, 0.02035, 0.000716, 1.879e-6),
    ("all", MULTI, 5): (0.1112, 0.01805, 0.0001985, 6.34e-6, 4.282e-7, 6.748e-8),
    ("all", MULTI, 20): (0.03157, 0.01184, 0.0004848, 8.63e-6, 1.101e-6, 2.617e-7),
    ("all", MULTI, 40): (0.01625, 0.008041, 0.0002516, 4.904e-6, 6.354e-7, 2.075e-7),
    ("all", FINETUNING, 5): (0.1235, 0.02442, 6.865e-7, 2.076e-8, 3.39e-9, 1.523e-9),
    ("all", FINETUNING, 20): (0.03018, 0.008118, 2.198e-7, 9.616e-9, 2.253e-9, 1.233e-9),
    ("all", FINETUNING, 40): (0.01538, 0.00584, 9.143e-8, 5.826e-9, 1.756e-9, 1.113e-9),
    ("all", PROBING, 5): (0.1285, 0.03533, 3.279e-7, 1.642e-8, 3.162e-9, 1.529e-9),
    ("all", PROBING, 20): (0.03008, 0.007938, 7.288e-8, 4.909e-9, 1.653e-9, 1.147e-9),
    ("all", PROBING, 40): (0.01535, 0.005709, 3.295e-8, 3.283e-9, 1.435e-9, 1.088e-9),
    ("all", SINGLE, 5): (0.1792, 0.136, 0.002645, 1.377e-5, 3.113e-7, 4.2e-8),
    ("all", SINGLE, 20): (0.0493, 0.04971, 0.04389, 0.01254, 1.946e-5, 3.985e-7),
    ("all", SINGLE, 40): (0.02467, 0.0246, 0.02356, 0.01807, 0.0007671, 1.715e-6),
}

# Mean of log10(finetuning / multi-task) over the seeds, by overlap.
FINETUNING_OVER_MULTI = {
    20: (0.025, 0.048, 0.018, -0.024, -0.50, -0.54),
    30: (0.035, 0.029, -0.003, -0.34, -0.79, -0.76),
    40: (0.0, -0.006, -1.73, -1.70, -1.67, -1.69),
}


def by_overlap(methods: tuple[str, ...] = METHODS) -> np.ndarray:
    """Return the published errors, shape (overlaps, methods, sizes)."""
    return np.array([[BY_OVERLAP[o, m] for m in methods] for o in OVERLAPS])


def by_sparsity(methods: tuple[str, ...]) -> np.ndarray:
    """Return the published errors, shape (active, shared, methods, sizes)."""
    return np.array([[[BY_SPARSITY[s, m, a] for m in methods] for s in SHARED] for a in ACTIVE])
