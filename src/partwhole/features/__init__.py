"""Features and kernels: the functions that a learner can express."""

from partwhole.features.dense_kernels import dense_kernel as dense_kernel
from partwhole.features.design import DenseDesign as DenseDesign
from partwhole.features.design import Design as Design
from partwhole.features.gates.halfspaces import HalfspaceGates as HalfspaceGates
from partwhole.features.gates.relu import ReLUGates as ReLUGates
from partwhole.features.order_kernel import OrderKernel as OrderKernel
from partwhole.features.overlap import OverlapKernel as OverlapKernel

__all__ = [
    "DenseDesign",
    "Design",
    "HalfspaceGates",
    "OrderKernel",
    "OverlapKernel",
    "ReLUGates",
    "dense_kernel",
]
