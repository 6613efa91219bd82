"""How abstract a representation is: whether a component is encoded alike in all contexts."""

from partwhole.measures.abstraction.generalization import (
    CrossConditionGeneralization as CrossConditionGeneralization,
)
from partwhole.measures.abstraction.generalization import ccgp as ccgp
from partwhole.measures.abstraction.parallelism import Parallelism as Parallelism
from partwhole.measures.abstraction.parallelism import parallelism as parallelism
from partwhole.measures.abstraction.shattering import Shattering as Shattering
from partwhole.measures.abstraction.shattering import (
    shattering_dimensionality as shattering_dimensionality,
)

__all__ = [
    "CrossConditionGeneralization",
    "Parallelism",
    "Shattering",
    "ccgp",
    "parallelism",
    "shattering_dimensionality",
]
