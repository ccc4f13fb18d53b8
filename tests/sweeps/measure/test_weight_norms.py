import pytest

from sweeps.measure import weight_norms


def test_norms_and_distances_by_hand(subject_of):
    def double_the_head(model):
        for parameter in model.get_classifier().parameters():
            parameter.mul_(2).add_(1)

    subject = subject_of(change=double_the_head)
    found = {(row["name"], row.get("layer")): row["value"] for row in weight_norms.measure(subject)}
    head = subject.model.get_classifier()
    squares = sum(p.double().square().sum().item() for p in head.parameters())
    assert found["weight_norm", "head"] == pytest.approx(squares**0.5, rel=1e-12)
    start = subject.untrained.get_classifier()
    moved = sum((p.double() + 1).square().sum().item() for p in start.parameters())  # 2 w + 1 - w
    assert found["distance_to_init", "head"] == pytest.approx(moved**0.5, rel=1e-6)  # float32 weights
    assert all(found["distance_to_init", layer] == 0 for layer in ("embedding", "block_1", "pre_logits"))
    norms = {layer: value for (name, layer), value in found.items() if name == "weight_norm"}
    total = sum(p.double().square().sum().item() for p in subject.model.parameters())
    assert sum(v**2 for v in norms.values()) == pytest.approx(total, rel=1e-12)
    assert found["weight_norm_body", None] == pytest.approx(sum(norms.values()) - norms["head"], rel=1e-12)
