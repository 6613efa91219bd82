"""Conditional diffusion models: noise schedules, noise predictors, samplers."""

from partwhole.networks.diffusion.model import ConditionEmbedding as ConditionEmbedding
from partwhole.networks.diffusion.model import DiffusionModel as DiffusionModel
from partwhole.networks.diffusion.model import Words as Words
from partwhole.networks.diffusion.noise_mlp import NoiseMLP as NoiseMLP
from partwhole.networks.diffusion.noise_mlp import noise_mlp as noise_mlp
from partwhole.networks.diffusion.presets import diffusion_model as diffusion_model
from partwhole.networks.diffusion.sampling import sample as sample
from partwhole.networks.diffusion.schedule import LinearSchedule as LinearSchedule
from partwhole.networks.diffusion.schedule import linear_schedule as linear_schedule
from partwhole.networks.diffusion.unet import UNet as UNet
from partwhole.networks.diffusion.unet import unet as unet

__all__ = [
    "ConditionEmbedding",
    "DiffusionModel",
    "LinearSchedule",
    "NoiseMLP",
    "UNet",
    "Words",
    "diffusion_model",
    "linear_schedule",
    "noise_mlp",
    "sample",
    "unet",
]
