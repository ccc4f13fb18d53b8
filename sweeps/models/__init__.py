"""The table of model families. To add one, write its config in a file of this folder and add it to the two names."""

from typing import Annotated

from pydantic import Field

from .resnet import ResNetConfig
from .shape import ModelShape
from .vit import VitConfig

__all__ = ["FAMILIES", "ModelConfig", "ModelShape", "ResNetConfig", "VitConfig"]

ModelConfig = Annotated[VitConfig | ResNetConfig, Field(discriminator="family")]

FAMILIES: dict[str, type[ModelShape]] = {"vit": VitConfig, "resnet": ResNetConfig}
