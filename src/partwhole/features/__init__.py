"""Features and kernels: the functions that a learner can express."""

from partwhole.features.conjunctions import ConjunctionDesign as ConjunctionDesign
from partwhole.features.dense_kernels import dense_kernel as dense_kernel
from partwhole.features.design import DenseDesign as DenseDesign
from partwhole.features.design import Design as Design
from partwhole.features.design import as_design as as_design
from partwhole.features.gates.halfspaces import HalfspaceGates as HalfspaceGates
from partwhole.features.gates.joint import JointGates as JointGates
from partwhole.features.gates.relu import ReLUGates as ReLUGates
from partwhole.features.order_kernel import OrderKernel as OrderKernel
from partwhole.features.overlap import OverlapKernel as OverlapKernel
from partwhole.features.overlap import OverlapKernels as OverlapKernels

__all__ = [
    "ConjunctionDesign",
    "DenseDesign",
    "Design",
    "HalfspaceGates",
    "JointGates",
    "OrderKernel",
    "OverlapKernel",
    "OverlapKernels",
    "ReLUGates",
    "as_design",
    "dense_kernel",
]
