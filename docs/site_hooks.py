"""For mkdocs: each law in the navigation, wide tables, formulas without a program from another host."""

import re
from pathlib import Path
from typing import Any

from scaling.laws import LAWS
from sweeps.data.datasets import DATASETS, FOLDER_KINDS
from sweeps.data.suites import SUITES
from sweeps.engines import ENGINES
from sweeps.measure import MEASUREMENTS
from sweeps.models import FAMILIES
from sweeps.specs.recipes import RECIPES

__all__ = [
    "law_page", "law_pages", "names_page", "on_config", "on_files", "on_page_markdown", "on_post_page",
    "unwritten_laws",
]  # fmt: skip

_NAMES_PAGE = "names.md"

_MERMAID = re.compile(r"<script type=\"module\">(?:(?!</script>).)*?cdnjs(?:(?!</script>).)*</script>", flags=re.DOTALL)
# Such as $E = a C^{-b} + c$, but not in a program.
_FORMULA = re.compile(r"<(pre|code|script|style)\b.*?</\1>|(\$\$?)([\w^{}()\\,.+= -]+)\2", flags=re.DOTALL)
_WITHOUT_CONTENTS = {"experiments.md"}  # its tables of six columns take the place of the list beside them


def unwritten_laws(docs: Path) -> list[str]:
    """Names of laws that the table of `laws/index.md` has no row for."""
    written = re.findall(r"`(\w+)`", (docs / "laws" / "index.md").read_text())
    return [name for name in LAWS if name not in written]


def law_page(name: str) -> str:
    """What a law says of itself, for one that nobody has written a page of."""
    law = LAWS[name]
    letters = "\n".join(f"| `{letter}` | from {low:g} to {high:g} |" for letter, low, high in _bounds(name))
    example = ", ".join(f"{letter} = {value:g}" for letter, value in zip(law.params, law.example, strict=False))
    shown = f"For x from 1 to 1,000, for example, {example}.\n\n" if example else ""
    table = f"| letter | its bounds |\n|---|---|\n{letters}"
    return f"# `{name}`\n\n```text\n{law.formula}\n```\n\n{table}\n\n{shown}Source: {law.source}\n"


def _bounds(name: str) -> list[tuple[str, float, float]]:
    law = LAWS[name]
    return list(zip(law.params, law.lower, law.upper, strict=True))


def names_page() -> str:
    """Every name that a spec can give, from the tables of the code: a new row of one needs no line here."""
    families = {name: ", ".join(f"`{field}`" for field in f.model_fields if field != "family")
                for name, f in FAMILIES.items()}  # fmt: skip
    tasks = {
        name: f"{'any number of' if data.generated else f'{data.num_train:,}'} images of {data.num_classes} classes"
        for name, data in DATASETS.items()
    }
    sources = {name: recipe.source for name, recipe in RECIPES.items()}
    parts = {"Model families": families, "Data sets and tasks": tasks, "Recipes": sources}
    others = {"Kinds of folders": FOLDER_KINDS, "Suites": SUITES, "Measurements": MEASUREMENTS, "Engines": ENGINES}
    parts |= {title: dict.fromkeys(table, "") for title, table in others.items()}
    return "# Names in a spec\n" + "".join(_names_table(title, rows) for title, rows in parts.items())


def _names_table(title: str, rows: dict[str, str]) -> str:
    lines = "".join(f"| `{name}` | {said} |\n" for name, said in rows.items())
    return f"\n## {title}\n\n| name | |\n|---|---|\n{lines}"


def on_files(files: Any, config: Any) -> Any:
    """A page of each law that has none, and that of the names."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, _NAMES_PAGE, content=names_page()))
    for name in unwritten_laws(Path(config.docs_dir)):
        files.append(File.generated(config, f"laws/{name}.md", content=law_page(name)))
    return files


def law_pages(docs: Path) -> list[str]:
    """The pages of laws, in the order of the rows of their table."""
    rows = re.findall(r"^\| \[.*?\]\((\w+)\.md\)", (docs / "laws" / "index.md").read_text(), flags=re.MULTILINE)
    return [f"laws/{name}.md" for name in [*rows, *unwritten_laws(docs)]]


def on_config(config: Any) -> Any:
    """A law is in the navigation by its row, and the page of the names with training."""
    for section in config.nav:
        if "Training" in section:
            section["Training"].append({"Names in a spec": _NAMES_PAGE})
        if "Laws" in section:
            section["Laws"] += [{Path(page).stem: page} for page in law_pages(Path(config.docs_dir))]
    return config


def on_page_markdown(markdown: str, page: Any, **others: Any) -> str:
    if page.file.src_uri in _WITHOUT_CONTENTS:
        page.meta["hide"] = ["toc"]
    return markdown


def on_post_page(output: str, page: Any, **others: Any) -> str:
    """Notebooks' pages would load a program for diagrams, and one for formulas: theirs need none."""
    if not page.file.src_uri.endswith(".ipynb"):
        return output
    return _FORMULA.sub(_formula, _MERMAID.sub("", output))


def _formula(match: re.Match[str]) -> str:
    if match[3] is None:
        return match[0]
    text = match[3].replace("\\,", " ").replace("\\alpha", "&alpha;").replace("-", "&minus;")
    raised = re.sub(r"\^\{(.*?)\}", r"<sup>\1</sup>", text)
    lowered = re.sub(r"_\{(.*?)\}", r"<sub>\1</sub>", raised)
    return f"<i>{lowered}</i>"
