"""What the engines' tests run in workers, which import it by its name."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

from sweeps.stopping import Interrupted, check_stop


def add(a, b, devices, report):
    report(a)
    return f"{a + b} on {devices[0]}"


def die(how, devices, report):
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "exit":
        os._exit(3)
    if how == "raise":
        raise ValueError("steps: must be positive,\n got 0")
    return how


def die_once(folder, index, devices, report):
    """The first job's process is killed the first time."""
    begun = Path(folder, f"begun-{index}")
    again = begun.exists()
    begun.touch()
    if index == 0 and not again:
        os.kill(os.getpid(), signal.SIGKILL)
    return index


def describe_worker(devices, report):
    import sweeps
    import sweeps.runner.progress  # only now, as much of the package is imported: it must be the frozen copy too

    return {
        "devices": list(devices),
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "gpus": os.environ.get("CUDA_VISIBLE_DEVICES"),
        "files": [sweeps.__file__, sweeps.runner.progress.__file__, sys.modules["sweeps.stopping"].__file__],
        "pid": os.getpid(),
        "folder": os.getcwd(),
    }


def save_when_told(folder, index, devices, report):
    """A training that takes a second to save its state, and that nothing else ends."""
    Path(folder, f"begun-{index}").touch()
    try:
        while True:
            time.sleep(0.02)
            report(1)
            check_stop()
    except Interrupted:
        time.sleep(1)
        Path(folder, f"saved-{index}").write_text(str(os.getpid()))
        raise


def wait_for(folder, name, index, devices, report):
    """Ends once there is a file of that name."""
    Path(folder, f"begun-{index}").touch()
    report(os.getpid())
    while not Path(folder, name).exists():
        time.sleep(0.02)
    return index


def preempted(folder, index, devices, report):
    """The second job's task makes room for others once, told as Slurm does; returns how often the job was begun."""
    begun = Path(folder, f"begun-{index}")
    times = int(begun.read_text()) + 1 if begun.exists() else 1
    begun.write_text(str(times))
    if index == 1 and times == 1:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGUSR2)).start()
        os.kill(os.getpid(), signal.SIGTERM)
        try:
            check_stop()
        except Interrupted:
            Path(folder, "saved").touch()
            raise
    return times


def meet(folder, how_many, index, devices, report):
    """Ends once so many have begun."""
    Path(folder, f"begun-{index}").touch()
    while len(list(Path(folder).glob("begun-*"))) < how_many:
        time.sleep(0.02)
    return os.environ["CUDA_VISIBLE_DEVICES"], devices
