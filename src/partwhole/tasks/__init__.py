"""What is learned, and what is held out.

`relu_teachers.ReLUTeachers` makes pairs of tasks for ReLU networks.
"""

from partwhole.tasks._task import Task as Task
from partwhole.tasks.addition import dispersed_addition as dispersed_addition
from partwhole.tasks.addition import symbolic_addition as symbolic_addition
from partwhole.tasks.context import context_dependence as context_dependence
from partwhole.tasks.images.attribute_space import AttributeSpace as AttributeSpace
from partwhole.tasks.images.class_split import split_classes as split_classes
from partwhole.tasks.images.composing import compose_images as compose_images
from partwhole.tasks.images.folder import from_folder as from_folder
from partwhole.tasks.relations import associative_inference as associative_inference
from partwhole.tasks.relations import transitive_equivalence as transitive_equivalence
from partwhole.tasks.relations import transitive_ordering as transitive_ordering
from partwhole.tasks.shapes.published import circles as circles
from partwhole.tasks.shapes.space import ConceptSpace as ConceptSpace
from partwhole.tasks.sparse_teachers import SparseTeachers as SparseTeachers
from partwhole.tasks.structured_identity import StructuredIdentity as StructuredIdentity
from partwhole.tasks.table import from_frame as from_frame
from partwhole.tasks.toys import invariance as invariance
from partwhole.tasks.toys import partial_exposure as partial_exposure

__all__ = [
    "AttributeSpace",
    "ConceptSpace",
    "SparseTeachers",
    "StructuredIdentity",
    "Task",
    "associative_inference",
    "circles",
    "compose_images",
    "context_dependence",
    "dispersed_addition",
    "from_folder",
    "from_frame",
    "invariance",
    "partial_exposure",
    "split_classes",
    "symbolic_addition",
    "transitive_equivalence",
    "transitive_ordering",
]
