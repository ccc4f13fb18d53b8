"""The pages of laws, tables, recipes and engines say what the code says."""

import importlib.util
import re
from pathlib import Path

import pytest
from PIL import Image

from scaling.laws import LAWS
from scaling.schema import TABLES

DOCS = Path(__file__).parents[2] / "docs"


def script(name):
    """A module of docs/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


HOOKS = script("site_hooks")
UNWRITTEN = HOOKS.unwritten_laws(DOCS)
PAGES_OF_LAWS = {
    name: "lines" if name.endswith("_linear") else name for name in LAWS if name not in UNWRITTEN
}  # written by hand


def page_of(name):
    return HOOKS.law_page(name) if name in UNWRITTEN else (DOCS / "laws" / f"{PAGES_OF_LAWS[name]}.md").read_text()


@pytest.mark.parametrize("name", LAWS)
def test_a_law_has_a_page_with_its_formula_and_letters(name):
    text = page_of(name)
    assert LAWS[name].formula in blocks(text, "text")[0].splitlines()
    letters = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (.*?) \|", text, flags=re.MULTILINE))))
    assert set(LAWS[name].params) <= letters


@pytest.mark.parametrize("name", LAWS)
def test_a_page_names_the_papers_of_its_law(name):
    text = page_of(name)
    assert set(re.findall(r"arXiv [\d.]+\d", LAWS[name].source)) <= set(re.findall(r"arXiv [\d.]+\d", text))


def test_the_table_of_laws_has_each_with_its_formula():
    rows = re.findall(r"^\| (\[.*?) \| (.*?) \|", (DOCS / "laws" / "index.md").read_text(), flags=re.MULTILINE)
    formulas = {name: formula for names, formula in rows for name in re.findall(r"`(\w+)`", names)}
    assert set(formulas) == set(PAGES_OF_LAWS)
    for name, formula in formulas.items():
        assert LAWS[name].formula.split(", T(p)")[0] == formula


def test_a_law_that_nobody_wrote_of_has_a_page_of_its_own_words():
    text = HOOKS.law_page("saturating_power")
    assert "a x^-b + c" in blocks(text, "text")[0]
    assert all(f"| `{letter}` | from 0 to inf |" in text for letter in "abc")
    assert HOOKS.unwritten_laws(DOCS) == [name for name in LAWS if name not in PAGES_OF_LAWS]


@pytest.mark.parametrize("name", sorted(set(PAGES_OF_LAWS.values())))
def test_a_figure_is_drawn_from_the_law_as_it_is(name, tmp_path):
    figures = script("law_figures")
    assert set(figures.FIGURES) == set(PAGES_OF_LAWS.values())
    with Image.open(DOCS / "laws" / f"{name}.png") as image:
        assert image.info["Description"] == figures.described(name), "run python docs/law_figures.py"
    figures.draw(name, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 5000
    assert f"({name}.png)" in (DOCS / "laws" / f"{name}.md").read_text()


def rows_of(table):
    """Of the section of a table: column and kind."""
    section = re.search(rf"^## {table}\n(.*?)(?=^## |\Z)", (DOCS / "records.md").read_text(), re.DOTALL | re.MULTILINE)
    return re.findall(r"^\| `(\w+)` \| (\w+) \| (.+) \|$", section[1], flags=re.MULTILINE)


@pytest.mark.parametrize("table", TABLES)
def test_the_page_of_the_tables_has_their_columns_and_no_other(table):
    assert [row[:2] for row in rows_of(table)] == [(column.name, column.kind) for column in TABLES[table].values()]
    assert all(len(meaning) > 3 for _, _, meaning in rows_of(table))


def test_the_recipes_are_those_of_the_code():
    text = (DOCS / "recipes.md").read_text()
    assert script("tables").with_recipes(text) == text, "run python docs/tables.py"
    assert "### small_scale" in text


def test_a_new_row_of_a_table_is_on_the_page_of_names(monkeypatch):
    for table in ("FAMILIES", "DATASETS", "RECIPES", "FOLDER_KINDS", "SUITES", "MEASUREMENTS", "ENGINES"):
        rows = getattr(HOOKS, table)
        monkeypatch.setitem(rows, f"new_{table}", next(iter(rows.values())))
    page = HOOKS.names_page()
    assert set(re.findall(r"`(new_\w+)`", page)) == {
        "new_FAMILIES", "new_DATASETS", "new_RECIPES", "new_FOLDER_KINDS", "new_SUITES", "new_MEASUREMENTS",
        "new_ENGINES",
    }  # fmt: skip
    assert "| `vit` | `width`, `depth`, `patch`" in page


def test_spec_blocks_of_the_recipes_are_yaml_of_a_recipe():
    import yaml

    from sweeps.specs.config import RecipeConfig

    found = yaml.safe_load(blocks((DOCS / "recipes.md").read_text(), "yaml")[0])
    assert [RecipeConfig.model_validate(found["recipe"] | {"lr": lr}).mixup for lr in found["recipe"]["lr"]] == [
        0,
        0,
        0,
    ]
