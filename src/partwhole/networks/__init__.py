"""What is trained: small networks, their initial laws, and reading one."""

from partwhole.networks.architecture import Architecture as Architecture
from partwhole.networks.architecture import mlp as mlp
from partwhole.networks.mlp import MLP as MLP
from partwhole.networks.reading import activations as activations
from partwhole.networks.reading import outputs as outputs

__all__ = ["MLP", "Architecture", "activations", "mlp", "outputs"]
