"""Pages for the tests: hostile texts in every place, and a large one."""

from functools import cache

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from scaling.page import Picture, Points, Section, TableView, picture_of

# Each would set a flag or open a dialog if it were ever more than text.
HOSTILE = (
    "<script>window.pwned = 1</script>",
    "\"><img src=x onerror='window.pwned = 2'>",
    "'><svg onload=window.pwned=3>",
    "</script><script>window.pwned = 4</script>",
    "<!--<script>",
    "--></style></title></textarea><script>alert(5)</script>",
    "{{ 7*7 }}{% raw %}${7*7}",
    "javascript:alert(6)",
    "<a href='javascript:alert(7)'>a</a>",
    "<iframe srcdoc='<script>parent.pwned = 8</script>'></iframe>",
    "<base href='http://example.invalid/'><link rel=stylesheet href='http://example.invalid/x.css'>",
    "<meta http-equiv=refresh content='0;url=http://example.invalid'>",
    "long " + "w" * 10_000,
    "\x00\x01\x07\x08\x0b\x0c\x1b\x7f\x85\ufffe\ud800 control",
    "\u202eright to left\u202c \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "new\r\nline\ttab \u2028 \u2029",
    "&lt;b&gt; &amp;amp; &#x3c;",
    "",
)


def axes_of_points(x=(1.0, 10.0, 100.0), y=(0.5, 0.3, 0.2), labels=("run a", "run b", "run c")):
    """Logarithmic in x, drawn without layout: places are easily had by hand."""
    axes = Figure(figsize=(5, 4)).subplots()
    axes.plot(x, y, "o", label="runs")
    axes.set(xscale="log", xlim=(1, 100), ylim=(0, 1))
    return axes, (axes, x, y, labels)


@cache
def plain_picture() -> Picture:
    axes, hover = axes_of_points()
    return picture_of(axes, "Error against compute.", hover)


@cache
def hostile_sections() -> list[Section]:
    """Each text in each place where a page takes one."""
    places = np.linspace(0.1, 0.9, len(HOSTILE))
    sections = []
    for text in HOSTILE:
        picture = Picture(plain_picture().svg, text, Points(places, places, HOSTILE))
        rows = [[each, text, i] for i, each in enumerate(HOSTILE)]
        # As objects: pandas' own type of text cannot hold the half of a surrogate pair.
        frame = pd.DataFrame(rows, columns=pd.Index([text, "same", "number"], dtype=object), dtype=object)
        sections.append(Section(text, (text,), ((text, text),), (picture,), (TableView(text, frame, text),)))
    return sections


def large_sections(num_rows=2_000, num_columns=12, num_points=3_000) -> list[Section]:
    rng = np.random.default_rng(0)
    numbers = {f"quantity_{k}": 10 ** rng.uniform(-3, 20, num_rows) for k in range(num_columns - 1)}
    names = [f"vit-S/16-{i}-lr0.001-wd0.1" for i in range(num_rows)]
    axes = Figure(figsize=(10, 5), layout="constrained").subplots()
    x, y = 10 ** rng.uniform(15, 21, num_points), rng.uniform(0.1, 0.9, num_points)
    axes.plot(x, y, "o")
    axes.set_xscale("log")
    labels = [f"vit-S/16-{i}\ncompute_flops {at:.4g}" for i, at in enumerate(x)]
    table = TableView("Runs", pd.DataFrame({"run_id": names, **numbers}))
    return [Section("Runs", pictures=(picture_of(axes, "All.", (axes, x, y, labels)),), tables=(table,))]
