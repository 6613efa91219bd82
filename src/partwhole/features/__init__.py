"""Features and kernels: the functions that a learner can express."""

from partwhole.features.checking import check_design as check_design
from partwhole.features.checking import check_kernel as check_kernel
from partwhole.features.conjunctions import ConjunctionDesign as ConjunctionDesign
from partwhole.features.conjunctions import conjunction_sets as conjunction_sets
from partwhole.features.dense_kernels import dense_kernel as dense_kernel
from partwhole.features.design import Block as Block
from partwhole.features.design import DenseDesign as DenseDesign
from partwhole.features.design import Design as Design
from partwhole.features.design import as_design as as_design
from partwhole.features.design import weighted_gram as weighted_gram
from partwhole.features.gates.design import GatedDesign as GatedDesign
from partwhole.features.gates.expected import expected_agreement as expected_agreement
from partwhole.features.gates.expected import expected_relu_agreement as expected_relu_agreement
from partwhole.features.gates.halfspaces import HalfspaceGates as HalfspaceGates
from partwhole.features.gates.joint import Gates as Gates
from partwhole.features.gates.joint import JointGates as JointGates
from partwhole.features.gates.relu import ReLUGates as ReLUGates
from partwhole.features.multitask import multitask_design as multitask_design
from partwhole.features.order_kernel import OrderKernel as OrderKernel
from partwhole.features.overlap import OverlapKernel as OverlapKernel
from partwhole.features.overlap import deep_limit as deep_limit
from partwhole.features.random_networks import DualActivation as DualActivation
from partwhole.features.subsets import kernel_spectrum as kernel_spectrum
from partwhole.features.subsets import moebius as moebius
from partwhole.features.subsets import zeta as zeta

__all__ = [
    "Block",
    "ConjunctionDesign",
    "DenseDesign",
    "Design",
    "DualActivation",
    "GatedDesign",
    "Gates",
    "HalfspaceGates",
    "JointGates",
    "OrderKernel",
    "OverlapKernel",
    "ReLUGates",
    "as_design",
    "check_design",
    "check_kernel",
    "conjunction_sets",
    "deep_limit",
    "dense_kernel",
    "expected_agreement",
    "expected_relu_agreement",
    "kernel_spectrum",
    "moebius",
    "multitask_design",
    "weighted_gram",
    "zeta",
]
