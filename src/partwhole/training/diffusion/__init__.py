"""Diffusion models: training one, and asking it for samples on the way."""

from partwhole.training.diffusion.bits import BitsPerDimension as BitsPerDimension
from partwhole.training.diffusion.bits import bits_per_dimension as bits_per_dimension
from partwhole.training.diffusion.diffusion_run import DiffusionRun as DiffusionRun
from partwhole.training.diffusion.prompt import Prompt as Prompt
from partwhole.training.diffusion.recipe import DiffusionRecipe as DiffusionRecipe
from partwhole.training.diffusion.train import train_diffusion as train_diffusion

__all__ = [
    "BitsPerDimension",
    "DiffusionRecipe",
    "DiffusionRun",
    "Prompt",
    "bits_per_dimension",
    "train_diffusion",
]
