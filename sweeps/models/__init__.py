"""The table of model families. To add one, write its config in a file of this folder and add it to the two names."""

from typing import Annotated

from pydantic import Field

from .bit import BitConfig
from .convnext import ConvNextConfig
from .hybrid import HybridConfig
from .mixer import MixerConfig
from .modernised_resnet import ModernisedResNetConfig
from .resnet import ResNetConfig
from .shape import ModelShape
from .timm import TimmConfig
from .vit import VitConfig

__all__ = [
    "FAMILIES", "BitConfig", "ConvNextConfig", "HybridConfig", "MixerConfig", "ModelConfig", "ModelShape",
    "ModernisedResNetConfig", "ResNetConfig", "TimmConfig", "VitConfig",
]  # fmt: skip

ModelConfig = Annotated[
    VitConfig
    | ResNetConfig
    | BitConfig
    | MixerConfig
    | ConvNextConfig
    | HybridConfig
    | ModernisedResNetConfig
    | TimmConfig,
    Field(discriminator="family"),
]

FAMILIES: dict[str, type[ModelShape]] = {
    "vit": VitConfig,
    "resnet": ResNetConfig,
    "bit": BitConfig,
    "mixer": MixerConfig,
    "convnext": ConvNextConfig,
    "hybrid": HybridConfig,
    "modernised_resnet": ModernisedResNetConfig,
    "timm": TimmConfig,
}
