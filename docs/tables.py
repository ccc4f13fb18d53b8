"""Writes the tables of `recipes.md` that follow from the code: `python docs/tables.py`. A test finds old ones."""

import re
from pathlib import Path

from sweeps.specs.recipes import RECIPES, Recipe

__all__ = ["with_recipes"]

PAGE = Path(__file__).parent / "recipes.md"
_BLOCK = re.compile(r"(<!-- recipes: written by docs/tables.py -->\n).*(<!-- end -->)", flags=re.DOTALL)


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _section(name: str, recipe: Recipe) -> str:
    rows = {f"`{field}`": _value(value) for field, value in recipe.fields.items()}
    rows |= {f"`schedule.{field}`": value for field, value in recipe.schedule.items()}
    rows["length, where a spec gives none"] = recipe.length
    needed = "".join(f"\nA spec must give `{field}`, {why}.\n" for field, why in recipe.required.items())
    lines = "\n".join(f"| {field} | {value} |" for field, value in rows.items())
    return f"### {name}\n\nFrom {recipe.source}.\n{needed}\n| field | value |\n|---|---|\n{lines}\n"


def with_recipes(text: str) -> str:
    """A page whose block of recipes is that of `RECIPES`."""
    sections = "\n".join(_section(name, recipe) for name, recipe in RECIPES.items())
    return _BLOCK.sub(lambda match: f"{match[1]}\n{sections}\n{match[2]}", text)


if __name__ == "__main__":
    PAGE.write_text(with_recipes(PAGE.read_text()))
