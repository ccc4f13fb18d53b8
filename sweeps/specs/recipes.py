"""The table of training recipes: one sourced row each. A spec's `recipe` names a row and may change its fields.

Where a paper gives its learning rate for a batch size ("5e-4 x batch/512"), a row has the plain number at the row's
batch size, and its source says so: a spec that changes `batch_size` keeps `lr`. Weight decay is what a step of the
published code shrinks a weight by, in the terms of `weight_decay_rule`. Where a paper and its code differ, a comment
says how.
"""

from dataclasses import dataclass, field
from typing import Any

__all__ = ["RECIPES", "Recipe", "find_recipe"]


@dataclass(frozen=True)
class Recipe:
    """Fields of `sweeps.specs.config.RecipeConfig`, and the schedule and length used where a spec gives none.

    Attributes:
        length: a duration with its unit, such as "2500 steps" or "300 epochs".
        required: fields that a spec must give since the source has no one value, and what the source has.
    """

    source: str
    fields: dict[str, Any]
    schedule: dict[str, str] = field(default_factory=dict)
    length: str = "1000 steps"
    required: dict[str, str] = field(default_factory=dict)


# Touvron et al. 2021 and Liu et al. 2022 train with the same augmentation; timm's `rand-m9-mstd0.5-inc1`. Their crops
# have 8 % of the image at least, not 5 %, and are resized bicubically.
_DEIT_AUGMENTATION = {
    "augment": "inception_flip",
    "rand_augment_ops": 2,
    "rand_augment_magnitude": 9.0,
    "rand_augment_policy": "timm",
    "mixup": 0.8,
    "cutmix": 1.0,
    "erase": 0.25,
    "label_smoothing": 0.1,
}

_SAM = {
    "optimizer": "adamw",
    "lr": 3e-3,
    "weight_decay": 0.3,  # times the learning rate: the papers', says the config, which itself has .001
    "head_lr_multiplier": 1.0,
    "grad_clip": 1.0,
    "batch_size": 4096,
    "augment": "inception_flip",
    "label_smoothing": 0.0,
    # The config, of the successor GSAM, has the sigmoid loss with a head bias of -10.
}
_SAM_RHO = {"sam_rho": "which Chen et al. 2021 set by model; big_vision's config of GSAM has 0.1 to 0.6"}

