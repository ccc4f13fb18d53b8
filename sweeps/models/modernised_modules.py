"""The layers of `ModernisedResNetConfig`: a residual network whose every change towards ConvNeXt is a flag.

Source: Liu et al. 2022 (arXiv 2201.03545), section 2 and Figures 2 and 3.
"""

import torch
from timm.layers.drop import DropPath
from timm.layers.norm import LayerNorm2d
from torch import nn

from .modernised_resnet import ModernisedResNetConfig
from .shape import drop_path_rates

__all__ = ["ModernisedResNet"]

_EXPANSION = 4  # of a bottleneck, and of an inverted one


class ModernisedResNet(nn.Module):
    """Stem, stages of residual blocks, average pooling and a linear classifier, with timm's interface."""

    def __init__(self, config: ModernisedResNetConfig, num_classes: int, drop_path: float) -> None:
        super().__init__()
        widths = [config.width * 2**stage for stage in range(len(config.depth))]
        self.stem = _stem(config)
        rates = iter(drop_path_rates(drop_path, sum(config.depth)))
        channels, stages = config.width, []
        for stage, (width, depth) in enumerate(zip(widths, config.depth, strict=True)):
            out, stride = width if config.inverted_bottleneck else _EXPANSION * width, 2 if stage else 1
            layers = []
            if stage and config.separate_downsampling:
                layers += [_norm(config, channels), nn.Conv2d(channels, out, 2, stride=2)]
                channels, stride = out, 1
            for block in range(depth):
                layers.append(_Block(config, channels, width, out, 1 if block else stride, next(rates)))
                channels = out
            stages.append(nn.Sequential(*layers))
        self.stages = nn.Sequential(*stages)
        self.norm = _norm(config, channels) if config.separate_downsampling else nn.Identity()
        self.fc = nn.Linear(channels, num_classes)
        self.num_features, self.num_classes = channels, num_classes
        _initialise(self)

    def get_classifier(self) -> nn.Linear:
        return self.fc

    def forward_features(self, images: torch.Tensor) -> torch.Tensor:
        return self.stages(self.stem(images))

    def forward_head(self, features: torch.Tensor, pre_logits: bool = False) -> torch.Tensor:
        pooled = self.norm(features.mean((2, 3), keepdim=True)).flatten(1)
        return pooled if pre_logits else self.fc(pooled)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.forward_head(self.forward_features(images))


class _Block(nn.Module):
    """Two 1x1 convolutions and a spatial one around a shortcut."""

    def __init__(
        self, config: ModernisedResNetConfig, channels: int, width: int, out: int, stride: int, drop_path: float
    ) -> None:
        super().__init__()
        inner = _EXPANSION * width if config.inverted_bottleneck else width
        middle, kernel = channels if config.move_up else inner, config.kernel_size
        groups = middle if config.depthwise else 1
        expand, reduce = (channels, inner, 1), (inner, out, 1)
        spatial = (middle, middle, kernel, stride, kernel // 2, 1, groups)
        layers: list[nn.Module] = []
        for place, sizes in enumerate((spatial, expand, reduce) if config.move_up else (expand, spatial, reduce)):
            has_norm = sizes is spatial or not config.fewer_norms
            has_activation = place == 1 or (place == 0 and not config.fewer_activations)
            # A norm of each channel over the batch takes a bias off again; one over the channels does not.
            layers.append(nn.Conv2d(*sizes, bias=config.layer_norm or not has_norm))
            layers += [_norm(config, sizes[1])] if has_norm else []
            layers += [_activation(config)] if has_activation else []
        self.residual = nn.Sequential(*layers)
        self.drop_path = DropPath(drop_path) if drop_path else nn.Identity()
        self.shortcut = nn.Identity()
        if stride > 1 or channels != out:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, out, 1, stride, bias=config.layer_norm), _norm(config, out)
            )
        self.activation = nn.Identity() if config.fewer_activations else _activation(config)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.activation(self.shortcut(x) + self.drop_path(self.residual(x)))


def _stem(config: ModernisedResNetConfig) -> nn.Sequential:
    stride, width = config.stem_stride, config.width
    kernel, first_stride = (7, 2) if stride == 4 else (3, stride)
    if config.patchify_stem:
        kernel, first_stride = stride, stride
    padding = 0 if config.patchify_stem else kernel // 2
    layers: list[nn.Module] = [nn.Conv2d(3, width, kernel, first_stride, padding, bias=config.layer_norm)]
    layers += [_norm(config, width)]
    layers += [] if config.fewer_activations else [_activation(config)]
    layers += [nn.MaxPool2d(3, stride=2, padding=1)] if stride == 4 and not config.patchify_stem else []
    return nn.Sequential(*layers)


def _norm(config: ModernisedResNetConfig, channels: int) -> nn.Module:
    return LayerNorm2d(channels) if config.layer_norm else nn.BatchNorm2d(channels)


def _activation(config: ModernisedResNetConfig) -> nn.Module:
    return nn.GELU() if config.gelu else nn.ReLU(inplace=True)


def _initialise(model: nn.Module) -> None:
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")  # by fan-in, which holds for depthwise ones
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
        elif isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=0.01)  # as in timm's residual networks
            nn.init.zeros_(layer.bias)
