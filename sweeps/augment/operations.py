"""RandAugment's operations in two published lists; Cubuk et al. 2019 (arXiv 1909.13719) leave ranges to their code.

"timm": `rand-m9-mstd0.5-inc1`, as DeiT and ConvNeXt: each operation is applied half the time, its magnitude varies,
and a greater one changes the image more ("increasing"); `timm/data/auto_augment.py`.
"big_vision": `randaug(2,10)`, as ViT-S/16 of big_vision and the AutoAugment code of EfficientNet: always applied, with
cutout, and such that a posterise or solarise of a greater magnitude changes less; `big_vision/pp/autoaugment.py`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torchvision.transforms.v2 import functional

__all__ = ["POLICIES", "Operation", "Policy"]

_GREY = 128.0  # of what an operation leaves empty

Images = torch.Tensor  # uint8 (b, channels, height, width)


@dataclass(frozen=True)
class Operation:
    """An operation.

    Attributes:
        apply: takes images and the argument, where there is one.
        argument: of the level in [0, 1]; None for an operation without one.
        signed: whether the argument is negated half the time.
        placed: whether it also takes two uniform numbers, where in the image it works.
    """

    apply: Callable[..., Images]
    argument: Callable[[float], float] | None = None
    signed: bool = False
    placed: bool = False


@dataclass(frozen=True)
class Policy:
    """A list of operations.

    Attributes:
        probability: with which a drawn operation is applied.
        magnitude_std: of the magnitude's normal noise, of 10.
    """

    operations: dict[str, Operation]
    probability: float
    magnitude_std: float


def _affine(images: Images, translate: tuple[float, float] = (0, 0), shear: tuple[float, float] = (0, 0)) -> Images:
    """Moved by shares of the width and height; slanted by pixels a pixel, about the upper left corner."""
    moved = functional.affine(
        images.float() - _GREY,
        angle=0.0,
        translate=[round(translate[0] * images.shape[-1]), round(translate[1] * images.shape[-2])],
        scale=1.0,
        shear=[math.degrees(math.atan(slope)) for slope in shear],
        interpolation=functional.InterpolationMode.BILINEAR,
        center=[0, 0],
    )
    return _above_grey(moved)


def _rotate(images: Images, degrees: float) -> Images:
    return _above_grey(functional.rotate(images.float() - _GREY, degrees, functional.InterpolationMode.BILINEAR))


def _above_grey(difference: torch.Tensor) -> Images:
    """Pixels from their difference to grey: what was empty, and so 0, is grey. torchvision's own filling, which
    blends twice, leaves a dark line along a slanted border."""
    return (difference + _GREY).round_().to(torch.uint8)


def _solarize(images: Images, threshold: int) -> Images:
    """Pixels from the threshold on inverted; 256, which is no uint8, leaves all."""
    if threshold > 255:
        return images
    return images ^ (images >= threshold).view(torch.uint8) * 255


def _solarize_add(images: Images, brighter: int) -> Images:
    """The darker half of pixels made brighter; at most 127 + 110, which does not overflow."""
    return images + (images < 128).view(torch.uint8) * brighter


def _cutout(images: Images, half: float, down: float, right: float) -> Images:
    """A grey square of twice `half` of the side, cut off at the border."""
    height, width = images.shape[-2:]
    row, column, reach = int(down * height), int(right * width), round(half * height)
    cut = images.clone()
    cut[..., max(0, row - reach) : row + reach, max(0, column - reach) : column + reach] = int(_GREY)
    return cut


def _enhance(adjustment: str) -> Callable[..., Images]:
    return lambda images, more: getattr(functional, adjustment)(images, 1 + more)


def _operations(
    bits: Callable[[float], int],
    threshold: Callable[[float], int],
    more: Callable[[float], float],
    signed: bool,
    shift: float,
) -> dict[str, Operation]:
    """The operations of both lists, by the ranges in which these differ.

    Args:
        bits: left by a posterisation.
        threshold: from which on a pixel is inverted.
        more: of colour, contrast, brightness or sharpness, as a share of what there is; negated where `signed`.
        shift: greatest, as a share of the side.
    """  # fmt: skip
    return {
        "auto_contrast": Operation(lambda images: functional.autocontrast(images.contiguous())),
        "equalize": Operation(lambda images: functional.equalize(images.contiguous())),
        "invert": Operation(functional.invert),
        "rotate": Operation(_rotate, lambda level: 30 * level, True),
        "posterize": Operation(functional.posterize, bits),
        "solarize": Operation(_solarize, threshold),
        "solarize_add": Operation(_solarize_add, lambda level: int(110 * level)),
        "color": Operation(_enhance("adjust_saturation"), more, signed),
        "contrast": Operation(_enhance("adjust_contrast"), more, signed),
        "brightness": Operation(_enhance("adjust_brightness"), more, signed),
        "sharpness": Operation(_enhance("adjust_sharpness"), more, signed),
        "shear_x": Operation(lambda images, x: _affine(images, shear=(x, 0)), lambda level: 0.3 * level, True),
        "shear_y": Operation(lambda images, y: _affine(images, shear=(0, y)), lambda level: 0.3 * level, True),
        "translate_x": Operation(
            lambda images, x: _affine(images, translate=(x, 0)), lambda level: shift * level, True
        ),
        "translate_y": Operation(
            lambda images, y: _affine(images, translate=(0, y)), lambda level: shift * level, True
        ),
    }


POLICIES = {
    "timm": Policy(
        _operations(
            bits=lambda level: max(1, 4 - int(4 * level)),  # 0 is a black image, which Pillow has come to refuse
            threshold=lambda level: 256 - int(256 * level),
            more=lambda level: 0.9 * level,
            signed=True,
            shift=0.45,
        ),
        probability=0.5,
        magnitude_std=0.5,
    ),
    "big_vision": Policy(
        {
            **_operations(
                bits=lambda level: max(1, int(4 * level)),
                threshold=lambda level: int(256 * level),
                more=lambda level: 1.8 * level - 0.9,
                signed=False,
                shift=100 / 224,  # 100 and, below, 40 pixels of the paper's 224
            ),
            "cutout": Operation(_cutout, lambda level: 40 / 224 * level, placed=True),
        },
        probability=1.0,
        magnitude_std=0.0,
    ),
}
