"""What Lippl & Stachenfeld (ICLR 2025) publish of networks on composed images, off the figures."""

from __future__ import annotations

DISTANCES = (0, 5, 10, 15, 20)  # pixels, of MNIST
# Slopes of unseen sums of the ConvNet, by layout and distance.
SLOPES = {
    "extrapolation": (0.553, 0.606, 0.690, 0.748, 0.775),
    "interpolation": (0.653, 0.690, 0.763, 0.809, 0.835),
    "both": (0.658, 0.700, 0.774, 0.821, 0.836),
}
OTHERS = {"resnet": 0.396, "vit": 0.260}  # extrapolation, CIFAR, distance 0
# Accuracy of the ConvNet on unseen combinations where a context decides.
ACCURACY = {
    "CD-1": (0.894, 0.910, 0.941, 0.954, 0.963),
    "CD-2": (0.840, 0.870, 0.914, 0.942, 0.944),
    "CD-3": (0.504, 0.424, 0.365, 0.290, 0.229),
}
# Accuracy on unseen pairs of transitive equivalence, one and four anchors pooled, and on seen ones.
EQUIVALENCE = (0.514, 0.540, 0.674, 0.728, 0.784)
EQUIVALENCE_SEEN = (0.758, 0.782, 0.843, 0.886, 0.895)
