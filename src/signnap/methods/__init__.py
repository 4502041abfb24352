"""Methods by name. ``signnap.registry.METHODS`` lists them; a method is imported when it is used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..registry import METHODS

if TYPE_CHECKING:
    from .base import Method


def method_class(name: str) -> type[Method]:
    """The class of a method."""
    return METHODS.find(name).load()


def load_method(path: str | Path, **parts: Any) -> Method:
    """Read a run folder or a saved model of any method. ``parts`` are the user's own parts that it was made with."""
    from ..errors import SignnapError
    from ..train.run_folder import RunFolder

    folder = RunFolder(path)
    folder.expect()
    config = folder.read_config()
    name = config.get("method")
    if name not in list(METHODS):  # a list compares with anything that a file may hold
        raise SignnapError(f"{folder.config} names the method {name!r}: expected one of {', '.join(METHODS)}")
    return method_class(name).from_run(folder, config, **parts)


def capabilities() -> list[dict[str, Any]]:
    """The declared properties of every method, and the first line of its docstring as ``about``."""
    shown = ("uses_labels", "reads_features", "inductive", "memory", "time")
    classes = {name: method_class(name) for name in METHODS}
    return [
        {"name": name, **{each: getattr(kind, each) for each in shown}, "about": (kind.__doc__ or "").splitlines()[0]}
        for name, kind in classes.items()
    ]
