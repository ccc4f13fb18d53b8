"""What timm's vision transformers lack: a classifier that is one module, and fixed sin-cos positions."""

from timm.layers.pos_embed_sincos import build_sincos2d_pos_embed
from timm.models.deit import VisionTransformerDistilled
from timm.models.vision_transformer import VisionTransformer
from torch import nn

__all__ = ["DistilledVit", "fix_positions"]


class DistilledVit(VisionTransformerDistilled):
    """In training `forward` returns (logits, distillation logits), each (n, classes); in evaluation their mean."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.set_distilled_training(True)

    def get_classifier(self) -> nn.ModuleList:  # type: ignore[override]
        return nn.ModuleList([self.head, self.head_dist])


def fix_positions(model: VisionTransformer) -> VisionTransformer:
    """Put sin-cos positions, which are not trained, in place of the learned ones.

    Source: Chen et al. 2021 (arXiv 2104.02057), and the repository of MoCo v3.
    """
    positions = build_sincos2d_pos_embed(list(model.patch_embed.grid_size), dim=model.embed_dim)
    del model.pos_embed
    model.register_buffer("pos_embed", positions[None], persistent=False)
    return model
