import numpy as np
import pytest
import torch

from sweeps.measure import cka
from sweeps.measure.cka import Similarity, centred_gram
from sweeps.models.layers import layer_names, layer_outputs
from sweeps.training.saved_model import save_model

from ..conftest import plan_of

VIT = {"vit": [{"width": 16, "depth": 2, "patch": 4}]}


def features(rng, num_images, *shape):
    return torch.from_numpy(rng.standard_normal((num_images, *shape)))


def hsic_1(k, m):
    """Song et al. 2012, equation 5, term by term: Nguyen et al. 2020, equation 3."""
    n = len(k)
    k, m = k - np.diag(np.diag(k)), m - np.diag(np.diag(m))
    ones = np.ones(n)
    trace = np.trace(k @ m)
    product = (ones @ k @ ones) * (ones @ m @ ones) / ((n - 1) * (n - 2))
    return (trace + product - 2 / (n - 2) * (ones @ k @ m @ ones)) / (n * (n - 3))


def direct(batches):
    """Nguyen et al. 2020, equation 2, of pairs of features (n, width)."""
    grams = [(x @ x.T, y @ y.T) for x, y in ((x.numpy(), y.numpy()) for x, y in batches)]
    cross = np.mean([hsic_1(k, m) for k, m in grams])
    first, second = (np.mean([hsic_1(pair[side], pair[side]) for pair in grams]) for side in (0, 1))
    return cross / np.sqrt(first * second)


def linear_cka(first, second):
    similarity = Similarity()
    similarity.add([centred_gram(first)], [centred_gram(second)])
    return similarity.values().item()


def test_a_rotation_a_scale_and_a_shift_change_nothing():
    rng = np.random.default_rng(0)
    x = features(rng, 30, 12)
    rotation = torch.linalg.qr(features(rng, 12, 12)).Q
    assert linear_cka(x, 7 * x @ rotation + 100) == pytest.approx(1, abs=1e-10)  # float64
    assert linear_cka(x, x @ features(rng, 12, 12)) < 0.95  # another linear map does


@pytest.mark.parametrize("num_images", [4, 17])
def test_it_is_the_estimator_of_song_and_of_nguyen(num_images):
    rng = np.random.default_rng(num_images)
    batches = [(x := features(rng, num_images, 5), x[:, :2] + features(rng, num_images, 2)) for _ in range(3)]
    assert linear_cka(*batches[0]) == pytest.approx(direct(batches[:1]), rel=1e-10)  # float64 both
    similarity = Similarity()
    for x, y in batches:
        similarity.add([centred_gram(x)], [centred_gram(y)])
    assert similarity.values().item() == pytest.approx(direct(batches), rel=1e-10)


def test_of_independent_features_the_expectation_is_0_unlike_the_biased_estimator():
    """Biased CKA of Gaussian features of widths p and q is sqrt(p q / ((n + p) (n + q))): of two centred Wishart
    matrices E tr(KM) = p q (n - 1) and E tr(KK) = p (n - 1) (n + p)."""
    rng, n, p, q = np.random.default_rng(0), 40, 30, 20
    pairs = [(features(rng, n, p), features(rng, n, q)) for _ in range(200)]
    unbiased = np.array([linear_cka(x, y) for x, y in pairs])
    error = unbiased.std(ddof=1) / np.sqrt(len(pairs))
    assert abs(unbiased.mean()) < 4 * error
    expected = np.sqrt(p * q / ((n + p) * (n + q)))
    assert expected > 40 * error  # so that the two estimators are told apart
    biased = np.mean([_biased(x, y) for x, y in pairs])
    assert biased == pytest.approx(expected, rel=0.03)  # a ratio of means for a mean of ratios: of order 1 / n


def _biased(x, y):
    k, m = (gram - gram.mean(0) - gram.mean(1, keepdim=True) + gram.mean() for gram in (x @ x.T, y @ y.T))
    return float((k * m).sum() / (k.norm() * m.norm()))


def test_it_is_symmetric_and_flattens_what_a_layer_puts_out():
    rng = np.random.default_rng(1)
    x, y = features(rng, 9, 3, 2, 2), features(rng, 9, 5)
    assert linear_cka(x, y) == pytest.approx(linear_cka(y, x), rel=1e-12)
    assert linear_cka(x, y) == linear_cka(x.flatten(1), y)


