"""What an engine hands back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from partwhole.networks import MLP


class Recorded(NamedTuple):
    """Hold outputs at the probes and the training loss, record by record, and where it ended."""

    outputs: Float[np.ndarray, "runs T k d"]
    training_loss: Float[np.ndarray, "runs T"]
    final: MLP
