"""One optimizer step: batch, gradient, update. What it does depends on nothing but the state, (seed, step) and data."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ..augment import augment_batch
from ..augment.streams import rng_of
from ..data.images import Images
from ..optimizers import clip_gradients, perturbed_weights, set_learning_rate
from ..specs.config import RunConfig
from .attacks import attack, step_size
from .contrastive import detached_classifier, supervised_contrastive_loss
from .losses import distillation_loss, training_loss
from .micro_batches import drop_path_of_part, split_rows
from .precision import autocast
from .schedules import learning_rate_factor
from .state import TrainingState

if TYPE_CHECKING:
    from .parallel import DeviceGroup

__all__ = ["TrainingStep"]


@dataclass(frozen=True)
class TrainingStep:
    """Calling it trains the state on one batch and returns the batch's loss, which stays on the device.

    Attributes:
        teacher: the model whose predicted classes are learned beside the labels, in evaluation mode.
        cropped: the images come cut and mirrored at random from where they are read.
        num_micro_batches: parts of the batch whose gradients are added up one after the other; None is the config's.
        group: the devices that share the batch, None where there is one.
    """

    config: RunConfig
    device: torch.device
    teacher: nn.Module | None = None
    cropped: bool = False
    num_micro_batches: int | None = None
    group: "DeviceGroup | None" = None

    def __call__(self, state: TrainingState, images: Images) -> torch.Tensor:
        config, recipe = self.config, self.config.recipe
        set_learning_rate(state.optimizer, recipe.lr * learning_rate_factor(config.schedule, state.step, config.steps))
        gradient = self.gradient(state, images)
        loss = gradient()
        if recipe.sam_rho is not None:
            with perturbed_weights(state.trained, recipe.sam_rho):
                gradient()
        clip_gradients(state.trained, recipe)
        state.optimizer.step()
        if state.average is not None:
            state.average.update(state.model)  # type: ignore[operator]
        state.step += 1
        return loss

    def gradient(self, state: TrainingState, images: Images) -> Callable[[], torch.Tensor]:
        """A function that leaves the gradient of the batch's loss at the weights of the moment and returns the loss.

        Each call draws what is random in the model as the step has it.
        """
        config, recipe, group = self.config, self.config.recipe, self.group
        if group is not None:
            group.begin(state.step, self.num_micro_batches)
        inputs, targets = augment_batch(
            *images, recipe, seed=config.seed, step=state.step, num_classes=config.num_classes, cropped=self.cropped
        )
        if recipe.attack_radius is not None:
            inputs = self._attacked(state, inputs, targets, recipe.attack_radius)
        mine = slice(0, len(inputs)) if group is None else group.rows(len(inputs))
        parts = split_rows(mine, self.num_micro_batches or config.micro_batches)
        classes = [self._teacher_classes(inputs[rows]) for rows in parts]

        def gradient() -> torch.Tensor:
            if not state.model.training:
                state.model.train()
            state.optimizer.zero_grad(set_to_none=True)
            if group is not None:
                group.share_weights(state.model)
            losses = [self._backward(state, inputs, targets, *part) for part in zip(parts, classes, strict=True)]
            loss = losses[0] if len(losses) == 1 else torch.stack(losses).sum()
            return loss if group is None else group.add_gradients(state.model, loss)

        return gradient

    def _backward(
        self,
        state: TrainingState,
        inputs: torch.Tensor,
        targets: torch.Tensor,
        rows: slice,
        classes: torch.Tensor | None,
    ) -> torch.Tensor:
        """Adds the gradient of some rows' part of the batch's loss, and returns that part."""
        if self.config.recipe.drop_path:  # torch's own generator: seeded here, its state is none of the training's
            torch.manual_seed(int(rng_of(self.config.seed, state.step, "drop_path").integers(2**63)))
        num_rows, num_images = rows.stop - rows.start, len(inputs)
        if num_rows == num_images:
            loss = self._loss(state, inputs, targets, classes)
            loss.backward()
            return loss.detach()
        dropping = bool(self.config.recipe.drop_path)
        with drop_path_of_part(state.model, rows, num_images, self.device) if dropping else nullcontext():
            loss = self._loss(state, inputs[rows], targets[rows], classes) * (num_rows / num_images)
            loss.backward()  # within: a block that is computed anew drops the same
        return loss.detach()

    def _outputs(self, model: nn.Module, inputs: torch.Tensor) -> Any:
        with autocast(self.config, self.device):
            return model(inputs)

    def _attacked(
        self, state: TrainingState, inputs: torch.Tensor, targets: torch.Tensor, radius: float
    ) -> torch.Tensor:
        """Adversarial images for the weights at the step's beginning, which both of its gradients are taken on.

        Made in evaluation mode, so that they leave no trace in the model; Wong et al. make them in training mode.
        """
        num_steps = self.config.recipe.attack_steps
        state.model.eval()
        return attack(
            inputs,
            lambda images: training_loss(self._outputs(state.model, images), targets, self.config.recipe),
            radius=radius,
            num_steps=num_steps,
            step=step_size(radius, num_steps),
            rng=rng_of(self.config.seed, state.step, "attack"),
        )

    def _loss(
        self, state: TrainingState, inputs: torch.Tensor, targets: torch.Tensor, classes: torch.Tensor | None
    ) -> torch.Tensor:
        """Of the labels, or of labels and teacher, or of the contrast between labels."""
        if state.projection is not None:
            return self._contrasted(state.model, state.projection, inputs, targets)
        outputs = self._outputs(state.model, inputs)
        # A model without a distillation token learns labels and teacher with the same logits.
        logits, distilled = outputs if isinstance(outputs, tuple) else (outputs, outputs)
        if classes is None:
            return training_loss(logits, targets, self.config.recipe)
        return distillation_loss(logits, distilled, targets, classes, self.config.recipe)

    def _contrasted(
        self, model: nn.Module, projection: nn.Module, inputs: torch.Tensor, labels: torch.Tensor
    ) -> torch.Tensor:
        """The features learn by contrast; the classifier learns the labels from them, and they do not notice."""
        with autocast(self.config, self.device), detached_classifier(model) as features:
            logits = model(inputs)
            projected = projection(features[-1])
        contrast = supervised_contrastive_loss(projected, labels, self.config.recipe)
        return contrast + training_loss(logits, labels, self.config.recipe)

    @torch.no_grad()
    def _teacher_classes(self, inputs: torch.Tensor) -> torch.Tensor | None:
        return None if self.teacher is None else self._outputs(self.teacher, inputs).argmax(1)
