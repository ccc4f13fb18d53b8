"""For mkdocs: laws in the navigation, room for wide tables, formulas without a program from another host."""

import re
from pathlib import Path
from typing import Any

__all__ = ["law_pages", "on_config", "on_page_markdown", "on_post_page"]

_MERMAID = re.compile(r"<script type=\"module\">(?:(?!</script>).)*?cdnjs(?:(?!</script>).)*</script>", flags=re.DOTALL)
# Such as $E = a C^{-b} + c$, but not in a program.
_FORMULA = re.compile(r"<(pre|code|script|style)\b.*?</\1>|(\$\$?)([\w^{}()\\,.+= -]+)\2", flags=re.DOTALL)
_WITHOUT_CONTENTS = {"experiments.md"}  # its tables of six columns take the place of the list beside them


def law_pages(docs: Path) -> list[str]:
    """The pages of laws, in the order of the rows of their table."""
    rows = re.findall(r"^\| \[.*?\]\((\w+)\.md\)", (docs / "laws" / "index.md").read_text(), flags=re.MULTILINE)
    return [f"laws/{name}.md" for name in rows]


def on_config(config: Any) -> Any:
    """A law is in the navigation by its row."""
    for section in config.nav:
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
