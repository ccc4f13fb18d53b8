"""The table of model families. To add one, write its config in a file of this folder and add it to `FAMILIES`."""

from typing import TYPE_CHECKING, Annotated, Union

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

FAMILIES: dict[str, type[ModelShape]] = {
    family.model_fields["family"].default: family
    for family in (
        VitConfig, ResNetConfig, BitConfig, MixerConfig, ConvNextConfig, HybridConfig, ModernisedResNetConfig,
        TimmConfig,
    )
}  # fmt: skip
"""The families by name. A config's `model` is one of them, told by its field `family`."""

if TYPE_CHECKING:
    ModelConfig = ModelShape
else:
    ModelConfig = Annotated[Union[tuple(FAMILIES.values())], Field(discriminator="family")]  # noqa: UP007
