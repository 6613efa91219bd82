"""What the claims of all studies of composed images share."""

from __future__ import annotations

PAPER = "Lippl & Stachenfeld (ICLR 2025)"
NOT_LEARNED = "a square error above .05 of the variance, or less than 99 % of the labels right"


def title(network: str) -> str:
    """Return a network's name as it stands in a sentence."""
    short = network.removesuffix("-small")
    return {"convnet": "ConvNet", "resnet": "ResNet", "vit": "Vision transformer"}[short]
