"""How the gated networks are trained: as published, and on to the limit."""

from __future__ import annotations

from partwhole.training import Training

# Lippl, Abbott & Chung (2022).
PUBLISHED = Training(steps=3200, loss="logistic", learning_rate=0.04, late_factor=0.25, batch=128)
FLOW = Training(steps=60_000, loss="exponential", optimiser="normalised flow")
