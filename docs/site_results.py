"""Adds the results of the repository to the site, because pages in docs/ link to them."""

import re
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parent.parent
_ADDED = (
    "results/*.png",
    "results/*.md",
    "results/rows.jsonl",
    "benchmarks/results/*.md",
    "benchmarks/results/*.jsonl",
)


def on_files(files: Any, config: Any) -> Any:
    """Add each page and figure of results at the path that it has in the repository."""
    from mkdocs.structure.files import File

    for path in sorted(path for pattern in _ADDED for path in _ROOT.glob(pattern)):
        files.append(File.generated(config, path.relative_to(_ROOT).as_posix(), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **context: Any) -> str:
    """Rewrite links between docs/ and results, which lie beside docs/ in the repository and inside the site."""
    return re.sub(r"\]\(\.\./(results|benchmarks)/", r"](\1/", markdown).replace("](../docs/", "](../")