def test_each_pair_of_layers_has_one_row(subject_of):
    subject = subject_of(model=VIT)
    layers = layer_names(subject.config.model, 8)
    rows = list(cka.measure(subject))
    assert [(row["layer"], row["other"]) for row in rows] == [
        (a, b) for i, a in enumerate(layers) for b in layers[i + 1 :]
    ]
    ((images, _),) = subject.batches(subject.test)
    outputs = layer_outputs(subject.model, images, layers)
    with torch.no_grad():
        expected = direct([(outputs["block_1"].flatten(1).double(), outputs["pre_logits"].double())])
    found = next(row for row in rows if (row["layer"], row["other"]) == ("block_1", "pre_logits"))
    assert found["value"] == pytest.approx(expected, rel=1e-4)  # a Gram matrix in float32
    assert found["num_examples"] == 20


def test_more_images_than_a_minibatch_are_several_of_equal_size(subject_of, monkeypatch):
    monkeypatch.setattr(cka, "_BATCH", 8)
    rows = list(cka.measure(subject_of(model=VIT, num_images=21, measure={"names": "cka", "max_examples": 100})))
    assert {row["num_examples"] for row in rows} == {20}
    rows = list(cka.measure(subject_of(model=VIT, num_images=21, measure={"names": "cka", "max_examples": 12})))
    assert {row["num_examples"] for row in rows} == {6}  # the half


def test_too_few_images_are_told(subject_of):
    with pytest.raises(ValueError, match="cka needs 4 test images or more, got 3"):
        list(cka.measure(subject_of(num_images=3)))


# Another model ------------------------------------------------------------------------------------------------


def of_cka(against):
    return {"names": ["cka"], "against": str(against)}


def between(rows):
    return {(row["layer"], row["other"]): row["value"] for row in rows if ":" in row["other"]}


def test_an_untrained_model_is_like_itself(subject_of):
    found = between(cka.measure(subject_of(model=VIT, measure=of_cka("init"))))
    layers = layer_names(subject_of(model=VIT).config.model, 8)
    assert len(found) == len(layers) ** 2
    assert all(found[layer, f"init:{layer}"] == pytest.approx(1, abs=1e-6) for layer in layers)  # float32


@pytest.fixture
def resnet(subject_of, tmp_path):
    """A kept model of another family, and its config."""
    subject = subject_of(model={"resnet": [{"width": 4, "depth": [1, 1]}]})
    save_model(tmp_path / "model.safetensors", subject.model, subject.config)
    return tmp_path / "model.safetensors", subject


def test_layers_of_another_run_of_another_family(subject_of, resnet):
    path, other = resnet
    subject = subject_of(model=VIT, measure=of_cka(path))
    found = between(cka.measure(subject))
    assert {key[1] for key in found} == {
        f"{other.config.run_id}:{layer}" for layer in layer_names(other.config.model, 8)
    }
    ((images, _),) = subject.batches(subject.test)
    with torch.no_grad():
        pair = [layer_outputs(s.model, images, ["block_1"])["block_1"].flatten(1).double() for s in (subject, other)]
    assert found["block_1", f"{other.config.run_id}:block_1"] == pytest.approx(direct([tuple(pair)]), rel=1e-4)


def test_the_other_model_is_known_by_its_content_not_by_its_place(resnet, tmp_path):
    path, other = resnet
    copy = tmp_path / "copy"
    copy.write_bytes(path.read_bytes())
    runs = [plan_of(measure=of_cka(file)).configs[0].run_id for file in (path, copy, "init")]
    assert runs[0] == runs[1]
    assert len({*runs, plan_of(measure={"names": ["cka"]}).configs[0].run_id}) == 3
    save_model(copy, other.model, other.config.model_copy(update={"seed": 9}))
    assert plan_of(measure=of_cka(copy)).configs[0].run_id != runs[0]


def test_a_model_that_cannot_be_compared_with_is_told_before_training(resnet, tmp_path):
    path, _ = resnet
    with pytest.raises(ValueError, match=r"measure\.against: no file .*none"):
        plan_of(measure=of_cka(tmp_path / "none"))
    with pytest.raises(ValueError, match=r"measure\.against: must take images of 16 px, got 8"):
        plan_of(measure=of_cka(path), upstream__image_size=16)
    with pytest.raises(ValueError, match=r"measure\.against: is read by cka, which measure\.names lacks"):
        plan_of(measure={"names": ["weight_norms"], "against": "init"})


def test_a_model_that_changes_after_the_plan_is_no_silent_wrong_answer(subject_of, resnet):
    path, other = resnet
    subject = subject_of(model=VIT, measure=of_cka(path))
    save_model(path, other.model, other.config.model_copy(update={"seed": 9}))
    with pytest.raises(ValueError, match="has changed since the run was planned"):
        list(cka.measure(subject))