RECIPES = {
    "small_scale": Recipe(
        source="AdamW as in DeiT (Touvron et al. 2021, arXiv 2012.12877), shortened to small images",
        fields={
            "optimizer": "adamw",
            "lr": 1e-3,
            "weight_decay": 0.05,
            "head_lr_multiplier": 1.0,
            "batch_size": 128,
            "augment": "crop_flip",
            "label_smoothing": 0.0,
        },
        schedule={"kind": "cosine", "warmup": "250 steps", "cooldown": "0 steps"},
        length="2500 steps",
    ),
    "bv_vit_s16": Recipe(
        source="Beyer et al. 2022 (arXiv 2205.01580), big_vision `configs/vit_s16_i1k.py`; lr at batch 1024",
        fields={
            "optimizer": "adamw_bf16",  # `mu_dtype="bfloat16"` of the config
            "lr": 1e-3,
            "weight_decay": 1e-4,
            "weight_decay_rule": "decoupled",  # big_vision multiplies it by the schedule, not by the learning rate
            "head_lr_multiplier": 1.0,
            "grad_clip": 1.0,
            "batch_size": 1024,
            "augment": "inception_flip",
            "rand_augment_ops": 2,
            "rand_augment_magnitude": 10.0,
            "rand_augment_policy": "big_vision",
            "mixup": 0.2,
            "label_smoothing": 0.0,
        },
        schedule={"kind": "cosine", "warmup": "10000 steps", "cooldown": "0 steps"},
        length="90 epochs",
    ),
    "zhai2021": Recipe(
        source=(
            "Zhai et al. 2021 (arXiv 2106.04560), section 3, and big_vision "
            "`configs/proj/scaling_laws/train_vit_g.py`; lr at batch 4096"
        ),
        fields={
            "optimizer": "adafactor",
            "lr": 8e-4,
            "weight_decay": 0.03,  # the config's .03 * 8e-4, decoupled, is the paper's .03 times the learning rate
            "head_lr_multiplier": 1.0,
            "head_weight_decay": 3.0,  # `wd_mults` of 100 for the head's kernel
            "grad_clip": 1.0,
            "batch_size": 4096,  # the config's 16,384 is of ViT-g
            "augment": "inception_flip",
            "label_loss": "sigmoid",
            "head_bias": -10.0,
            "label_smoothing": 0.0,
        },
        # The cooldown is 50,000 steps where a run is longer than 60,000: set `schedule.cooldown` there.
        schedule={"kind": "rsqrt", "warmup": "10000 steps", "cooldown": "10000 steps"},
        length="60000 steps",
    ),
    "abnar2021": Recipe(
        source="Abnar et al. 2021 (arXiv 2110.02095), appendix; lr at batch 4096, for ViT-L 4e-4",
        fields={
            "optimizer": "adamw",  # "Adam", with the weight decay of Dosovitskiy et al. 2020
            "lr": 8e-4,
            "beta1": 0.9,
            "beta2": 0.999,
            "weight_decay": 0.1,
            "head_lr_multiplier": 1.0,
            "batch_size": 4096,
            "augment": "inception_flip",  # as in Dosovitskiy et al. 2020; the paper does not say
            "label_smoothing": 0.0,
        },
        schedule={"kind": "linear", "warmup": "1000 steps", "cooldown": "0 steps"},
        length="7 epochs",  # of JFT; section 3 of the paper has 7, 14 and 21
    ),
    "deit": Recipe(
        source="Touvron et al. 2021 (arXiv 2012.12877), Table 9, DeiT-B; lr 5e-4 x batch/512 at batch 1024",
        fields={
            "optimizer": "adamw",
            "lr": 1e-3,
            "weight_decay": 0.05,
            "head_lr_multiplier": 1.0,
            "batch_size": 1024,
            **_DEIT_AUGMENTATION,
            "repeats": 3,
            "drop_path": 0.1,
            # The code also keeps a moving average (.99996) by default; the paper's results are of the last weights.
        },
        # The code warms up from 1e-6 and decays to 1e-5, not from and to 0, and its cosine counts from the first step.
        schedule={"kind": "cosine", "warmup": "5 epochs", "cooldown": "0 steps"},
        length="300 epochs",
    ),
    "convnext": Recipe(
        source="Liu et al. 2022 (arXiv 2201.03545), Table 5, ConvNeXt-T; lr at batch 4096",
        fields={
            "optimizer": "adamw",
            "lr": 4e-3,
            "weight_decay": 0.05,
            "head_lr_multiplier": 1.0,
            "batch_size": 4096,
            **_DEIT_AUGMENTATION,
            "drop_path": 0.1,  # T; .4 for S, .5 for B and L; isotropic .1, .2, .5 for S, B, L
            "ema_decay": 0.9999,  # without it the steps from a ResNet, which has BatchNorm: appendix A.1
        },
        schedule={"kind": "cosine", "warmup": "20 epochs", "cooldown": "0 steps"},  # isotropic 50 epochs
        length="300 epochs",
    ),
    "bit": Recipe(
        source="Kolesnikov et al. 2020 (arXiv 1912.11370), section 3.3, BiT-S and M; lr .03 x batch/256 at batch 4096",
        fields={
            "optimizer": "sgd",
            "lr": 0.48,
            "beta1": 0.9,
            "weight_decay": 1e-4,
            "weight_decay_rule": "l2",
            "head_lr_multiplier": 1.0,
            "batch_size": 4096,
            "augment": "inception_flip",
            "label_smoothing": 0.0,
            # big_vision's later configs differ: `bit_i1k.py` by cosine, decoupled decay, clip 1 and a rate of .1 x
            # batch/256, `bit_i21k.py` by the sigmoid loss with a head bias of -10 as well.
        },
        schedule={"kind": "staircase", "warmup": "5000 steps", "cooldown": "0 steps"},
        length="90 epochs",
    ),
    "sam": Recipe(
        source=(
            "big_vision `configs/proj/gsam/vit_i1k_gsam_no_aug.py`, of the authors of Chen, Hsieh and Gong 2021 (arXiv "
            "2106.01548), who train ViT and Mixer so on ImageNet-1k; lr at batch 4096"
        ),
        fields=_SAM,
        schedule={"kind": "linear", "warmup": "10000 steps", "cooldown": "0 steps"},  # to 1 %, not to 0
        length="300 epochs",
        required=_SAM_RHO,
    ),
    "sam_adversarial": Recipe(
        source=(
            "Chen, Hsieh and Gong 2021 (arXiv 2106.01548), who train adversarially with SAM; the images are those of "
            "Wong et al. 2020 (arXiv 2001.03994), Algorithm 3: one step from a random start"
        ),
        fields={**_SAM, "attack_steps": 1},
        schedule={"kind": "linear", "warmup": "10000 steps", "cooldown": "0 steps"},
        length="300 epochs",
        required=_SAM_RHO
        | {"attack_radius": "for which Wong et al. 2020 have 2/255 and 4/255 on ImageNet, 8/255 on CIFAR-10"},
    ),
    "supcon": Recipe(
        source=(
            "Khosla et al. 2020 (arXiv 2004.11362), the loss, two views, projection and temperature; Chen, Hsieh and "
            "Gong 2021 (arXiv 2106.01548), section 5.2, who train ViTs so for 350 epochs, with and without SAM: the "
            "rest is that of `sam`"
        ),
        fields={
            **_SAM,  # 4,096 views of 2,048 images
            "repeats": 2,
            "contrastive_temperature": 0.1,
            "rand_augment_ops": 2,  # Khosla et al. compare AutoAugment, RandAugment and others
            "rand_augment_magnitude": 9.0,
            # Both papers train the classifier when the features are done; beside them, say Khosla et al. in section
            # 4.5, it comes to roughly the same.
        },
        schedule={"kind": "linear", "warmup": "10000 steps", "cooldown": "0 steps"},
        length="700 epochs",  # an epoch sees as many views as there are images: 350 of two views each
    ),
}
"""The recipes by name, as `recipe` of a spec has them."""


def find_recipe(name: str) -> Recipe:
    """The recipe of that name.

    Raises:
        ValueError: no recipe has that name.
    """
    if not isinstance(name, str) or name not in RECIPES:
        raise ValueError(f"recipe must be one of {sorted(RECIPES)}, got {name!r}")
    return RECIPES[name]
