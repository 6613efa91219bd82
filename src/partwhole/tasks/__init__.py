"""What is learned, and what is held out."""

from partwhole.tasks._combinations import Combinations as Combinations
from partwhole.tasks._identity_sample import IdentitySample as IdentitySample
from partwhole.tasks._task import Task as Task
from partwhole.tasks.addition import dispersed_addition as dispersed_addition
from partwhole.tasks.addition import symbolic_addition as symbolic_addition
from partwhole.tasks.checking import check_task as check_task
from partwhole.tasks.context import context_dependence as context_dependence
from partwhole.tasks.context import context_substitution as context_substitution
from partwhole.tasks.context import stimulus_composition as stimulus_composition
from partwhole.tasks.images.cifar import cifar_images as cifar_images
from partwhole.tasks.images.class_split import ClassSplit as ClassSplit
from partwhole.tasks.images.class_split import split_classes as split_classes
from partwhole.tasks.images.composing import ComposedImages as ComposedImages
from partwhole.tasks.images.composing import class_assignment as class_assignment
from partwhole.tasks.images.composing import compose_images as compose_images
from partwhole.tasks.images.composites import Composites as Composites
from partwhole.tasks.images.digits import digit_images as digit_images
from partwhole.tasks.images.glyphs import glyph_images as glyph_images
from partwhole.tasks.images.mnist import mnist_images as mnist_images
from partwhole.tasks.relations import associative_inference as associative_inference
from partwhole.tasks.relations import transitive_equivalence as transitive_equivalence
from partwhole.tasks.relations import transitive_ordering as transitive_ordering
from partwhole.tasks.relu_teachers import ReLUTeacher as ReLUTeacher
from partwhole.tasks.relu_teachers import ReLUTeacherPair as ReLUTeacherPair
from partwhole.tasks.relu_teachers import ReLUTeachers as ReLUTeachers
from partwhole.tasks.relu_teachers import ReLUTeacherSample as ReLUTeacherSample
from partwhole.tasks.relu_teachers import relu_products as relu_products
from partwhole.tasks.shapes import Concept as Concept
from partwhole.tasks.shapes import ConceptSpace as ConceptSpace
from partwhole.tasks.shapes import LabelledShapes as LabelledShapes
from partwhole.tasks.shapes import ShapeAttributes as ShapeAttributes
from partwhole.tasks.shapes import adversarial_split as adversarial_split
from partwhole.tasks.shapes import circles as circles
from partwhole.tasks.shapes import concept_graph as concept_graph
from partwhole.tasks.shapes import concept_signal as concept_signal
from partwhole.tasks.shapes import distance_one as distance_one
from partwhole.tasks.shapes import leave_out as leave_out
from partwhole.tasks.shapes import pixel_distances as pixel_distances
from partwhole.tasks.shapes import render_shapes as render_shapes
from partwhole.tasks.sparse_teachers import SparseTeachers as SparseTeachers
from partwhole.tasks.sparse_teachers import TeacherPair as TeacherPair
from partwhole.tasks.sparse_teachers import TeacherSample as TeacherSample
from partwhole.tasks.structured_identity import StructuredIdentity as StructuredIdentity
from partwhole.tasks.table import from_frame as from_frame
from partwhole.tasks.toys import invariance as invariance
from partwhole.tasks.toys import partial_exposure as partial_exposure

__all__ = [
    "ClassSplit",
    "Combinations",
    "ComposedImages",
    "Composites",
    "Concept",
    "ConceptSpace",
    "IdentitySample",
    "LabelledShapes",
    "ReLUTeacher",
    "ReLUTeacherPair",
    "ReLUTeacherSample",
    "ReLUTeachers",
    "ShapeAttributes",
    "SparseTeachers",
    "StructuredIdentity",
    "Task",
    "TeacherPair",
    "TeacherSample",
    "adversarial_split",
    "associative_inference",
    "check_task",
    "cifar_images",
    "circles",
    "class_assignment",
    "compose_images",
    "concept_graph",
    "concept_signal",
    "context_dependence",
    "context_substitution",
    "digit_images",
    "dispersed_addition",
    "distance_one",
    "from_frame",
    "glyph_images",
    "invariance",
    "leave_out",
    "mnist_images",
    "partial_exposure",
    "pixel_distances",
    "relu_products",
    "render_shapes",
    "split_classes",
    "stimulus_composition",
    "symbolic_addition",
    "transitive_equivalence",
    "transitive_ordering",
]
