"""Records, measurements and evals of invented models, in the form that a sweep writes them."""

import numpy as np
import pandas as pd

DEPTHS = {"vit": 12, "mixer": 12, "resnet": 9}
VARIANTS = {"vit": "Ti/8", "mixer": "S/8", "resnet": "18"}
RECIPES = {"small_scale": None, "sam": 0.05}


def records(*, families=("vit", "resnet"), seeds=(0, 1), decays=(0.05,), recipes=("small_scale",)):
    """A run a combination; the family's best decay of the head is .1 upstream, .01 for pets."""
    rng = np.random.default_rng(0)
    rows = []
    for family in families:
        for recipe in recipes:
            for decay in decays:
                for seed in seeds:
                    best = 0.3 + 0.02 * np.log10((decay + 1e-3) / 0.1) ** 2 - 0.03 * (recipe == "sam")
                    rows.append(
                        {
                            "run_id": f"{family}-{recipe}-{decay:g}-{seed}", "step": 900, "weights": "last",
                            "upstream_dataset": "procedural", "model_family": family,
                            "model_variant": VARIANTS[family], "depth": DEPTHS[family],
                            "train_examples": 6000, "planned_steps": 900, "cooled_down": True, "status": "ok",
                            "recipe": recipe, "sam_rho": RECIPES[recipe], "head_weight_decay": decay, "seed": seed,
                            "upstream_error": best + 0.01 * rng.standard_normal(),
                            "pets_10shot_error": best + 0.1 + 0.02 * np.log10((decay + 1e-3) / 0.01) ** 2,
                        }
                    )  # fmt: skip
    return pd.DataFrame(rows)


def layers(family, head=False):
    blocks = [f"block_{i}" for i in range(1, DEPTHS[family] + 1)]
    return ["embedding", *blocks, "pre_logits", *(["head"] if head else [])]


def measurements(runs):
    """Rows of each run, out of order, as tables of several workers are."""
    rng = np.random.default_rng(1)
    rows = [
        {"run_id": run.run_id, "step": run.step, "weights": run.weights, **row}
        for run in runs.itertuples() for row in _rows_of(run, rng)
    ]  # fmt: skip
    return pd.DataFrame(rows).sample(frac=1, random_state=0, ignore_index=True)


def _rows_of(run, rng):
    flat = 0.4 if run.recipe == "sam" else 1.0
    noise = lambda: float(np.exp(0.05 * rng.standard_normal()))  # noqa: E731
    for place, layer in enumerate(layers(run.model_family, head=True)):
        yield {"name": "weight_norm", "layer": layer, "value": (3 + 0.4 * place) * noise()}
        yield {"name": "distance_to_init", "layer": layer, "value": (1 + 0.3 * place) * noise()}
    for split, loss in (("train", 1.0), ("test", 0.6)):
        for name, layer, size in (("head_margin", "head", 3.0), ("pre_logits_margin", "pre_logits", 0.8)):
            value = size * loss / (0.05 + run.head_weight_decay) ** 0.3 * noise()
            yield {"name": name, "dataset": "procedural", "split": split, "value": value, "layer": layer,
                   "num_examples": 256}  # fmt: skip
    yield {"name": "head_margin", "dataset": "pets", "split": "fewshot", "layer": "head", "value": 0.8}
    yield {"name": "hessian_top_eigenvalue", "dataset": "procedural", "split": "train", "value": 80 * flat**2 * noise()}
    yield {"name": "sharpness", "dataset": "procedural", "split": "train", "other": "rho=0.05", "value": 0.2 * flat}
    for place in range(1, DEPTHS[run.model_family] + 1):
        share = (0.5 - 0.02 * place) * flat**0.5 * noise()
        for other in (None, "token_mlp", "channel_mlp") if run.model_family == "mixer" else (None,):
            yield {"name": "active_share", "layer": f"block_{place}", "other": other, "value": share}
        for head in range(3) if run.model_family == "vit" else ():
            reach = 12 - 10 * np.exp(-0.3 * place * (head + 0.4)) * noise()
            yield {"name": "attention_distance", "layer": f"block_{place}", "head": str(head), "value": max(reach, 1)}
    names = layers(run.model_family)
    for i, layer in enumerate(names):
        for j, other in enumerate(names[i + 1 :], i + 1):
            alike = np.exp(-((i - j) ** 2) / (8 if run.model_family == "resnet" else 40))
            yield {"name": "cka", "layer": layer, "other": other, "value": float(alike)}
    yield {"name": "corruption_error", "dataset": "procedural", "split": "test", "other": "clean:0",
           "value": run.upstream_error}  # fmt: skip
    for kind, size in (("gaussian_noise", 0.06), ("defocus_blur", 0.04), ("contrast", 0.03), ("pixelate", 0.02)):
        for severity in range(1, 6):
            error = min(run.upstream_error + size * severity * (0.6 + 0.4 * flat), 1)
            yield {"name": "corruption_error", "dataset": "procedural", "split": "test",
                   "other": f"{kind}:{severity}", "value": error}  # fmt: skip
    for radius in (0.001, 0.0039, 0.0078, 0.0157):
        for name, power in (("fgsm_error", 40), ("pgd_error", 70)):
            error = 1 - (1 - run.upstream_error) * np.exp(-power * radius * flat**0.5)
            yield {"name": name, "dataset": "procedural", "split": "test", "other": f"eps={radius:g}", "value": error}
    for x in np.linspace(-1, 1, 9):
        for y in np.linspace(-1, 1, 9):
            loss = 0.3 + 6 * flat * (x**2 + 0.5 * y**2 + 0.2 * x * y) + 0.2 * flat * np.sin(5 * x) ** 2
            yield {"name": "loss", "dataset": "procedural", "split": "train", "other": f"{x:g},{y:g}", "value": loss}
    yield {"name": "near_duplicates", "dataset": "procedural", "split": "train", "value": 3.0}
    yield {"name": "near_duplicates", "dataset": "pets", "split": "train", "value": 1.0}


def evals(runs):
    """Probes of every layer and fine-tuning, which has none."""
    rng = np.random.default_rng(2)
    rows = []
    for run in runs.itertuples():
        key = {"run_id": run.run_id, "step": run.step, "weights": run.weights}
        names = layers(run.model_family)
        for task, best in (("digits", 0.6), ("pets", 0.85)):
            for probe in ("whitened", "plain"):
                for place, layer in enumerate(names):
                    position = place / (len(names) - 1)
                    for draw in range(3):
                        error = 0.3 + 0.5 * (position - best) ** 2 + 0.005 * rng.standard_normal()
                        rows.append(
                            {**key, "task": task, "method": "fewshot", "probe": probe, "num_shots": 10, "layer": layer,
                             "l2_rule": "fixed", "draw": draw, "error": error, "num_train": 100, "num_eval": 1000}
                        )  # fmt: skip
            rows.append({**key, "task": task, "method": "finetune", "lr": 0.01, "error": 0.2, "num_eval": 1000})
    return pd.DataFrame(rows).sample(frac=1, random_state=0, ignore_index=True)
