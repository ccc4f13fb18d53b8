"""One optimizer step: batch, gradient, update. What it does depends on nothing but the state, (seed, step) and data."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from .augment import augment_batch
from .augment.streams import rng_of
from .config import RunConfig
from .data.images import Images
from .losses import distillation_loss, training_loss
from .optimizers import clip_gradients, perturbed_weights, set_learning_rate
from .precision import autocast
from .schedules import learning_rate_factor
from .state import TrainingState

__all__ = ["TrainingStep"]


@dataclass(frozen=True)
class TrainingStep:
    """Calling it trains the state on one batch and returns the batch's loss, which stays on the device.

    Attributes:
        teacher: the model whose predicted classes are learned beside the labels, in evaluation mode.
        cropped: the images come cut and mirrored at random from where they are read.
    """

    config: RunConfig
    device: torch.device
    teacher: nn.Module | None = None
    cropped: bool = False

    def __call__(self, state: TrainingState, images: Images) -> torch.Tensor:
        config, recipe, step = self.config, self.config.recipe, state.step
        set_learning_rate(state.optimizer, recipe.lr * learning_rate_factor(config.schedule, step, config.steps))
        inputs, targets = augment_batch(
            *images, recipe, seed=config.seed, step=step, num_classes=config.num_classes, cropped=self.cropped
        )
        gradient = self._gradient(state, inputs, targets)
        loss = gradient()
        if recipe.sam_rho is not None:
            with perturbed_weights(state.model, recipe.sam_rho):
                gradient()
        clip_gradients(state.model, recipe)
        state.optimizer.step()
        if state.average is not None:
            state.average.update(state.model)  # type: ignore[operator]
        state.step += 1
        return loss

    def _gradient(
        self, state: TrainingState, inputs: torch.Tensor, targets: torch.Tensor
    ) -> Callable[[], torch.Tensor]:
        """Leaves the gradient of the loss at the weights of the moment, stochastic depth drawn as the step has it."""
        classes = self._teacher_classes(inputs)

        def gradient() -> torch.Tensor:
            if self.config.recipe.drop_path:  # torch's own generator: seeded here, its state is none of the training's
                torch.manual_seed(int(rng_of(self.config.seed, state.step, "drop_path").integers(2**63)))
            if not state.model.training:
                state.model.train()
            state.optimizer.zero_grad(set_to_none=True)
            with autocast(self.config, self.device):
                outputs = state.model(inputs)
            loss = self._loss(outputs, targets, classes)
            loss.backward()
            return loss.detach()

        return gradient

    def _loss(
        self,
        outputs: torch.Tensor | tuple[torch.Tensor, torch.Tensor],
        targets: torch.Tensor,
        classes: torch.Tensor | None,
    ) -> torch.Tensor:
        """A model without a distillation token learns labels and teacher with the same logits."""
        logits, distilled = outputs if isinstance(outputs, tuple) else (outputs, outputs)
        if classes is None:
            return training_loss(logits, targets, self.config.recipe)
        return distillation_loss(logits, distilled, targets, classes, self.config.recipe)

    @torch.no_grad()
    def _teacher_classes(self, inputs: torch.Tensor) -> torch.Tensor | None:
        if self.teacher is None:
            return None
        with autocast(self.config, self.device):
            return self.teacher(inputs).argmax(1)
