"""Train a network on composed digits, and compare it with the prediction from its saliences.

Two digits, half over each other but in channels of their own, stand for two numbers from -4 to 4;
the network learns their sum from pairs in which one of the two numbers is 0. How much of an unseen
sum is left in its answers? Theory says so from the saliences of its layers, measured before
training: for a representation that stays as it is, and for images that do not differ within a
class. Both are wrong here, and the network leaks more than it says.
"""

from __future__ import annotations

import numpy as np

import partwhole as pw
from partwhole import networks
from partwhole.networks.layer_salience import layer_saliences
from partwhole.tasks.images.digits import digit_images


def main(epochs: int = 30, seed: int = 0, distance: int = 4) -> pw.comparison.Comparison:
    """Train one network and print both."""
    task = pw.tasks.symbolic_addition(range(-4, 5), [0])
    images, classes = digit_images()
    composed = pw.tasks.compose_images(
        task, images.astype(np.float32), classes, distance=distance, seed=seed
    )
    samples = composed.training(150)
    sets = {"seen": composed.in_distribution(20), "unseen": composed.compositional(20)}
    network = networks.image_network("convnet-small", samples.shape, outputs=1, seed=seed)
    shown = composed.draw(6, pool="held out", draw=3)
    before = layer_saliences(network, shown, layers=["relu 2", "relu 4"])
    settings = pw.Training(
        optimiser="adam", learning_rate=1e-3, batch=128, epochs=epochs, seed=seed
    )
    runs = pw.train(network, samples, settings, test=sets)
    answers = np.empty(len(task.targets))
    for name, rows in (("seen", task.is_train), ("unseen", ~task.is_train)):
        answers[rows] = runs.outputs[name].reshape(rows.sum(), -1).mean(axis=1)
    comparison = pw.compare(task, answers, before["relu 4"])
    print(before.to_frame().to_string(index=False))
    print("learned" if runs.has_learned[0] else "not learned yet")
    print(comparison.describe())
    return comparison


if __name__ == "__main__":
    main()
