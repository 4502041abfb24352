"""Lets the site show what lies beside the result rows: the pages link to it there, as the repository does."""

from pathlib import Path
from typing import Any

_RESULTS = Path(__file__).parent.parent / "results"


def on_files(files: Any, config: Any) -> Any:
    """Take pages and pictures into the site."""
    from mkdocs.structure.files import File

    for path in sorted((*_RESULTS.glob("*.png"), *_RESULTS.glob("*.md"))):
        files.append(File.generated(config, f"results/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **context: Any) -> str:
    """Point to them where the site has them."""
    return markdown.replace("](../results/", "](results/")
