"""Old pickles of numpy arrays and scipy matrices, read as data.

A pickle is a program. Here the few globals that such files name give inert records of what the file says, the arrays
are built from those records afterwards, and every other global is refused.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SignnapError
from ..storage import cannot_read
from .csr import checked_csr

_MAX_BYTES = 1 << 27
_NUMBER_TYPES = ("f4", "f8", "i4", "i8")
_DAMAGE = (
    pickle.UnpicklingError, ArithmeticError, AttributeError, EOFError, LookupError, RuntimeError, TypeError, ValueError,
)  # fmt: skip


class _Record:
    """What a pickle says about an object: constructor arguments and state, neither of them acted upon."""

    args: tuple[Any, ...]
    state: Any = None

    def __new__(cls, *args: Any) -> _Record:
        record = super().__new__(cls)
        record.args = args
        return record

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Array(_Record):
    pass


class _NumberType(_Record):
    pass


class _Csr(_Record):
    pass


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _NumberType,
    ("scipy.sparse.csr", "csr_matrix"): _Csr,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
}


def read_pickle(path: Path) -> Any:
    """The numpy array, CSR matrix or plain container that a Python 2 pickle holds."""
    try:
        size = path.stat().st_size
        if size > _MAX_BYTES:
            raise SignnapError(f"{path} is {size:,} bytes long, the limit is {_MAX_BYTES:,}")
        content = path.read_bytes()
    except OSError as error:
        raise cannot_read(path, error) from error
    try:
        _check_sizes(content)
        return _built(_Reader(content, path).load())
    except _DAMAGE as error:
        raise SignnapError(f"{path} is damaged, or no pickle of numbers: {error or type(error).__name__}") from error


class _Reader(pickle.Unpickler):
    def __init__(self, content: bytes, path: Path) -> None:
        super().__init__(io.BytesIO(content), fix_imports=False, encoding="latin1")
        self._path = path

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise SignnapError(
                f"{self._path} asks for {module}.{name}: a data file must not run code, so it is not read"
            )
        return _ALLOWED[module, name]


def _check_sizes(content: bytes) -> None:
    """Refuse declared lengths and memo places beyond the file's size, which the reader would allocate unseen."""
    for operation, argument, _ in pickletools.genops(content):
        if operation.name == "LONG_BINPUT" and int(argument or 0) > len(content):
            raise ValueError(f"memo place {argument} in a file of {len(content)} bytes")


def _built(found: Any) -> Any:
    if isinstance(found, _Csr):
        data, indices, indptr = (_array(found.state[part]) for part in ("data", "indices", "indptr"))
        return checked_csr(data, indices, indptr, found.state["_shape"])
    return _array(found) if isinstance(found, _Record) else found


def _array(record: Any) -> np.ndarray:
    """Build a number array from the state numpy gives it: (version, shape, dtype, Fortran order, bytes)."""
    if not isinstance(record, _Array):
        raise TypeError(f"found {type(record).__name__} where an array was expected")
    _, shape, kind, by_columns, raw = record.state
    code, byte_order = kind.args[0], kind.state[1]
    if code not in _NUMBER_TYPES or byte_order not in "<>":
        raise ValueError(f"found an array of {byte_order}{code}, expected one of {', '.join(_NUMBER_TYPES)}")
    numbers = np.frombuffer(raw.encode("latin1"), dtype=byte_order + code)
    return numbers.reshape(shape, order="F" if by_columns else "C")
