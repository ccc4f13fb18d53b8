import pytest
import torch

from sweeps.measure import half_precision
from sweeps.measure.half_precision import cosines

MODELS = {
    "vit": {"width": 16, "depth": 1, "patch": 4},
    "resnet": {"width": 4, "depth": [1, 1]},
    "bit": {"width": 8, "depth": [1, 1]},
    "mixer": {"width": 16, "depth": 1, "patch": 4},
    "convnext": {"width": 8, "depth": [1, 1], "patch": 2},
    "hybrid": {"stem_width": 8, "stem_depth": [1, 1], "width": 16, "depth": 1},
}


@pytest.mark.parametrize("family", MODELS)
def test_features_of_a_new_model_survive_in_every_family(subject_of, family):
    """A number of float16 has 11 bits and one of bfloat16 8: 1 - cosine is of the order of the square of a rounding."""
    rows = list(half_precision.measure(subject_of(model={family: [MODELS[family]]})))
    found = {(row["name"], row["other"]): row["value"] for row in rows}
    for name, most in (("float16", 1e-4), ("bfloat16", 1e-2)):  # some hundred roundings at most
        least, mean = found["feature_cosine_min", name], found["feature_cosine_mean", name]
        assert 1 - most < least <= mean < 1
    assert found["feature_cosine_mean", "bfloat16"] < found["feature_cosine_mean", "float16"]
    assert {row["num_examples"] for row in rows} == {20}


def test_the_model_itself_stays_as_it_is(subject_of):
    subject = subject_of()
    before = {name: value.clone() for name, value in subject.model.state_dict().items()}
    list(half_precision.measure(subject))
    for name, value in subject.model.state_dict().items():
        assert value.dtype == before[name].dtype
        assert torch.equal(value, before[name])


def test_too_large_weights_overflow_in_float16_and_not_in_bfloat16(subject_of):
    def enlarge(model):
        model.fc_norm.weight.mul_(1e5)  # float16 ends at 65504

    rows = list(half_precision.measure(subject_of(change=enlarge)))
    values = {(row["name"], row["other"]): row["value"] for row in rows}
    assert values["feature_cosine_min", "float16"] != values["feature_cosine_min", "float16"]
    assert values["feature_cosine_min", "bfloat16"] > 0.99


def test_cosines_by_hand():
    found = cosines(torch.tensor([[1.0, 0], [1, 1], [1, 2]]), torch.tensor([[0.0, 3], [-2, -2], [2, 4]]))
    assert found.tolist() == pytest.approx([0, -1, 1], abs=1e-12)
    assert cosines(torch.zeros(1, 2), torch.ones(1, 2)).isnan().all()


def test_an_eighth_of_the_images_is_asked(subject_of):
    rows = list(half_precision.measure(subject_of(num_images=40, measure={"names": "all", "max_examples": 80})))
    assert {row["num_examples"] for row in rows} == {10}
