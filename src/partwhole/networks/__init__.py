"""What is trained: networks, their initial laws, reading one, and keeping one."""

from partwhole.networks.architecture import Architecture as Architecture
from partwhole.networks.architecture import mlp as mlp
from partwhole.networks.gated import GatedNetwork as GatedNetwork
from partwhole.networks.gated import LearnedGates as LearnedGates
from partwhole.networks.gated import flipped_gates as flipped_gates
from partwhole.networks.mlp import MLP as MLP
from partwhole.networks.paths import architecture_cost as architecture_cost
from partwhole.networks.paths import conserved as conserved
from partwhole.networks.paths import network_limit as network_limit
from partwhole.networks.paths import path_weights as path_weights
from partwhole.networks.reading import activations as activations
from partwhole.networks.reading import outputs as outputs
from partwhole.networks.saving import load_network as load_network
from partwhole.networks.saving import save_network as save_network

__all__ = [
    "MLP",
    "Architecture",
    "GatedNetwork",
    "LearnedGates",
    "activations",
    "architecture_cost",
    "conserved",
    "flipped_gates",
    "load_network",
    "mlp",
    "network_limit",
    "outputs",
    "path_weights",
    "save_network",
]
