"""A copy of the code in a sweep's folder, which its workers import: later edits change no run that waits."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path

__all__ = ["changed_files", "code_files", "code_hash", "drop_old_code", "freeze_code", "git_commit"]

_ROOT = Path(__file__).parents[2]
_PACKAGES = ("scaling", "sweeps")
_SUFFIXES = (".py", ".yaml", ".typed")
_COMMIT = "git_commit.txt"  # in a frozen copy, which is no checkout


def code_files(root: Path = _ROOT) -> dict[str, bytes]:
    """Contents of the packages' files by their paths below `root`; that of this code, or that of a frozen copy."""
    paths = (path for package in _PACKAGES for path in sorted((root / package).rglob("*")))
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths if path.suffix in _SUFFIXES}


def code_hash(files: Mapping[str, bytes]) -> str:
    """Of names and contents, in 12 hexadecimal digits.

    >>> code_hash({"a.py": b"1"}) == code_hash({"a.py": b"1"}) != code_hash({"a.py": b"2"})
    True
    """
    lines = "".join(f"{name} {hashlib.sha256(files[name]).hexdigest()}\n" for name in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()[:12]


def changed_files(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> list[str]:
    """Names of files that differ, or that only one of the two has.

    >>> changed_files({"a.py": b"", "b.py": b""}, {"a.py": b"", "b.py": b"2", "c.py": b""})
    ['b.py', 'c.py']
    """
    return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))


def freeze_code(folder: Path, files: Mapping[str, bytes] | None = None) -> tuple[str, Path]:
    """Copy the packages to `<folder>/code/<hash>`, unless they lie there whole; returns the hash and that folder.

    Args:
        files: from `code_files`, where they are read already.
    """
    files = code_files() if files is None else files
    name = code_hash(files)
    path = folder / "code" / name
    if not path.exists() or code_hash(code_files(path)) != name:
        shutil.rmtree(path, ignore_errors=True)
        _write(path, files)
    (path / _COMMIT).write_text(git_commit() or "")  # the same code may be that of a later commit
    return name, path


def _write(path: Path, files: Mapping[str, bytes]) -> None:
    """A reader sees the whole folder or none."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        for name, content in files.items():
            target = temporary / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            _keep_compiled(_ROOT / name, target)
        os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _keep_compiled(source: Path, target: Path) -> None:
    """Python takes compiled code for that of a file by its time and size: with both kept, workers compile nothing."""
    compiled, kept = Path(cache_from_source(str(source))), Path(cache_from_source(str(target)))
    if target.suffix == ".py" and compiled.exists():
        shutil.copystat(source, target)
        kept.parent.mkdir(exist_ok=True)
        shutil.copyfile(compiled, kept)


def drop_old_code(folder: Path, keep: str | None) -> None:
    """Delete all copies but one, and what a killed runner left half written."""
    for path in (folder / "code").glob("*"):
        if path.name != keep:
            shutil.rmtree(path, ignore_errors=True)


@cache
def git_commit() -> str | None:
    """The commit of this code, also of a frozen copy; None where it does not lie in a checkout of its own."""
    if (frozen := _ROOT / _COMMIT).exists():
        return frozen.read_text() or None
    command = ["git", "-C", str(_ROOT), "rev-parse", "--show-toplevel", "HEAD"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer[1] if Path(answer[0]).resolve() == _ROOT.resolve() else None
