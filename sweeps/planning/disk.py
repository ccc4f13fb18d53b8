"""What a sweep writes: decoded images that are not in the cache yet, checkpoints, records and kept models."""

import heapq
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..data.prepare import undecoded
from ..paths import cache_folder
from ..specs.grid import Plan, Trunk
from .memory import training_memory
from .step_shapes import num_evaluations

__all__ = ["DiskUse", "checkpoint_bytes", "disk_use"]

# Of a run with 126 few-shot rows an evaluation, as the demo's have: its files in blocks of 4 KiB with its folder and
# its line of the frozen plan (46 to 50 kB measured), and what each evaluation on the way adds (3.0 kB).
_RUN_BYTES, _EVALUATION_BYTES = 48_000, 3_000
_CODE_BYTES = 5_000_000  # the copy of the code that a folder keeps (4.8 MB measured)
_KEPT = 2  # checkpoints: the newest and the one before


@dataclass(frozen=True)
class DiskUse:
    """Bytes that are written, and those that are free where they go.

    Attributes:
        cache: decoded images that are not there yet, the number of which is `num_undecoded`.
        checkpoints: of the trunks that run at once, at most.
        records: of all runs, with the folder's copy of the code.
    """

    cache: int
    num_undecoded: int
    checkpoints: int
    records: int
    models: int
    cache_free: int
    folder_free: int

    @property
    def folder(self) -> int:
        """What goes into the sweep's folder."""
        return self.checkpoints + self.records + self.models

    @property
    def lacking(self) -> list[str]:
        """A sentence for each disk that is too small; both may be one."""
        wanted = [("the cache of decoded images", self.cache, self.cache_free)]
        wanted += [("the sweep's folder", self.folder, self.folder_free)]
        return [
            f"{name} takes {num / 2**30:.3g} GiB, and {free / 2**30:.3g} GiB are free"
            for name, num, free in wanted
            if num > free
        ]


def disk_use(plan: Plan, num_slots: int, folder: Path) -> DiskUse:
    """What the plan's runs write, none of them trained yet.

    Args:
        folder: that the sweep's folder is to lie in.
    """
    images = undecoded(plan.configs)
    return DiskUse(
        sum(count * size * size * 3 for count, size in images),
        sum(count for count, _ in images),
        checkpoint_bytes(plan.trunks, num_slots),
        _CODE_BYTES + sum(map(_record_bytes, plan.trunks)),
        sum(training_memory(config).weights for config in plan.configs if config.keep_model),
        _free(cache_folder()),
        _free(folder),
    )


def _record_bytes(trunk: Trunk) -> int:
    on_the_way = num_evaluations(trunk.configs) - len(trunk.configs)
    return _RUN_BYTES * len(trunk.configs) + _EVALUATION_BYTES * on_the_way


def checkpoint_bytes(trunks: Sequence[Trunk], num_slots: int) -> int:
    """Of the trunks that take most, as many as run at once; twice, and twice more for a branch that leaves its trunk.

    A trunk's are deleted at its end.
    """
    states = (training_memory(t.configs[0]).state * _KEPT * (2 if t.may_branch else 1) for t in trunks)
    return sum(heapq.nlargest(num_slots, states))


def _free(folder: Path) -> int:
    folder = folder.resolve()
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free
