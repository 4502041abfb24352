"""A page of text, tables and pictures as one HTML file that needs nothing beside it."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid #ddd; padding: .25rem .6rem; text-align: left; vertical-align: top; }
th { background: #f4f4f4; }
img { max-width: 100%; }
code { background: #f4f4f4; padding: 0 .2em; }
nav a { margin-right: 1em; }
"""
_HEADING = re.compile(r"<h2>(.*?)</h2>")
_PICTURE = re.compile(r'<img src="([^"]*)"')
_LINK = re.compile(r'<a href="(?!https?:)[^"]*">(.*?)</a>')


def document(title: str, markdown: str, pictures: Mapping[str, bytes]) -> str:
    """Markdown as a whole HTML page, with ``pictures`` (PNG, by the last part of their address) inside of it.

    What the text says is never taken for HTML. Links to files beside it become plain words: they would lead nowhere.
    """
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    body = _PICTURE.sub(lambda found: f'<img src="{_inside(found[1], pictures)}"', _LINK.sub(r"\1", body))
    names = _HEADING.findall(body)
    body = _HEADING.sub(lambda found: f'<h2 id="{_anchor(found[1])}">{found[1]}</h2>', body)
    contents = "".join(f'<a href="#{_anchor(name)}">{name}</a>' for name in names)
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
    whole = f'<html lang="en"><head>{head}</head>\n<body><nav>{contents}</nav>\n{body}</body></html>'
    return f"<!doctype html>\n{whole}\n"


def _inside(address: str, pictures: Mapping[str, bytes]) -> str:
    data = pictures.get(address.rpartition("/")[2])
    return address if data is None else f"data:image/png;base64,{base64.b64encode(data).decode()}"


def _anchor(name: str) -> str:
    return re.sub(r"\W+", "-", name).strip("-").lower()
