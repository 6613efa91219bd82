"""What is learned, and what is held out.

`toys.invariance` and `toys.partial_exposure` are the smallest, and `relu_teachers.ReLUTeachers`
makes pairs of tasks for ReLU networks. For images of one's own there are `images.from_folder` and
`images.AttributeSpace`.
"""

from partwhole.tasks import images as images
from partwhole.tasks import toys as toys
from partwhole.tasks._task import Task as Task
from partwhole.tasks.addition import dispersed_addition as dispersed_addition
from partwhole.tasks.addition import symbolic_addition as symbolic_addition
from partwhole.tasks.context import context_dependence as context_dependence
from partwhole.tasks.images.class_split import split_classes as split_classes
from partwhole.tasks.images.composing import compose_images as compose_images
from partwhole.tasks.relations import associative_inference as associative_inference
from partwhole.tasks.relations import transitive_equivalence as transitive_equivalence
from partwhole.tasks.relations import transitive_ordering as transitive_ordering
from partwhole.tasks.shapes.published import circles as circles
from partwhole.tasks.shapes.space import ConceptSpace as ConceptSpace
from partwhole.tasks.sparse_teachers import SparseTeachers as SparseTeachers
from partwhole.tasks.structured_identity import StructuredIdentity as StructuredIdentity
from partwhole.tasks.table import from_frame as from_frame

__all__ = [
    "ConceptSpace",
    "SparseTeachers",
    "StructuredIdentity",
    "Task",
    "associative_inference",
    "circles",
    "compose_images",
    "context_dependence",
    "dispersed_addition",
    "from_frame",
    "split_classes",
    "symbolic_addition",
    "transitive_equivalence",
    "transitive_ordering",
]
