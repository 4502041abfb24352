"""One file of a folder of results: a page to read, or a line per accuracy for other programs."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from signnap.errors import SignnapError

from .cells import BANNER, quickened
from .plots import save
from .results import Results
from .targets import HOMES, WHOLE, find_target

# -- a page ------------------------------------------------------------------------------------------------------------

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid #ddd; padding: .25rem .6rem; text-align: left; vertical-align: top; }
th { background: #f4f4f4; }
img { max-width: 100%; }
code { background: #f4f4f4; padding: 0 .2em; }
nav a { margin-right: 1em; }
"""
#: Pages that need the graphs, or that the documentation of the methods includes.
_LEFT_OUT = ("table-datasets", "authors")
_REMARK = re.compile(r"^<!--.*-->\n", re.MULTILINE)
_HEADING = re.compile(r"<h2>(.*?)</h2>")
_PICTURE = re.compile(r'<img src="([^"]*)"')
_LINK = re.compile(r'<a href="(?!https?:)[^"]*">(.*?)</a>')


def html_page(results: Results) -> str:
    """Return all pages and figures as one HTML file, verdicts first; the page of a quick run says so."""
    quick = results.quick
    results = Results(results.path, quickened) if quick else results
    count = lambda target: 1 if quick else target.seeds
    targets = {name: find_target(name) for name in sorted(HOMES, key=lambda name: name not in (WHOLE, "cells"))}
    pictures = {}
    with TemporaryDirectory() as folder:
        for name, target in targets.items():
            if target.figure is not None:
                picture, *_ = save(target.figure(results, count(target)), Path(folder) / name)
                pictures[picture.name] = picture.read_bytes()
    order = [WHOLE, *(name for name in targets if name not in (WHOLE, *_LEFT_OUT))]
    pages = [targets[name].text(name, results, count(targets[name])) for name in order]
    # one heading of the first level, on top: those of the other pages become sections
    markdown = "\n".join([_REMARK.sub("", pages[0]), *(page.replace("# ", "## ", 1) for page in pages[1:])])
    return document("Reproduction", (BANNER if quick else "") + markdown, pictures)


def document(title: str, markdown: str, pictures: Mapping[str, bytes]) -> str:
    """Convert Markdown to one HTML file, with ``pictures`` (PNG, by the last part of their address) inside.

    HTML in the text is escaped. Links to files beside the page become plain words, because nobody gets these files.
    """
    try:
        from markdown_it import MarkdownIt
    except ImportError as error:
        raise SignnapError(
            "pages need markdown-it-py, which is not installed: in a clone, pip install '.[paper]'"
        ) from error
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    body = _PICTURE.sub(lambda found: f'<img src="{_embedded(found[1], pictures)}"', _LINK.sub(r"\1", body))
    names = _HEADING.findall(body)
    body = _HEADING.sub(lambda found: f'<h2 id="{_anchor(found[1])}">{found[1]}</h2>', body)
    contents = "".join(f'<a href="#{_anchor(name)}">{name}</a>' for name in names)
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
    whole = f'<html lang="en"><head>{head}</head>\n<body><nav>{contents}</nav>\n{body}</body></html>'
    return f"<!doctype html>\n{whole}\n"


def _embedded(address: str, pictures: Mapping[str, bytes]) -> str:
    data = pictures.get(address.rpartition("/")[2])
    return address if data is None else f"data:image/png;base64,{base64.b64encode(data).decode()}"


def _anchor(name: str) -> str:
    return re.sub(r"\W+", "-", name).strip("-").lower()


# -- lines -------------------------------------------------------------------------------------------------------------


def json_lines(results: Results) -> str:
    """Return every accuracy as a line of JSON."""
    return "".join(json.dumps(line, allow_nan=False) + "\n" for line in each_accuracy(results))


def each_accuracy(results: Results) -> Iterator[dict[str, Any]]:
    """Yield every accuracy of every probe and encoder, with what it takes to run it again. Failed cells have none.

    Cells that differ only in their measurements have the same encoders, which count once. Seconds are an encoder's
    share of a training with several encoders. A fact that the row does not hold is null.
    """
    known = set()
    for row in results:
        if "error" in row:
            continue
        facts, cost = _facts(row), _cost(row)
        for at, seed in enumerate(row["seeds"]):
            key = json.dumps([facts, seed], sort_keys=True)
            if key in known:
                continue
            known.add(key)
            own = {"iterations": row["iterations"][at], "collapsed": str(seed) in row.get("collapsed", {})}
            for metric, part in (("test accuracy", "test"), ("validation accuracy", "val")):
                for probe, value in enumerate(row[part][at]):
                    found = {"encoder_seed": seed, "probe_seed": probe, "metric": metric, "value": value}
                    yield facts | found | own | cost


def _facts(row: dict[str, Any]) -> dict[str, Any]:
    """Return what was trained and how it was judged; with ``redrawn`` every encoder seed had a split of its own."""
    cell = row["cell"]
    return {
        "method": cell["method"],
        "backbone": cell["settings"].get("backbone", row.get("resolved", {}).get("backbone")),
        "dataset": cell["graph"],
        "split": cell["split"],
        "redrawn": cell["redrawn"],
        "protocol": f"{cell['probe']}, on dropped graphs" if cell["dropped"] else cell["probe"],
        "settings": cell["settings"],
    }


def _cost(row: dict[str, Any]) -> dict[str, Any]:
    """Return what an encoder took, and the device, version and settings that made it."""
    version, resolved = [row.get("signnap"), row.get("revision")], row.get("resolved")
    return {
        "seconds": round(row["seconds"] / len(row["seeds"]), 3),
        "peak_memory_mb": row.get("peak_memory_mb"),
        "device": row.get("device"),
        "version": "+".join(part for part in version if part) or None,
        "config_hash": resolved and hashlib.sha256(json.dumps(resolved, sort_keys=True).encode()).hexdigest()[:16],
    }
