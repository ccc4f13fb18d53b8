"""Batches brought to a GPU ahead of the training by a thread."""

import queue
import threading
from typing import Any

import torch

from ..batches import Source
from ..images import Images

__all__ = ["PrefetchSource"]

_DEPTH = 2  # batches that wait on the device
_POLL_SECONDS = 0.05


class PrefetchSource:
    """The batches of a source on the host, pinned and copied to the device while earlier steps train.

    Steps are asked for in order; another step than the next one starts anew there.

    Args:
        source: its batches lie on the CPU.
    """

    def __init__(self, source: Source, device: torch.device):
        self.crops = source.crops
        self._source, self._device = source, device
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        self._thread: threading.Thread | None = None
        self._next = 0

    def batch(self, step: int) -> Images:
        if self._thread is None or step != self._next:
            self._start(step)
        ready = self._ready.get()
        if isinstance(ready, BaseException):
            self._stop()
            raise ready
        images, copied = ready
        if copied is not None:
            current = torch.cuda.current_stream(self._device)
            current.wait_event(copied)
            for part in images:
                part.record_stream(current)  # else its memory would be given away while this stream reads it
        self._next = step + 1
        return images

    def close(self) -> None:
        self._stop()
        self._source.close()

    def _start(self, step: int) -> None:
        self._stop()
        self._next = step
        self._ready: queue.Queue[Any] = queue.Queue(_DEPTH)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, args=(step, self._ready, self._stopped), daemon=True)
        self._thread.start()

    def _stop(self) -> None:
        if self._thread is not None:
            self._stopped.set()
            self._thread.join()
            self._thread = None

    def _work(self, step: int, ready: "queue.Queue[Any]", stopped: threading.Event) -> None:
        while not stopped.is_set():
            try:
                item: Any = self._copy(self._source.batch(step))
            # Raised again by `batch`, in the thread that trains.
            except BaseException as error:
                item, step = error, -1
            while not stopped.is_set():
                try:
                    ready.put(item, timeout=_POLL_SECONDS)
                    break
                except queue.Full:
                    continue
            if step < 0:
                return
            step += 1

    def _copy(self, images: Images) -> tuple[Images, Any]:
        if self._stream is None:
            return images.to(self._device), None
        with torch.cuda.stream(self._stream):
            moved = Images(*(part.pin_memory().to(self._device, non_blocking=True) for part in images))
            copied = torch.cuda.Event()
            copied.record(self._stream)
        return moved, copied
