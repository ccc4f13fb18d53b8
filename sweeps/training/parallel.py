"""One run on several devices of this machine, each of which takes the gradient of its part of the batch.

The run lies with the process that trains it on the first device: weights, optimizer, log, evaluations, checkpoints. It
starts a peer for each other device. For each gradient the peers are told the step and given the weights, and their
gradients are added to its own. A peer thus has no state that could drift or would have to be resumed, takes no memory
for an optimizer, decides nothing and writes nothing; while the run is evaluated or saved, it waits as long as it takes.

Not torch's DistributedDataParallel: that puts gradients together anew after its first step, and in sums of three and
more the order matters, so that a resumed run would differ from an undisturbed one in its last bits.
"""

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import nn

from ..data.training import TrainingData, load_training_data, training_source
from ..optimizers import build_optimizer
from ..paths import TrunkPaths
from ..specs.config import RunConfig
from .acceleration import accelerate
from .initial import initial_model
from .micro_batches import split_rows
from .out_of_memory import is_out_of_memory
from .saved_model import load_model
from .state import TrainingState
from .step import TrainingStep
from .train import FinishedRun, train_trunk

__all__ = ["DeviceGroup", "device_group", "train_on_devices"]

_CONTEXT = multiprocessing.get_context("spawn")  # fork breaks CUDA and torch's threads
_TIMEOUT = timedelta(minutes=30)  # of one exchange, which all have been told to enter; no wait for an evaluation
_LEAVE_SECONDS = 5.0


class DeviceGroup:
    """A process's place among those that share a batch. Number 0 trains, and the others help it."""

    def __init__(self, rank: int, num_devices: int) -> None:
        self.rank, self.num_devices = rank, num_devices

    def begin(self, step: int, num_micro_batches: int | None) -> None:
        """Number 0 tells the others which batch is next, and in how many parts each of them takes its own."""

    def rows(self, num_images: int) -> slice:
        """Of a batch those that are this process's."""
        return split_rows(slice(0, num_images), self.num_devices)[self.rank]

    @torch.no_grad()
    def share_weights(self, model: nn.Module) -> None:
        """Give the others the weights of number 0."""
        weights = list(model.parameters())
        flat = _joined(weights)
        dist.broadcast(flat, 0)
        if self.rank:
            _copy_into(weights, flat)

    @torch.no_grad()
    def add_gradients(self, model: nn.Module, loss: torch.Tensor) -> torch.Tensor:
        """Give number 0 the sum of all gradients and the sum of the losses; with the others nothing of use is left."""
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        flat = _joined([*gradients, loss])
        dist.reduce(flat, 0)
        if not self.rank:
            _copy_into(gradients, flat[:-1])
        return flat[-1].clone()


