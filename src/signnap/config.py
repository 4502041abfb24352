"""Settings as frozen dataclasses, checked when they are built, and read from and written to TOML."""

from __future__ import annotations

import json
import reprlib
import sys
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from math import inf
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from .errors import SignnapError, unknown_name
from .storage import cannot_read

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")

#: The largest absolute values that fit into the numbers of a tensor.
_LARGEST: dict[type, float] = {int: 2**63 - 1, float: 3.4e38}
#: Names of the types of settings for error messages.
_WORDS: dict[type, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
#: Shortens values in error messages, which may be long or deeply nested.
_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = 80


def build(kind: type[T], values: Mapping[str, Any], origin: str = "the settings") -> T:
    """Make a settings dataclass from plain values, and check every name and type. An unknown name is an error.

    >>> from signnap.methods.settings import Settings
    >>> build(Settings, {"dims": 64})
    Traceback (most recent call last):
    ...
    signnap.errors.SignnapError: the settings: unknown setting 'dims', did you mean 'dim'? ...
    """
    types = get_type_hints(kind)
    for name in values:
        if name not in types:
            raise SignnapError(f"{origin}: {unknown_name('setting', name, types)}")
    checked = {name: _checked(name, value, types[name], origin) for name, value in values.items()}
    missing = [f.name for f in fields(kind) if f.default is MISSING and f.name not in checked]  # type: ignore[arg-type]
    if missing:
        raise SignnapError(f"{origin}: missing setting {missing[0]!r}")
    return kind(**checked)


def _checked(name: str, value: Any, expected: type, origin: str) -> Any:
    largest = _LARGEST.get(expected, inf)
    if isinstance(value, (int, float)) and largest < abs(value) < inf:
        raise SignnapError(f"{origin}: {name} is {_shown(value)}: expected a number of at most {largest:.1e}")
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
        raise SignnapError(f"{origin}: {name} is {_shown(value)}: expected {_WORDS[expected]}")
    return value


def _shown(value: Any) -> str:
    """A value in Python's notation, shortened for an error message."""
    try:
        return _BRIEF.repr(value)
    except ValueError:  # Python refuses to write numbers with thousands of digits
        return "a number of thousands of digits"


def read_toml(path: str | Path) -> dict[str, Any]:
    """Read a TOML file, with or without a byte-order mark."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise cannot_read(Path(path), error) from error
    return parse_toml(content, path)


def parse_toml(content: bytes, path: str | Path) -> dict[str, Any]:
    """Parse the content of a TOML file; errors name its path."""
    try:
        found = tomllib.loads(content.decode("utf-8-sig"))
        repr(found)  # raises the error of a value that cannot be shown here, and not in a later error message
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SignnapError(f"{path} is not a TOML file: {error}") from error
    except RecursionError as error:
        raise SignnapError(f"{path} nests its values too deeply: expected a file of settings") from error
    except ValueError as error:  # Python refuses to read numbers with thousands of digits
        raise SignnapError(f"{path} holds a number of thousands of digits: expected a file of settings") from error
    return found


def to_toml(settings: Any) -> str:
    """Format a flat settings dataclass as TOML, where strings, numbers and booleans look as in JSON."""
    return "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in asdict(settings).items())
