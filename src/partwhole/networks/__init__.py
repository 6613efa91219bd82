"""Networks: their initial laws, their activations, and files of them."""

from partwhole._extras import needs

needs("train", "partwhole.networks")

from partwhole.networks.architecture import Architecture as Architecture
from partwhole.networks.architecture import mlp as mlp
from partwhole.networks.checking import check_network as check_network
from partwhole.networks.gated import GatedNetwork as GatedNetwork
from partwhole.networks.gated import LearnedGates as LearnedGates
from partwhole.networks.gated import flipped_gates as flipped_gates
from partwhole.networks.images.convnet import convnet as convnet
from partwhole.networks.images.network import ImageNetwork as ImageNetwork
from partwhole.networks.images.presets import image_network as image_network
from partwhole.networks.images.resnet import resnet as resnet
from partwhole.networks.images.transformer import vision_transformer as vision_transformer
from partwhole.networks.layer_dimensions import LayerDimensions as LayerDimensions
from partwhole.networks.layer_dimensions import layer_dimensions as layer_dimensions
from partwhole.networks.layer_salience import LayerSaliences as LayerSaliences
from partwhole.networks.layer_salience import layer_saliences as layer_saliences
from partwhole.networks.mlp import MLP as MLP
from partwhole.networks.network import Network as Network
from partwhole.networks.paths import architecture_cost as architecture_cost
from partwhole.networks.paths import conserved as conserved
from partwhole.networks.paths import network_limit as network_limit
from partwhole.networks.paths import path_weights as path_weights
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
    "LayerDimensions",
    "LayerSaliences",
    "LearnedGates",
    "Network",
    "activations",
    "architecture_cost",
    "check_network",
    "conserved",
    "convnet",
    "flipped_gates",
    "image_network",
    "layer_dimensions",
    "layer_saliences",
    "load_network",
    "mlp",
    "network_limit",
    "outputs",
    "path_weights",
    "resnet",
    "save_network",
    "tangent_kernel",
    "vision_transformer",
]
