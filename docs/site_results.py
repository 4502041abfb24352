"""Adds the pages and figures in results/ to the site, because pages in docs/ link to them."""

from pathlib import Path
from typing import Any

_RESULTS = Path(__file__).parent.parent / "results"


def on_files(files: Any, config: Any) -> Any:
    """Add each page and figure of results/ below results/ in the site."""
    from mkdocs.structure.files import File

    for path in sorted((*_RESULTS.glob("*.png"), *_RESULTS.glob("*.md"))):
        files.append(File.generated(config, f"results/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **context: Any) -> str:
    """Rewrite links to results/, which lies beside docs/ in the repository and inside the site."""
    return markdown.replace("](../results/", "](results/")
