"""Which module may import which: no circle, no torch in the analysis, folders of the analysis in one order."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import scaling

ROOT = Path(__file__).parents[1]

# The folders of `scaling`, each of which imports only those before it, and files at the top.
ORDER = (
    "laws", "fitting", "intervals", "selection", "reading", "datasets", "ensemble", "published", "transfer", "frontier",
    "tables", "plots", "figures", "page", "report", "commands",
)  # fmt: skip
TRAINING = {"torch", "torchvision", "timm", "pydantic", "yaml", "sklearn", "sweeps"}
# From a spec to records: these folders and files of `sweeps` run where no analysis is wanted.
RUN_PATH = (
    "specs", "runner", "training", "evaluation", "measure", "models", "data", "augment", "optimizers", "engines",
    "paths", "stopping", "full_disk", "words",
)  # fmt: skip
RECORDS_ONLY = {
    "scaling.schema",
    "scaling.writing",
    "scaling.reading.checks",
    "scaling.command_line",
    "scaling.interrupts",
}
# What else of `scaling` the other folders of `sweeps` use beside its public names.
WITHOUT_A_PUBLIC_NAME = {
    "scaling.selection.usable", "scaling.selection.rules", "scaling.intervals.draws", "scaling.completion",
}  # fmt: skip

# Imports inside a function that close a circle: a thing by its name, a result that shows itself.
LATE = {
    ("scaling.laws.base", "scaling.laws"): "a law that is unpickled is found by its name",
    ("scaling.fitting.objective", "scaling.fitting.objectives"): "an objective that is unpickled is found by its name",
    ("scaling.fitting.fit", "scaling.fitting.fit_text"): "a fit prints itself",
    ("scaling.fitting.fit_law", "scaling.fitting.grouped"): "with groups the answer is a grouped fit",
    ("scaling.notebook_view", "scaling.plots"): "a result draws itself in a notebook",
    ("sweeps.models.modernised_resnet", "sweeps.models.modernised_modules"): "a config builds its model",
    ("sweeps.measure", "sweeps.measure.options"): "options name the measurements",
    ("sweeps.measure.attention_distance", "sweeps.models.layers"): "a config is read without torch",
    ("sweeps.measure.reasons", "sweeps.measure.active_neurons"): "a config is read without torch",
    ("sweeps.measure.reasons", "sweeps.models.layers"): "a config is read without torch",
}


def modules(root: Path, *packages: str) -> dict[str, Path]:
    names = {}
    for path in (path for package in packages for path in (root / package).rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        names[name.removesuffix(".__init__")] = path
    return names


def imports(name: str, path: Path, known: set[str]) -> Iterator[tuple[str, bool]]:
    """What a module imports, and whether a function does it; what only a type checker reads is left out."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]

    def visit(node: ast.AST, late: bool) -> Iterator[tuple[str, bool]]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.Import):
            yield from ((alias.name, late) for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            base = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield (inner if (inner := f"{source}.{alias.name}") in known else source), late
        for child in ast.iter_child_nodes(node):
            yield from visit(child, late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))

    yield from ((found, late) for found, late in visit(ast.parse(path.read_text()), False) if found != name)


def graph(root: Path, *packages: str) -> dict[str, dict[str, bool]]:
    """For each module what it imports, True where only inside functions."""
    known = modules(root, *packages)
    arrows: dict[str, dict[str, bool]] = {}
    for name, path in known.items():
        for found, late in imports(name, path, set(known)):
            arrows.setdefault(name, {})[found] = late and arrows.get(name, {}).get(found, True)
    return arrows


def circles(arrows: dict[str, set[str]]) -> set[str]:
    """Modules on a circle, or on a way into one: those without an arrow are taken away until none is left to take."""
    left = {name: set(found) for name, found in arrows.items()}
    while True:
        free = {name for found in left.values() for name in found if not left.get(name)}
        free |= {name for name, found in left.items() if not found}
        if not free & left.keys() and all(not found & free for found in left.values()):
            return set(left)
        left = {name: found - free for name, found in left.items() if name not in free}


ARROWS = graph(ROOT, "scaling", "sweeps")


def test_no_circle_when_modules_are_imported():
    at_once = {name: {each for each, late in found.items() if not late} for name, found in ARROWS.items()}
    assert circles(at_once) == set()


def test_no_circle_through_functions_but_those_with_a_reason():
    allowed = {name: {each for each in found if (name, each) not in LATE} for name, found in ARROWS.items()}
    assert circles(allowed) == set()
    for first, second in LATE:
        assert ARROWS[first][second], f"{first} imports {second} at its top: no reason is needed"


def test_the_analysis_imports_nothing_of_the_training():
    for name, found in ARROWS.items():
        if name.startswith("scaling"):
            assert not {each.partition(".")[0] for each in found} & TRAINING, name


def folder(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def test_folders_of_the_analysis_have_an_order():
    assert set(ORDER) == {path.parent.name for path in (ROOT / "scaling").glob("*/__init__.py")}
    for name, found in ARROWS.items():
        if name.startswith("scaling.") and folder(name) in ORDER:
            allowed = ORDER[: ORDER.index(folder(name)) + 1]
            later = {each for each, late in found.items() if folder(each) in ORDER and not late}
            assert {folder(each) for each in later if each.startswith("scaling")} <= set(allowed), name


def test_the_order_stands_where_contributors_look():
    text = " ".join((ROOT / "CONTRIBUTING.md").read_text().split())
    assert ", ".join(f"`{name}`" for name in ORDER) in text


def test_a_run_touches_of_the_analysis_only_the_records():
    for name, found in ARROWS.items():
        if name.startswith("sweeps") and folder(name) in RUN_PATH:
            assert {each for each in found if each.startswith("scaling")} <= RECORDS_ONLY, name


def test_the_rest_of_sweeps_uses_public_names():
    public = {f"scaling.{name}" for name in scaling.__all__} | {"scaling", "scaling.laws"}
    for name, found in ARROWS.items():
        if name.startswith("sweeps") and folder(name) not in RUN_PATH:
            used = {each for each in found if each.startswith("scaling")}
            assert used <= public | RECORDS_ONLY | WITHOUT_A_PUBLIC_NAME, name


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ("from .b import x", {"p.a", "p.b"}),
        ("from . import b", {"p.a", "p.b"}),
        ("import p.b", {"p.a", "p.b"}),
        ("def f():\n    from .b import x", {"p.a", "p.b"}),
        ("if TYPE_CHECKING:\n    from .b import x", set()),
        ("x = 1", set()),
    ],
)
def test_a_circle_is_found(wrong, expected, tmp_path):
    (tmp_path / "p").mkdir()
    for name, text in (("__init__", ""), ("a", wrong), ("b", "from .a import y\nimport p.c"), ("c", "")):
        (tmp_path / "p" / f"{name}.py").write_text(text)
    assert circles({name: set(found) for name, found in graph(tmp_path, "p").items()}) == expected


def test_a_late_import_is_told_from_one_at_the_top(tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "a.py").write_text("import json\ndef f():\n    import json, torch\n")
    assert graph(tmp_path, "p") == {"p.a": {"json": False, "torch": True}}
    assert "json" in sys.modules
