"""The copy of the code in a sweep's folder."""

import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path

from sweeps.runner import frozen_code
from sweeps.runner.frozen_code import code_files, code_hash, drop_old_code, freeze_code, git_commit


def test_a_frozen_copy_is_the_code(tmp_path):
    name, path = freeze_code(tmp_path)
    assert path == tmp_path / "code" / name
    assert code_files(path) == code_files()
    assert {"scaling/records.py", "sweeps/runner/jobs.py"} <= code_files().keys()
    assert any(file.endswith(".yaml") for file in code_files())
    assert not list((tmp_path / "code").glob("*.tmp"))


def test_the_same_code_is_not_copied_again_and_a_damaged_copy_is(tmp_path):
    _, path = freeze_code(tmp_path)
    file = path / "sweeps" / "runner" / "jobs.py"
    before = file.stat().st_ino
    assert freeze_code(tmp_path)[1] == path
    assert file.stat().st_ino == before
    file.write_text("")
    freeze_code(tmp_path)
    assert file.read_bytes() == code_files()["sweeps/runner/jobs.py"]


def test_another_code_has_another_hash_and_old_copies_go(tmp_path):
    files = code_files()
    name, _ = freeze_code(tmp_path, files)
    changed, path = freeze_code(tmp_path, files | {"sweeps/runner/jobs.py": b"x = 1"})
    assert changed == code_hash(files | {"sweeps/runner/jobs.py": b"x = 1"}) != name
    assert (path / "sweeps" / "runner" / "jobs.py").read_bytes() == b"x = 1"
    assert {item.name for item in (tmp_path / "code").iterdir()} == {name, changed}
    drop_old_code(tmp_path, changed)
    assert [item.name for item in (tmp_path / "code").iterdir()] == [changed]


def test_a_copy_knows_the_commit_and_is_imported_without_being_compiled_anew(tmp_path):
    """Compiled code is kept where its source has been compiled: `frozen_code` has, by this test's import."""
    _, path = freeze_code(tmp_path)
    compiled = Path(cache_from_source(str(path / "sweeps" / "runner" / "frozen_code.py")))
    before = compiled.read_bytes() if compiled.exists() else None
    code = "from sweeps.runner import frozen_code as f; print(f.__file__); print(f.git_commit())"
    environment = {"PYTHONPATH": str(path)}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert result.stdout.splitlines() == [str(path / "sweeps" / "runner" / "frozen_code.py"), str(git_commit())]
    if before:
        assert compiled.read_bytes() == before


def test_code_without_git_has_no_commit(monkeypatch):
    monkeypatch.setenv("PATH", "")
    frozen_code.git_commit.cache_clear()
    assert git_commit() is None
    frozen_code.git_commit.cache_clear()
