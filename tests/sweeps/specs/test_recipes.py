import pytest
from pydantic import ValidationError

from scaling.cells import CELL_COLUMNS
from scaling.schema import RECORDS
from sweeps.specs.config import RecipeConfig
from sweeps.specs.durations import parse_duration
from sweeps.specs.faults import SpecError
from sweeps.specs.grid import make_plan
from sweeps.specs.recipes import RECIPES, find_recipe
from sweeps.specs.spec import parse_spec
from sweeps.training.schedules import SCHEDULES

from ..conftest import changed

GIVEN = {
    "sam": {"sam_rho": 0.2},
    "sam_adversarial": {"sam_rho": 0.2, "attack_radius": 0.02},
}  # what a row leaves to the spec


def config_of(name, **fields):
    return RecipeConfig.model_validate({"name": name, **GIVEN.get(name, {}), **fields})


@pytest.mark.parametrize("name", RECIPES)
def test_every_row_is_a_recipe_with_a_source_a_schedule_and_a_length(name):
    row = find_recipe(name)
    config = config_of(name)
    assert config.name == name
    assert {field: getattr(config, field) for field in row.fields} == row.fields
    assert "arXiv" in row.source
    assert set(row.schedule) == {"kind", "warmup", "cooldown"}
    assert row.schedule["kind"] in {*SCHEDULES, "staircase"}
    for duration in (row.length, row.schedule["warmup"], row.schedule["cooldown"]):
        parse_duration(duration)
    assert set(row.required) <= set(RecipeConfig.model_fields)


@pytest.mark.parametrize("name", [name for name in RECIPES if RECIPES[name].schedule["kind"] in SCHEDULES])
def test_every_row_makes_a_run(name):
    models = {"vit": [{"width": 16, "depth": 1, "patch": 4}]}
    recipe = {"name": name, **GIVEN.get(name, {})}
    spec = changed(recipe=recipe, schedule=None, steps=None, train_examples=800, model=models, epochs=200_000)
    (config,) = make_plan(parse_spec(spec)).configs
    assert config.recipe == config_of(name)
    assert config.schedule.kind == RECIPES[name].schedule["kind"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        # Learning rates at a row's batch size, from the sources' rules.
        ("deit", {"lr": 5e-4 * 1024 / 512, "batch_size": 1024, "repeats": 3}),
        ("bit", {"lr": 0.03 * 4096 / 256, "optimizer": "sgd", "weight_decay_rule": "l2"}),
        ("zhai2021", {"weight_decay": 0.03, "head_weight_decay": 3.0, "head_bias": -10.0, "label_loss": "sigmoid"}),
        ("bv_vit_s16", {"head_weight_decay": 1e-4, "weight_decay_rule": "decoupled", "grad_clip": 1.0}),
        ("abnar2021", {"lr": 8e-4, "weight_decay": 0.1, "batch_size": 4096}),
        ("convnext", {"lr": 4e-3, "ema_decay": 0.9999, "mixup": 0.8, "cutmix": 1.0}),
        ("sam", {"lr": 3e-3, "weight_decay": 0.3, "sam_rho": 0.2}),
        (
            "sam_adversarial",
            {"lr": 3e-3, "weight_decay": 0.3, "sam_rho": 0.2, "attack_radius": 0.02, "attack_steps": 1},
        ),
        ("supcon", {"lr": 3e-3, "repeats": 2, "contrastive_temperature": 0.1}),
    ],
)
def test_values_of_the_papers(name, values):
    config = config_of(name)
    assert {field: getattr(config, field) for field in values} == pytest.approx(values)


def test_a_spec_changes_single_fields_and_keeps_the_learning_rate():
    config = config_of("zhai2021", batch_size=128, weight_decay=0.1)
    assert (config.batch_size, config.weight_decay, config.head_weight_decay, config.lr) == (128, 0.1, 3.0, 8e-4)


@pytest.mark.parametrize("given", [{}, {"sam_rho": None}])
def test_sam_needs_its_radius_and_says_which(given):
    with pytest.raises(SpecError) as error:
        parse_spec(changed(recipe={"name": "sam", **given}))
    message = str(error.value)
    assert message.startswith("recipe.sam_rho: must be given with recipe 'sam'")
    assert "0.1 to 0.6" in message


def test_adversarial_training_needs_both_its_radii():
    with pytest.raises(SpecError) as error:
        parse_spec(changed(recipe={"name": "sam_adversarial"}))
    lines = str(error.value).splitlines()
    assert [line.split(":")[0] for line in lines] == ["recipe.sam_rho", "recipe.attack_radius"]
    assert "2/255" in lines[1]


def test_other_rows_need_no_radius_and_may_have_one():
    assert config_of("deit").sam_rho is None
    assert config_of("deit", sam_rho=0.1).sam_rho == 0.1


def test_an_unknown_recipe_is_named_beside_the_valid_ones():
    with pytest.raises(ValidationError, match=r"recipe must be one of \['abnar2021'.*got 'bit_l'"):
        RecipeConfig.model_validate({"name": "bit_l"})


@pytest.mark.parametrize(
    ("field", "value", "part"),
    [
        ("rand_augment_policy", "autoaugment", "'timm' or 'big_vision'"),
        ("erase", 1.5, "less than or equal to 1"),
        ("mixup", -0.1, "greater than or equal to 0"),
        ("augment", "flip", "'none', 'crop_flip' or 'inception_flip'"),
        ("label_smoothing", 1.0, "less than 1"),
    ],
)
def test_a_bad_field_is_refused_by_name(field, value, part):
    with pytest.raises(SpecError, match=f"recipe.{field}") as error:
        parse_spec(changed(**{f"recipe__{field}": value}))
    assert part in str(error.value)


def test_runs_of_two_recipes_are_of_two_cells():
    """What a recipe may change and a record holds tells cells apart; the rule's policy is in `augment`."""
    assert set(RecipeConfig.model_fields) & set(RECORDS) <= set(CELL_COLUMNS)
    assert set(RecipeConfig.model_fields) - set(RECORDS) == {"name", "rand_augment_policy"}
