import pytest
import timm
import torch

TINY, TINY_VIT = "test_resnet", "test_vit"  # of timm's own tests


@pytest.fixture(scope="session")
def tiny_checkpoints(tmp_path_factory):
    """Files with the weights of two timm models of seven classes."""
    torch.manual_seed(3)
    folder = tmp_path_factory.mktemp("timm")
    for name in (TINY, TINY_VIT):
        torch.save(timm.create_model(name, num_classes=7).state_dict(), folder / f"{name}.pth")
    return {name: folder / f"{name}.pth" for name in (TINY, TINY_VIT)}
