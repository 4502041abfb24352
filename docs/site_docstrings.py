"""Puts a code fence around the examples in docstrings, so that the reference shows them as Python."""

from typing import Any

import griffe


class FenceExamples(griffe.Extension):
    """Fence each run of lines from a line that begins with ``>>>`` to the next empty line."""

    def on_instance(self, *, obj: griffe.Object, **others: Any) -> None:
        """Change the docstring of each module, class, function and attribute once it is read."""
        if obj.docstring:
            obj.docstring.value = _fenced(obj.docstring.value)


def _fenced(text: str) -> str:
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if not inside and line.lstrip().startswith(">>>"):
            lines += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)
