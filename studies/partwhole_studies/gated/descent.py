"""How the gated networks are trained: as published, and on to the limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from partwhole.networks import GatedNetwork
from partwhole.training import Runs, Training, train

# Lippl, Abbott & Chung (2022).
PUBLISHED = Training(steps=3200, loss="logistic", learning_rate=0.04, late_factor=0.25, batch=128)
FULL_BATCH = Training(steps=100_000, loss="logistic", learning_rate=0.1)
FLOW = Training(steps=60_000, loss="exponential", optimiser="normalised flow")


def trained(
    networks: Sequence[GatedNetwork], inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"], training: Training = PUBLISHED, **changes: Any,
) -> Runs:  # fmt: skip
    """Train networks as published, or otherwise, with some changes."""
    return train(networks, (inputs, labels), replace(training, **changes), progress=False)
