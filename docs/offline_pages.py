"""For mkdocs: leaves out of pages of notebooks what would load a program for diagrams from another host."""

import re
from typing import Any

__all__ = ["on_post_page"]

_MERMAID = re.compile(r"<script type=\"module\">(?:(?!</script>).)*?cdnjs(?:(?!</script>).)*</script>", flags=re.DOTALL)


def on_post_page(output: str, **others: Any) -> str:
    return _MERMAID.sub("", output) if "cdnjs" in output else output
