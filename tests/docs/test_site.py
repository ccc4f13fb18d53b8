"""The pages are built without a broken link, load nothing from elsewhere, and have every public name."""

import importlib.util
import os
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

import scaling as sc

ROOT = Path(__file__).parents[2]
_SECONDS = 240  # of a build: about 15 on a free core
# Attributes by which a page loads something; `a href` only leads elsewhere.
LOADS = {"src", "srcset", "data", "poster"}
MODULES = ("frontier", "transfer", "tables", "plots", "datasets", "published", "tuning", "measurements", "report")
OF_SWEEPS = ("sweeps.models", "sweeps.engines", "sweeps.measure", "sweeps.specs.recipes", "sweeps.trackers")


class Page(HTMLParser):
    """What a page has: anchors, links, and the addresses of what it loads."""

    def __init__(self, text: str):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        elif tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.loads.add(given.get("href", ""))
        self.loads |= {given[name] for name in LOADS if name in given}


def is_elsewhere(address):
    return bool(urlsplit(address).netloc)


def build(folder, site):
    """What building the site of a folder warns of; nothing where all is well.

    `--quiet` would hide the warnings from `--strict`, too.
    """
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}  # of a version that is not the one used
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    done = subprocess.run(command, cwd=folder, env=quiet, capture_output=True, text=True, timeout=_SECONDS)
    said = [line for line in (done.stdout + done.stderr).splitlines() if line and not line.startswith("INFO ")]
    return "\n".join([*said, f"exit code {done.returncode}"] if done.returncode else said)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = tmp_path_factory.mktemp("site")
    assert build(ROOT, site) == ""
    return site


@pytest.fixture(scope="module")
def pages(site):
    return {path.relative_to(site).as_posix(): Page(path.read_text()) for path in site.rglob("*.html")}


def hooks():
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "docs" / "site_hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_navigation(site, pages):
    def names(nav):
        for entry in nav:
            value = entry if isinstance(entry, str) else next(iter(entry.values()))
            yield from [value] if isinstance(value, str) else names(value)

    listed = set(names(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    docs = ROOT / "docs"
    there = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    there |= {f"notebooks/{path.name}" for path in (docs / "notebooks").glob("*.ipynb")}
    there |= {f"laws/{name}.md" for name in hooks().unwritten_laws(docs)}
    listed |= set(hooks().law_pages(docs))
    assert listed == there
    assert {re.sub(r"\.(md|ipynb)$", ".html", name) for name in listed} <= {
        path.relative_to(site).as_posix() for path in site.rglob("*.html")
    }
    assert {"power.html", "lines.html"} <= pages["laws/index.html"].links


def test_nothing_is_loaded_from_another_host(site, pages):
    assert all(page.loads for page in pages.values())
    assert not {(name, address) for name, page in pages.items() for address in page.loads if is_elsewhere(address)}
    for path in site.rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", path.read_text()), path
    inline = re.compile(
        r"url\([\"']?(?:https?:)?//|@import|from [\"']https?:|import\([\"']https?:|\.src\s*=\s*[\"']https?:"
    )
    assert not {name for name in pages if inline.search((site / name).read_text())}


def test_what_is_loaded_is_there(site, pages):
    for name, page in pages.items():
        if name != "404.html":  # is shown at any address, so that its own are absolute
            for address in page.loads - {""}:
                if not address.startswith("data:"):
                    assert (site / name).parent.joinpath(unquote(urlsplit(address).path)).exists(), (name, address)


def test_every_link_within_the_site_leads_to_an_anchor(site, pages):
    checked = 0
    for name, page in pages.items():
        for link in page.links if name != "404.html" else ():
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (site / name).parent.joinpath(unquote(parts.path)).resolve() if parts.path else site / name
            assert target.exists(), (name, link)
            if parts.fragment and target.suffix == ".html":
                checked += 1
                anchors = pages[target.relative_to(site.resolve()).as_posix()].anchors
                assert unquote(parts.fragment) in anchors, (name, link)
    assert checked > 500


def test_formulas_of_notebooks_need_no_program(site):
    page = (site / "notebooks" / "03_compute_frontiers.html").read_text()
    assert "<i>E = a (C + d)<sup>&minus;b</sup> + c</i>" in page
    for path in (site / "notebooks").glob("*.html"):
        code = r"<(pre|code|script|style)\b.*?</\1>|<div class=\"clipboard-copy-txt\".*?</div>"
        assert "$" not in re.sub(code, "", path.read_text(), flags=re.DOTALL), path.name


@cache
def public_names():
    found = {f"scaling.{name}" for name in sc.__all__ if name not in MODULES}
    found |= {f"scaling.{module}.{name}" for module in MODULES for name in getattr(sc, module).__all__}
    return found | {f"{module}.{name}" for module in OF_SWEEPS for name in import_module(module).__all__}


def test_the_reference_has_every_public_name(pages):
    assert set(MODULES) <= set(sc.__all__)
    anchors = {anchor for name, page in pages.items() if name.startswith("reference/") for anchor in page.anchors}
    # Of a function and its module of one name the function stands under its module.
    names = {name for name in public_names() if f"{name}.{name.rpartition('.')[2]}" not in anchors}
    assert names - anchors == set()


def test_what_is_returned_is_no_type_where_it_is_a_sentence(site):
    page = (site / "reference" / "tuning.html").read_text()
    assert "Returns:</strong> The rows of the chosen runs" in page
    assert "<code>The rows of the chosen runs" not in page


def test_special_methods_stand_in_no_reference(pages):
    assert not {anchor for page in pages.values() for anchor in page.anchors if re.search(r"\.__\w+__$", anchor)}


def test_the_search_knows_the_pages(site):
    index = (site / "search" / "search_index.js").read_text()
    assert "laws/saturating_power.html" in index
    assert "scaling.transfer.fit_transfer" in index


SMALL = {
    "site_name": "small",
    "nav": ["index.md"],
    "plugins": ["autorefs"],
    "validation": yaml.safe_load((ROOT / "mkdocs.yml").read_text())["validation"],
}


FAULTS = {
    "[page](gone.md)": "a link 'gone.md', but the target",
    "[anchor](index.md#gone)": "a link 'index.md#gone', but there is no such anchor",
    "[reference][gone.name]": "Could not find cross-reference target 'gone.name'",
    "![figure](gone.png)": "a link 'gone.png', but the target",
    "[root](/x)": "an absolute link '/x'",
}


def test_broken_links_and_references_fail(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(SMALL))
    page = tmp_path / "docs" / "index.md"
    page.write_text("# Small\n\n[a link](index.md#small)\n")
    assert build(tmp_path, tmp_path / "site") == ""
    page.write_text("\n\n".join(["# Small", *FAULTS]))
    (tmp_path / "docs" / "alone.md").write_text("# Not in the navigation\n")
    said = build(tmp_path, tmp_path / "site")
    assert "exit code 1" in said
    for words in (*FAULTS.values(), "alone.md"):
        assert words in said


def test_what_is_loaded_from_elsewhere_is_seen():
    page = Page(
        '<script src="https://unpkg.com/x.js"></script><link rel="stylesheet" href="//cdn.org/a.css"><a href="https://a.org">'
    )
    assert {address for address in page.loads if is_elsewhere(address)} == {"https://unpkg.com/x.js", "//cdn.org/a.css"}
