"""Pictures of labelled shapes: the data of concept-space diffusion."""

from partwhole.tasks.shapes.altered import published_over_prompts as published_over_prompts
from partwhole.tasks.shapes.attributes import ShapeAttributes as ShapeAttributes
from partwhole.tasks.shapes.concept import Concept as Concept
from partwhole.tasks.shapes.concept import Law as Law
from partwhole.tasks.shapes.graph import ConceptGraph as ConceptGraph
from partwhole.tasks.shapes.graph import concept_graph as concept_graph
from partwhole.tasks.shapes.graph import hamming_distance as hamming_distance
from partwhole.tasks.shapes.labelled import LabelledShapes as LabelledShapes
from partwhole.tasks.shapes.pictures import image_grid as image_grid
from partwhole.tasks.shapes.pictures import picture_png as picture_png
from partwhole.tasks.shapes.pictures import save_picture as save_picture
from partwhole.tasks.shapes.published import CONCEPT_SIGNALS as CONCEPT_SIGNALS
from partwhole.tasks.shapes.published import CONCEPT_SIGNALS_SHOWN as CONCEPT_SIGNALS_SHOWN
from partwhole.tasks.shapes.published import circles as circles
from partwhole.tasks.shapes.renderer import clean_images as clean_images
from partwhole.tasks.shapes.renderer import render_shapes as render_shapes
from partwhole.tasks.shapes.renderer import shape_masks as shape_masks
from partwhole.tasks.shapes.sensitivity import concept_signal as concept_signal
from partwhole.tasks.shapes.sensitivity import pixel_distances as pixel_distances
from partwhole.tasks.shapes.sensitivity import smooth_masks as smooth_masks
from partwhole.tasks.shapes.space import ConceptSpace as ConceptSpace
from partwhole.tasks.shapes.splits import adversarial_split as adversarial_split
from partwhole.tasks.shapes.splits import distance_one as distance_one
from partwhole.tasks.shapes.splits import leave_out as leave_out

__all__ = [
    "CONCEPT_SIGNALS",
    "CONCEPT_SIGNALS_SHOWN",
    "Concept",
    "ConceptGraph",
    "ConceptSpace",
    "LabelledShapes",
    "Law",
    "ShapeAttributes",
    "adversarial_split",
    "circles",
    "clean_images",
    "concept_graph",
    "concept_signal",
    "distance_one",
    "hamming_distance",
    "image_grid",
    "leave_out",
    "picture_png",
    "pixel_distances",
    "published_over_prompts",
    "render_shapes",
    "save_picture",
    "shape_masks",
    "smooth_masks",
]
