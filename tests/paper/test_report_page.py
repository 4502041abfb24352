"""``signnap report FILE.html``: one file with all tables and pictures, in which text is never HTML."""

import base64
import sys
from html.parser import HTMLParser

import pytest

from signnap.errors import SignnapError
from signnap_paper.report import document

TEXT = """
# Title

Some *words*, `code` and <script>alert(1)</script>, [far](https://example.org/x) and [near](../results/a.md).

## First part

![one](../results/one.png)

## First part & more

![two](elsewhere/two.png)

| a | b |
| --- | --- |
| 1 | **2** |
"""


class Reader(HTMLParser):
    """Collects every tag with its attributes, and checks that tags are closed in order."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.open = [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture
def page():
    return document("A <title>", TEXT, {"one.png": b"picture"})


def test_it_is_a_page_with_tables(page):
    read = Reader(page)
    assert page.startswith("<!doctype html>") and "<title>A &lt;title&gt;</title>" in page
    assert len(read.all("table")) == 1 and [len(read.all(cell)) for cell in ("th", "td")] == [2, 2]
    assert "<em>words</em>" in page and "<strong>2</strong>" in page and "<code>code</code>" in page


def test_text_is_never_html(page):
    assert Reader(page).all("script") == [] and "&lt;script&gt;" in page


def test_pictures_are_inside(page):
    one, two = Reader(page).all("img")
    assert one["src"] == f"data:image/png;base64,{base64.b64encode(b'picture').decode()}"
    assert two["src"] == "elsewhere/two.png"


def test_every_part_has_a_link_and_every_link_a_target(page):
    read = Reader(page)
    assert [part["id"] for part in read.all("h2")] == ["first-part", "first-part-amp-more"]
    assert [link["href"] for link in read.all("a")] == [
        "#first-part", "#first-part-amp-more", "https://example.org/x"
    ]  # fmt: skip
    assert "near." in page


def test_without_markdown_it_the_error_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    with pytest.raises(SignnapError, match=r"^pages need markdown-it-py, .*clone, pip install '\.\[paper\]'$"):
        document("T", "text", {})
