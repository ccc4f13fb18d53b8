import os
import threading

import pytest

from scaling.whole_files import written_whole


def write(path, text):
    with written_whole(path) as file:
        file.write_text(text)


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a.txt"
    write(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write(path, "half" * 100_000 + "\ud800")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_a_link(tmp_path, is_there):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    if is_there:
        target.write_text("old")
    link.symlink_to(target)
    write(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_what_is_no_file_is_written_to_in_place(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    write(pipe, "through")
    reader.join(timeout=10)
    assert found == ["through"]
    assert pipe.is_fifo()
