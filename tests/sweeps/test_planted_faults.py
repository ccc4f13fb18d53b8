"""One sweep with every fault at once: each ends its own cell, the others finish, and `status` explains them all."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from scaling import read_records
from sweeps.paths import SweepPaths
from sweeps.specs.grid import make_plan
from sweeps.specs.spec import parse_spec

from .conftest import changed, write_photos
from .planted import Planted, free_disk, full_disk

_HUGE = 2**19  # width: a layer of it takes 3 TB, which no machine here has, so that the allocator refuses at once
_DEADLINE_SECONDS = 180
_DISK_BYTES = 32_000_000


def spec_with_faults(photos: Path, task: Path) -> dict:
    """Two cells without a fault come first, since they are the cheapest."""
    vit = {"width": 8, "depth": 1, "patch": 4}
    streamed = {"dataset": "image-folder", "folder": str(photos), "stream": True, "image_size": 8, "val_fraction": 0}
    return changed(
        name="faults",
        model={
            "vit": [
                vit,
                vit | {"recipe": {"lr": 1e18}, "steps": 40},
                vit | {"upstream": streamed, "train_examples": "100%", "steps": 400},
                vit | {"downstream": {"tasks": [f"image-folder:{task}"], "shots": [1]}, "steps": 500},
                vit | {"width": _HUGE, "heads": 1},
            ],
            "resnet": [{"width": 4, "depth": [1, 1]}],
        },
        train_examples=[200],
        steps=[20],
        schedule={"kind": "constant"},
        downstream__tasks=[],
    )


class Disk:
    """A small one of the sweep's own where one may be mounted, else writes that are refused."""

    def __init__(self, folder: Path, planted: Planted):
        self.folder, self._planted, self._ballast = folder, planted, folder / "ballast"
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "tmpfs", str(folder)]
        self.is_mounted = bool(shutil.which("mount")) and subprocess.run(mount, capture_output=True).returncode == 0

    def fill(self) -> None:
        full_disk(self._ballast) if self.is_mounted else self._planted.full.touch()

    def free(self) -> None:
        free_disk(self._ballast) if self.is_mounted else self._planted.full.unlink()

    def close(self) -> None:
        if self.is_mounted:
            subprocess.run(["umount", "-l", str(self.folder)], check=True)


@pytest.fixture
def disk(tmp_path) -> Iterator[Disk]:
    disk = Disk(tmp_path / "disk", Planted(tmp_path / "planted"))
    yield disk
    disk.close()


def test_every_fault_ends_its_own_cell_and_status_explains_it(disk, tmp_path):
    photos, task = tmp_path / "photos", tmp_path / "birds"
    for folder in (photos, task):
        write_photos(folder)
    path, folder = tmp_path / "spec.yaml", disk.folder / "sweep"
    path.write_text(yaml.safe_dump(spec_with_faults(photos, task)))
    configs = make_plan(parse_spec(yaml.safe_load(path.read_text()))).configs
    command = [sys.executable, "-m", "sweeps", "run", str(path), "--out", str(folder), "--slots", "1"]
    log = tmp_path / "log.txt"
    with open(log, "wb") as file:
        runner = subprocess.Popen(command, env=disk._planted.environment, stdout=file, stderr=file)
    try:
        wait_for(lambda: list(folder.glob("runs/*/records.parquet")), runner, log)
        disk.fill()
        spoil(next(photos.glob("train/ant/*.png")))
        shutil.rmtree(task)
        wait_for(lambda: "paused" in log.read_text() and "no space left" in log.read_text(), runner, log)
        disk.free()
        assert runner.wait(_DEADLINE_SECONDS) == 1, log.read_text()
    finally:
        runner.kill()
    records = read_records(folder, wide=False).set_index("run_id")
    assert len(records) == len(configs) == 6
    assert {ended(config): records.loc[config.run_id, "status"] for config in configs} == {
        "vit 8 20 digits": "ok", "resnet 4 20 digits": "ok", "vit 8 40 digits": "diverged",
        "vit 8 400 image-folder": "failed", "vit 8 500 digits": "failed", f"vit {_HUGE} 20 digits": "oom",
    }  # fmt: skip
    for config in configs:
        has_trace = SweepPaths(folder).run(config.run_id).traceback.exists()
        assert has_trace == (records.loc[config.run_id, "status"] in ("failed", "oom"))
    status = subprocess.run([sys.executable, "-m", "sweeps", "status", str(folder)], capture_output=True, text=True)
    assert status.returncode == 1
    text = " ".join(status.stdout.split())
    for word in (
        "ok",
        "diverged",
        "failed",
        "out of memory",
        "ImageError: image cannot be decoded",
        "birds",
        "allocate",
    ):
        assert word in text, status.stdout


def ended(config) -> str:
    return f"{config.model.family} {config.model.width} {config.steps} {config.upstream.dataset}"


def wait_for(happened, runner, log: Path) -> None:
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not happened():
        assert runner.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.01)


def spoil(image: Path) -> None:
    """As a bad block of a disk does: neither size nor date change, so that no plan can tell."""
    before = image.stat()
    image.write_bytes(b"\0" * before.st_size)
    os.utime(image, ns=(before.st_atime_ns, before.st_mtime_ns))
