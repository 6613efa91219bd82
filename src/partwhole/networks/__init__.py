"""Networks: their initial laws, their activations, and files of them.

These are most often used. The others are in the modules of their subject:

network, checking
    `Network`, the protocol that every reader takes, and `check_network` of one's own.
layer_salience, layer_dimensions
    `layer_saliences` and `layer_dimensions` of every layer.
paths
    `network_limit`, `path_weights`, `conserved` and `architecture_cost` of gated networks.
gated
    `flipped_gates`.
gated_classifier
    `GatedClassifier`, with an output for each of several labels.
images.convnet, images.resnet, images.transformer
    `convnet`, `resnet` and `vision_transformer` of any size; `image_network` has the published.
"""

from partwhole._extras import needs

needs("train", "partwhole.networks")

from partwhole.networks import checking as checking
from partwhole.networks import gated_classifier as gated_classifier
from partwhole.networks import layer_dimensions as layer_dimensions
from partwhole.networks import layer_salience as layer_salience
from partwhole.networks import network as network
from partwhole.networks import paths as paths
from partwhole.networks.architecture import Architecture as Architecture
from partwhole.networks.architecture import mlp as mlp
from partwhole.networks.gated import GatedNetwork as GatedNetwork
from partwhole.networks.gated import LearnedGates as LearnedGates
from partwhole.networks.images.network import ImageNetwork as ImageNetwork
from partwhole.networks.images.presets import image_network as image_network
from partwhole.networks.mlp import MLP as MLP
from partwhole.networks.reading import activations as activations
from partwhole.networks.reading import outputs as outputs
from partwhole.networks.saving import load_network as load_network
from partwhole.networks.saving import save_network as save_network
from partwhole.networks.tangent import tangent_kernel as tangent_kernel

__all__ = [
    "MLP",
    "Architecture",
    "GatedNetwork",
    "ImageNetwork",
    "LearnedGates",
    "activations",
    "image_network",
    "load_network",
    "mlp",
    "outputs",
    "save_network",
    "tangent_kernel",
]
