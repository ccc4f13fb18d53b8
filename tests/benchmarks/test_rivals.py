"""The script beside the rivals runs with and without them."""

from . import rivals


def test_an_absent_rival_is_named_in_one_line(capsys):
    assert rivals.find("no_such_rival") is None
    assert capsys.readouterr().out == "no_such_rival is absent (No module named 'no_such_rival'): left out\n"


def test_a_contestant_that_fails_is_listed_with_its_reason(capsys):
    def fails():
        raise ValueError("law must be one of these\nand more")

    rivals.compare("title", {"fails": fails, "fits": lambda: {"a": 2.0}}, lambda params: params["a"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[3].split() == ["fails", "no", "fit:", "law", "must", "be", "one", "of", "these"]
    assert lines[4].split()[2:] == ["1.0", "2"]
