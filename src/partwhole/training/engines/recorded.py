"""The result of an engine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from partwhole.networks import MLP


class Recorded(NamedTuple):
    """Recorded outputs at the probes and training losses, and the final networks."""

    outputs: Float[np.ndarray, "runs T k d"]
    training_loss: Float[np.ndarray, "runs T"]
    final: MLP