def _joined(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


def _copy_into(tensors: Sequence[torch.Tensor], flat: torch.Tensor) -> None:
    """They keep their order in memory, such as channels last."""
    for tensor, values in zip(tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True):
        tensor.copy_(values.view(tensor.shape))


def train_on_devices(
    configs: Sequence[RunConfig],
    data: TrainingData,
    paths: TrunkPaths,
    devices: Sequence[str],
    on_step: Callable[[int], None] = lambda num_images: None,
    **options: Any,
) -> Iterator[FinishedRun]:
    """`train_trunk`, whose options it takes, on as many devices as its runs take.

    Raises:
        ValueError: fewer devices than the runs take.
        RuntimeError: a peer failed or died: which, and how.
        torch.OutOfMemoryError: this process's device or a peer's has too little memory.
    """
    with device_group(configs[0], devices) as group:
        yield from train_trunk(configs, data, paths, torch.device(devices[0]), on_step, group=group, **options)


@contextmanager
def device_group(config: RunConfig, devices: Sequence[str]) -> Iterator[DeviceGroup | None]:
    """This process as number 0 of a group of `config.devices_per_run`, whose peers end with it; None alone."""
    count = config.devices_per_run
    if count == 1:
        yield None
        return
    if len(devices) < count:
        raise ValueError(f"devices_per_run: the run takes {count} devices, got {list(devices)}")
    with TemporaryDirectory(prefix="sweeps-") as folder:
        group = _Leader(config, tuple(devices[:count]), Path(folder, "store"))
        failed = True
        try:
            yield group
            failed = False
        except (RuntimeError, OSError, EOFError) as error:
            if (explained := group.explained(error)) is error:
                raise
            raise explained from error
        finally:
            group.close(failed)


class _Peer(NamedTuple):
    device: str
    process: BaseProcess
    connection: Connection


class _Leader(DeviceGroup):
    """Number 0, which starts and ends the others. They join at the first step: loading data may take long."""

    def __init__(self, config: RunConfig, devices: tuple[str, ...], store: Path) -> None:
        super().__init__(0, len(devices))
        self._device, self._store = torch.device(devices[0]), store
        self._peers = [_start(config, devices, rank, store) for rank in range(1, len(devices))]
        self._is_joined = self._is_closed = False
        self._told: Exception | None = None  # a peer's fault that it told before it joined

    def begin(self, step: int, num_micro_batches: int | None) -> None:
        if not self._is_joined:
            for peer in self._peers:
                if (fault := peer.connection.recv()) is not None:
                    self._told = _as_error(peer.device, *fault)
                    raise self._told
        for peer in self._peers:
            peer.connection.send((step, num_micro_batches))
        if not self._is_joined:
            _join(self, self._device, self._store)
            self._is_joined = True
            if self._device.type == "cuda":
                threading.Thread(target=self._end_with_peers, daemon=True).start()

    def explained(self, error: Exception) -> Exception:
        """The peer's fault where one failed or died, else the error itself."""
        if error is self._told or is_out_of_memory(error):
            return error
        ended = wait([peer.process.sentinel for peer in self._peers], timeout=_LEAVE_SECONDS)
        for peer in self._peers:
            if peer.process.sentinel in ended:
                peer.process.join(_LEAVE_SECONDS)  # its pipe closes a moment before its exit code is there
        for peer in self._peers:
            with suppress(EOFError, OSError):
                if peer.connection.poll() and (fault := peer.connection.recv()):
                    return _as_error(peer.device, *fault)
        for peer in self._peers:
            if not peer.process.is_alive():
                how = f"died with exit code {peer.process.exitcode}"
                return RuntimeError(f"the run's process on {peer.device} (of {self.num_devices} devices) {how}")
        return error

    def close(self, failed: bool) -> None:
        """End the others: after a failure they may wait for an exchange that never comes."""
        self._is_closed = True
        for peer in self._peers:
            peer.connection.close()  # which one that waits for a step takes for the end
            if failed:
                peer.process.kill()
        if self._is_joined:
            _leave(at_once=failed and self._device.type == "cuda")
        for peer in self._peers:
            peer.process.join(_LEAVE_SECONDS)
            peer.process.kill()
            peer.process.join()

    def _end_with_peers(self) -> None:
        """NCCL waits for a dead peer for ever, and what it then gives is no gradient: leave before it is saved."""
        wait([peer.process.sentinel for peer in self._peers])
        threading.Event().wait(_LEAVE_SECONDS)
        if not self._is_closed:
            print(self.explained(RuntimeError("the run's process on another device died")), file=sys.stderr, flush=True)
            os._exit(1)


def _leave(at_once: bool) -> None:
    """At once: NCCL would first wait for the others. torch has no public name for it."""
    if at_once:
        from torch.distributed.distributed_c10d import _abort_process_group

        _abort_process_group()
    else:
        dist.destroy_process_group()


def _as_error(device: str, is_memory: bool, message: str, trace: str) -> Exception:
    error = (torch.OutOfMemoryError if is_memory else RuntimeError)(f"on {device}: {message}")
    error.add_note(trace)
    return error


def _join(group: DeviceGroup, device: torch.device, store: Path) -> None:
    options = {}
    if device.type == "cuda":
        torch.cuda.set_device(device)
        options["device_id"] = device
    dist.init_process_group(
        "nccl" if device.type == "cuda" else "gloo",
        init_method=f"file://{store}",
        rank=group.rank,
        world_size=group.num_devices,
        timeout=_TIMEOUT,
        **options,
    )


def _start(config: RunConfig, devices: tuple[str, ...], rank: int, store: Path) -> _Peer:
    ours, theirs = _CONTEXT.Pipe()
    process = _CONTEXT.Process(
        target=_serve, args=(theirs, config, devices[rank], DeviceGroup(rank, len(devices)), store)
    )
    process.start()
    theirs.close()
    return _Peer(devices[rank], process, ours)


def _serve(
    connection: Connection,
    config: RunConfig,
    device: str,
    group: DeviceGroup,
    store: Path,
) -> None:
    """A peer: gradients until the pipe closes. To stop is number 0's to decide, whoever the signals are sent to."""
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        _add_gradients(connection, config, torch.device(device), group, store)
    except EOFError:
        pass
    except Exception as error:  # number 0 raises it again
        message = f"{type(error).__name__}: {' '.join(str(error).split())}"
        fault = (is_out_of_memory(error), message, traceback.format_exc())
        with suppress(OSError):
            connection.send(fault)
        sys.exit(1)
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _add_gradients(
    connection: Connection,
    config: RunConfig,
    device: torch.device,
    group: DeviceGroup,
    store: Path,
) -> None:
    torch.set_num_threads(config.threads)
    model = accelerate(initial_model(config), config, device)
    state = TrainingState(model, build_optimizer(model, config.recipe))
    data = load_training_data(config, torch.device("cpu"))
    teacher = None if config.recipe.teacher is None else load_model(config.recipe.teacher, device)
    with closing(training_source(config, data, device)) as source:
        connection.send(None)  # ready
        state.step, num_micro_batches = connection.recv()
        _join(group, device, store)
        while True:
            step = TrainingStep(config, device, teacher, source.crops, num_micro_batches, group)
            gradient = step.gradient(state, source.batch(state.step))
            for _ in range(1 if config.recipe.sam_rho is None else 2):
                gradient()
            state.step, num_micro_batches = connection.recv()
