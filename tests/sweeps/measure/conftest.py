"""Subjects: small models that were never trained, with a few digits to look at."""

import numpy as np
import pytest
import torch

from sweeps.data.images import load_images
from sweeps.measure.subject import Subject, _plain_copy

from ..conftest import plan_of

CPU = torch.device("cpu")


@pytest.fixture
def subject_of():
    """A subject of the tiny sweep's first model, or of `model`, with changes of the spec and of the model."""

    def make(num_images=20, change=None, **changes) -> Subject:
        config = plan_of(**changes).configs[0]
        train, test = (load_images("digits", split, config.image_size) for split in ("train", "test"))
        rows = np.arange(num_images)
        subject = Subject(config, None, train.take(rows), test.take(rows), CPU)
        model = _plain_copy(config, subject.untrained, CPU)
        if change:
            with torch.no_grad():
                change(model)
        return Subject(config, model, subject.train, subject.test, CPU)

    return make
