"""Any checkpoint of timm (Wightman 2019, doi 10.5281/zenodo.4414861) by name, for evaluation only."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from .shape import ModelShape

if TYPE_CHECKING:
    from torch import nn

__all__ = ["TimmConfig"]


class TimmConfig(ModelShape):
    """A trained model, for runs with `steps: 0`: its few-shot errors, and its upstream error where it has the
    upstream set's number of classes, or where `evaluate.class_map` says which of its outputs they are.

    A spec entry may be the name alone. The model sees images of the upstream set's size, scaled as its weights expect.

    Attributes:
        name: as timm spells it, such as "vit_small_patch16_224.augreg_in21k".
        checkpoint: file of its weights, of any number of classes; None takes those that timm has under that name.
        checkpoint_sha256: of that file, filled in; in place of its path it tells one run from another.
    """

    family: Literal["timm"] = "timm"
    channels_last: ClassVar[bool] = False
    trainable: ClassVar[bool] = False
    name: str
    checkpoint: str | None = None
    checkpoint_sha256: str | None = None

    @classmethod
    def shape_of(cls, variant: str) -> dict[str, Any]:
        return {"name": variant}

    @property
    def variant(self) -> str:
        return self.name

    def fitted(self, image_size: int) -> Self:
        """As it is, with its file's hash; reads the file and builds the model on the meta device."""
        import timm

        from .timm_modules import check_takes

        if not timm.is_model(self.name):
            near = timm.list_models(f"*{self.name.split('.')[0][:8]}*")[:5]
            raise ValueError(f"model.timm.name: no model of timm has that name (near it: {near}), got {self.name!r}")
        if self.checkpoint is None and not timm.is_model_pretrained(self.name):
            raise ValueError(f"model.timm.checkpoint: timm has no weights of {self.name!r}, so give a file")
        digest = self._hashed(self.checkpoint) if self.checkpoint else None
        check_takes(self.name, image_size)
        return self.model_copy(update={"checkpoint_sha256": digest})

    def _hashed(self, checkpoint: str) -> str:
        try:
            with open(checkpoint, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ValueError(
                f"model.timm.checkpoint: no file can be read: {error.strerror}, got {checkpoint!r}"
            ) from error
        if self.checkpoint_sha256 not in (None, digest):
            raise ValueError(
                f"model.timm.checkpoint_sha256: {Path(checkpoint).name} has {digest}, got {self.checkpoint_sha256}"
            )
        return digest

    def shape_columns(self, image_size: int) -> dict[str, Any]:
        return {}

    def build(self, image_size: int, num_classes: int, drop_path: float = 0.0) -> "nn.Module":
        """The trained model; its classes are its own, whatever `num_classes` is, and its `num_classes` says them.

        Raises:
            ValueError: the file has other weights than the model.
        """
        from .timm_modules import load_trained

        return load_trained(self.name, self.checkpoint, image_size)
