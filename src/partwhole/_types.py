"""Names for argument types that many rooms share."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

Real = float | int
Number = Real | Float[np.ndarray, "..."]
