import base64
import hashlib
import json
import os
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from scaling.page import Picture, Points, Section, TableView, picture_of, write_page
from scaling.page.cells import table_cells
from scaling.page.write import page_text

from .samples import HOSTILE, axes_of_points, hostile_sections, plain_picture

VOID = {"meta", "img", "input", "br", "link", "hr"}


class Document(HTMLParser):
    """A page as a browser's parser sees it: elements, and the text of each script and style."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice in {tag}"
        self.elements.append((tag, dict(attrs)))
        if tag in self.raw:
            self.raw[tag].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in self.raw:
            self.raw[self.open[-1]][-1] += data
        else:
            self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def page(sections, facts=None, title="Report"):
    return Document(page_text(title, facts or {}, sections))


@pytest.fixture(scope="module")
def hostile_page():
    return page_text("".join(HOSTILE), {"a": "".join(HOSTILE)}, hostile_sections())


def cells_of(**columns):
    return table_cells(TableView("", pd.DataFrame(columns)))


def shown(**columns):
    return [cell.text for row in cells_of(**columns).rows for cell in row]


def test_a_page_is_well_formed_and_its_parts_are_there():
    table = TableView("Laws", pd.DataFrame({"law": ["power"], "E": [0.1]}), "A note.")
    found = page([Section("Law", ("Text.",), (("outlier", "One."),), (plain_picture(),), (table,))], {"runs": 3})
    assert found.open == []
    assert found.all("html") == [{"lang": "en"}]
    assert [attributes["scope"] for attributes in found.all("th")] == ["col", "col", "row"]
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = [attributes["aria-labelledby"] for _, attributes in found.elements if "aria-labelledby" in attributes]
    assert set(named) <= set(ids)
    for text in ("Law", "Text.", "outlier", "One.", "Laws", "A note.", "runs", "3", "power", "0.1"):
        assert text in found.text


def test_a_page_of_nothing_is_a_page():
    found = page([])
    assert (found.open, found.all("nav"), found.all("table")) == ([], [], [])
    empty = page(
        [Section("Runs", tables=(TableView("None", pd.DataFrame()), TableView("No rows", pd.DataFrame({"a": []}))))]
    )
    assert empty.open == []
    assert [attributes["scope"] for attributes in empty.all("th")] == ["col"]


def test_equal_input_gives_equal_bytes():
    pictures = [plain_picture.__wrapped__() for _ in range(2)]
    first, second = (page_text("Report", {"a": 1}, [Section("S", pictures=(each,))]) for each in pictures)
    assert first == second
    assert "<dc:date>" not in pictures[0].svg.decode()


def test_the_policy_names_the_one_script_and_the_one_style_and_allows_nothing_else(hostile_page):
    found = Document(hostile_page)
    (policy,) = [each["content"] for each in found.all("meta") if each.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    scripts = [raw for raw, each in zip(found.raw["script"], found.all("script"), strict=True) if not each]
    assert len(scripts) == len(found.raw["style"]) == 1
    digests = [hashlib.sha256(text.encode()).digest() for text in (*scripts, *found.raw["style"])]
    script, style = (f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    assert rules == {
        "default-src": "'none'", "img-src": "data:", "script-src": script, "style-src": style,
        "base-uri": "'none'", "form-action": "'none'",
    }  # fmt: skip


@pytest.mark.parametrize("where", ["title", "fact", "sections"])
def test_hostile_texts_make_no_element_and_no_attribute(where, hostile_page):
    hostile = "".join(HOSTILE)
    title = hostile[:200] if where == "title" else "Report"
    facts = {hostile[:500]: hostile[:500]} if where == "fact" else {}
    found = Document(hostile_page) if where == "sections" else page([], facts, title)
    assert found.open == []
    assert not {name for name, _ in found.elements} & {"iframe", "base", "link", "object", "textarea", "svg", "form"}
    assert not [name for _, attributes in found.elements for name in attributes if name.startswith("on")]
    assert not any("style" in attributes for _, attributes in found.elements)
    assert all(each["href"].startswith("#") for each in found.all("a"))
    assert all(each["src"].startswith("data:image/svg+xml;base64,") for each in found.all("img"))
    for text in HOSTILE[:4]:
        assert text in found.text


def test_no_character_is_written_that_html_forbids(hostile_page):
    text = hostile_page
    assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", text) is None
    assert "\ufffd" in text


def test_points_are_data_in_order_of_x_and_may_say_anything():
    points = Points(np.array([0.9, 0.1]), np.array([0.2, 0.123456789]), ("</script><!--", "b\x00\n" + "w" * 10_000))
    found = page([Section("S", pictures=(Picture(b"<svg/>", "", points),))])
    island = json.loads(found.raw["script"][0])
    assert island == [[0.1, 0.12346, "b\ufffd\n" + "w" * 119 + "…"], [0.9, 0.2, "</script><!--"]]
    assert "<" not in found.raw["script"][0]
    with pytest.raises(ValueError, match=r"one value a point each, got \(2, 2, 1\)"):
        Points(np.zeros(2), np.zeros(2), ("a",))


def test_numbers_have_four_digits_and_all_of_them_in_the_title():
    (row,) = cells_of(a=[0.123456789], b=[86415592], c=[30000.0], d=[1.23456789e18], e=[0.25], f=[12345678.0]).rows
    assert [cell.text for cell in row] == ["0.1235", "86415592", "30000", "1.235e+18", "0.25", "1.235e+07"]
    assert [cell.full for cell in row] == ["0.123456789", "", "", "1.23456789e+18", "", "12345678.0"]
    assert {cell.kind for cell in row} == {"number"}


def test_what_is_missing_or_infinite_is_said():
    assert shown(a=[np.nan, np.inf, -np.inf, -0.0]) == ["–", "inf", "-inf", "0"]
    assert shown(a=pd.array([1, None], dtype="Int64"), b=[None, "x"]) == ["1", "–", "–", "x"]
    assert shown(a=[pd.NaT, True, False, [1, 2]]) == ["–", "yes", "no", "[1, 2]"]
    assert shown(a=[pd.Timestamp("2024-05-01")]) == ["2024-05-01 00:00:00"]


def test_a_column_is_of_numbers_only_where_all_its_values_are():
    found = cells_of(a=[1.0, np.nan], b=[1, "x"], c=[None, None], d=[True, False], e=np.float32([0.1, 0.2]))
    assert [column.is_number for column in found.columns] == [True, False, False, False, True]


def test_marks_that_are_not_seen_are_codes_and_a_figure_keeps_its_own():
    texts = ["\u202egnp.exe", "run\u200b1", "a\u2066b\ufeff", "\U000e0041", "می\u200cخواهم"]
    assert shown(a=texts) == ["U+202Egnp.exe", "runU+200B1", "aU+2066bU+FEFF", "U+E0041", "می\u200cخواهم"]
    found = page([Section("S", ("\u202egnp",))], {"\u200e": "\u2067"}, "\u202e")
    assert not set(found.text) & set("\u202e\u200e\u2067")
    axes, _ = axes_of_points()
    axes.set_title("\u200b_hidden")  # a space of no width, without which a legend leaves the name out
    picture_of(axes, "")
    assert axes.get_title() == "\u200b_hidden"


def test_many_markers_are_an_image_in_the_document():
    def size(num):
        axes, _ = axes_of_points()
        rng = np.random.default_rng(0)
        axes.plot(1 + 98 * rng.random(num), rng.random(num), "o")
        svg = picture_of(axes, "").svg
        return len(svg), svg.count(b"<use"), svg.count(b"<image")

    few, many = size(500), size(3_000)
    assert (few[1] > 500, few[2]) == (True, 0)
    assert many[1] < 100  # ticks, glyphs, and the markers of the few
    assert many[2] == 1
    assert many[0] < 200_000


def test_columns_may_share_a_name_and_the_index_is_not_shown():
    frame = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"], index=[7, 7])
    found = table_cells(TableView("", frame))
    assert [[cell.text for cell in row] for row in found.rows] == [["1", "2"], ["3", "4"]]


def test_long_names_are_cut_and_sentences_are_not():
    sentence = "A sentence of several words. " * 5
    name, prose = cells_of(a=["w" * 10_000], b=[sentence]).rows[0]
    assert (len(name.text), len(name.full), name.text[-1]) == (60, 1_000, "…")
    assert (prose.text, prose.kind) == (sentence.strip(), "prose")


def test_a_name_of_any_length_fills_no_page():
    name = "w" * 10_000
    section = Section(name, (f"The run {name} is alone.",), ((name, name),), (Picture(b"", name),))
    found = page([section], {name: name}, name)
    assert len(found.text) < 4_000
    assert "w" * 199 + "… is alone." in found.text


def test_points_of_a_picture_lie_where_they_are_drawn():
    axes, hover = axes_of_points()
    box = axes.get_position()
    points = picture_of(axes, "", hover).points
    # x is logarithmic from 1 to 100, y from 0 to 1: halfway is at 10 and at 0.5.
    np.testing.assert_allclose(points.x, [box.x0, (box.x0 + box.x1) / 2, box.x1], rtol=1e-12)  # rounding
    np.testing.assert_allclose(points.y, 1 - (box.y0 + np.array([0.5, 0.3, 0.2]) * box.height), rtol=1e-12)
    assert points.labels == ("run a", "run b", "run c")


def test_points_without_a_place_in_the_axes_are_left_out():
    axes, hover = axes_of_points()
    x, y = [1e3, 10, -1, np.nan, 10], [0.5, 2.0, 0.5, 0.5, 0.25]
    points = picture_of(axes, "", [hover, (axes, x, y, list("abcde"))]).points
    assert points.labels == ("run a", "run b", "run c", "e")
    assert picture_of(axes, "", (axes, [], [], [])).points.labels == ()
    assert picture_of(axes.figure, "").points is None


def test_points_are_read_off_after_the_layout_of_several_axes():
    figure = Figure(layout="constrained")
    left, right = figure.subplots(1, 2)
    right.set_ylabel("a label that\ntakes\nplace")
    pair = [(axes, [0.5], [0.5], [name]) for axes, name in ((left, "left"), (right, "right"))]
    points = picture_of(figure, "", pair).points
    for axes, x in zip((left, right), points.x, strict=True):
        box = axes.get_position()
        assert x == pytest.approx((box.x0 + box.x1) / 2)
    assert points.x[0] < 0.5 < points.x[1]


def test_a_name_that_no_document_may_hold_still_gives_a_drawing():
    axes, _ = axes_of_points()
    axes.set_title(" ".join(text for text in HOSTILE if len(text) < 1_000))
    axes.set_xlabel(r"no formula: $\frac{$")
    axes.yaxis.set_major_formatter(lambda value, place: f"{value}\x07")  # texts that come to be while it is drawn
    svg = picture_of(axes, "").svg
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"


def test_a_page_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "page.html"
    write_page(path, "Report", {}, [])
    before = path.read_bytes()
    assert b"\r" not in before

    class Failing:
        def __str__(self):
            raise RuntimeError("no text")

    with pytest.raises(RuntimeError):
        write_page(path, "Report", {"a": Failing()}, [])
    assert (path.read_bytes(), os.listdir(tmp_path)) == (before, ["page.html"])
    with pytest.raises(OSError, match=r"no/page\.html"):
        write_page(tmp_path / "no" / "page.html", "Report", {}, [])


def test_a_large_page_is_small():
    frame = pd.DataFrame(np.random.default_rng(0).random((1_000, 12)))
    assert len(page_text("Report", {}, [Section("Runs", tables=(TableView("Runs", frame),))])) < 1.5e6
