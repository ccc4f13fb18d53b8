"""`scaling plot`: which kind, where to, how large."""

import matplotlib.pyplot as plt
import pytest

import scaling as sc
from scaling.figures import KINDS
from tests.scaling import measured

from .calls import answer, call, refused, table

pytestmark = pytest.mark.filterwarnings("ignore::scaling.FitWarning")
FEW = ("--draws", 20)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def given(monkeypatch):
    """What a kind's figure is made of."""
    sources = []
    kind = KINDS["law_comparison"]

    def function(source):
        sources.append(source)
        return plt.subplots()[1]

    monkeypatch.setitem(KINDS, "law_comparison", type(kind)(function, ()))
    return sources


def test_a_figure_of_each_type(path, tmp_path):
    files = [tmp_path / f"f.{kind}" for kind in ("png", "svg", "pdf")]
    found = answer("plot", path, *FEW, "--kind", "lines", *(part for file in files for part in ("--figure", file)))
    assert [row["figure"] for row in found["rows"]] == [str(file) for file in files]
    assert [file.read_bytes()[:4] for file in files] == [b"\x89PNG", b"<?xm", b"%PDF"]


def test_every_option_reaches_the_source(path, tmp_path, given):
    call(
        "plot", path, "--kind", "law_comparison", "--figure", tmp_path / "f.png", "--x", "num_params", "--task", "pets",
        "--shots", 5, "--by", "depth", "--setting", "times", "--law", "power", "--select", "pareto", "--log", "--level",
        0.8, "--draws", 7, "--seed", 3, "--upstream", "spread", "--where", "depth > 1",
    )  # fmt: skip
    source = given[0]
    chosen = {name: getattr(source, name) for name in ("x", "y", "tasks", "by", "setting", "law", "selection")}
    assert chosen == {
        "x": "num_params", "y": "pets_5shot_error", "tasks": ["pets_5shot_error"], "by": "depth", "setting": "times",
        "law": "power", "selection": "pareto",
    }  # fmt: skip
    assert (source.log, source.level, source.num_draws, source.seed) == (True, 0.8, 7, 3)
    assert source.upstream == "spread"
    assert source.records["depth"].min() == 2


def test_the_size_and_the_title(path, tmp_path, given):
    where = ["--kind", "law_comparison", "--figure", tmp_path / "f.png"]
    call("plot", path, *where, "--title", r"100 $ or $\frac{", "--width", 4, "--height", 2, "--dpi", 50)
    assert plt.imread(tmp_path / "f.png").shape[:2] == (100, 200)
    assert plt.gcf().get_suptitle() == r"100 $ or $\frac{"
    call("plot", path, *where, "--width", 4)
    assert plt.imread(tmp_path / "f.png").shape[1] == 600


def test_the_default_is_the_frontier_else_transfer(path, tmp_path, runs):
    assert table("plot", path, *FEW, "--figure", tmp_path / "f.png")[0]["kind"] == "frontier"
    runs.drop(columns="compute_flops").to_parquet(tmp_path / "r.parquet")
    assert table("plot", tmp_path / "r.parquet", *FEW, "--figure", tmp_path / "f.png")[0]["kind"] == "transfer"


def test_the_kinds_are_listed_with_what_these_records_lack(path):
    rows = {row["kind"]: row for row in answer("plot", path, "--list")["rows"]}
    assert rows.keys() == KINDS.keys()
    assert rows["frontier"] == {"kind": "frontier", "needs": "x, y", "missing": ""}
    assert "images_seen" in rows["isoflop"]["missing"]
    assert "measurements" in rows["cka"]["missing"]


def test_the_evals_of_a_shipped_sweep_are_found():
    lacking = {row["kind"]: row["missing"] for row in answer("plot", "demo", "--list")["rows"]}
    assert lacking["layers"] == ""
    assert lacking["cka"]


def test_the_tables_of_a_sweep_are_found(tmp_path):
    records = measured.records(families=("vit",), seeds=(0,))
    sc.write_records(records, tmp_path / "records.parquet")
    sc.write_records(measured.measurements(records), tmp_path / "measurements.parquet", "measurements")
    for source in (tmp_path, tmp_path / "records.parquet"):
        given = ["--kind", "by_layer", "--setting", "distance_to_init", "--figure", tmp_path / "f.svg"]
        assert call("plot", source, *given).exit_code == 0
        assert "distance of the weights" in plt.gcf().axes[0].get_ylabel()
    assert "evals" in refused("plot", tmp_path, "--kind", "best_layers", "--figure", tmp_path / "f.svg")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "--figure out.svg"),
        (["--kind", "fronteer", "--figure", "f.svg"], "--kind must be one of frontier"),
        (["--kind", "frontier", "--figure", "f.gif"], ".png, .svg, .pdf"),
        (["--kind", "isoflop", "--figure", "f.svg"], "images_seen"),
        (["--kind", "transfer", "--task", "cars", "--figure", "f.svg"], "tasks: pets (10-shot)"),
    ],
)
def test_wrong_use_is_one_line(path, given, said):
    assert said in refused("plot", path, *given)


def test_an_analysis_that_says_no(path, tmp_path):
    where = ["--where", "compute_flops < 2e18", "--figure", tmp_path / "f.svg"]
    assert "needs at least" in refused("plot", path, "--kind", "frontier", *where, exit_code=1)
    assert not (tmp_path / "f.svg").exists()


def test_of_a_data_set_without_upstream_errors_upstream_is_its_own(tmp_path):
    args = ("plot", "zhai2021", "--kind", "transfer", "--select", "convex_hull", "--draws", 2)
    assert call(*args, "--figure", tmp_path / "a.png").exit_code == 0
