"""Features and kernels: the functions that a learner can express.

`order_kernel.OrderKernel` weighs conjunctions by how many components they have,
`dense_kernels.dense_kernel` is that of a very wide network on one's own inputs, and
`design.Design` is what the features of one's own have to offer.
"""

from partwhole.features import dense_kernels as dense_kernels
from partwhole.features import order_kernel as order_kernel
from partwhole.features.design import DenseDesign as DenseDesign
from partwhole.features.gates.halfspaces import HalfspaceGates as HalfspaceGates
from partwhole.features.gates.relu import ReLUGates as ReLUGates
from partwhole.features.overlap import OverlapKernel as OverlapKernel

__all__ = [
    "DenseDesign",
    "HalfspaceGates",
    "OverlapKernel",
    "ReLUGates",
]
