"""The folder of a run: settings, facts, metrics, weights and training state.

Every file is complete at every moment, except for the last line of the metrics. ``state.pt`` alone decides where a
resumed run continues, and ``metrics.jsonl`` is cut back to that iteration. So a process may be killed between any two
writes, and the resumed run still equals one that was never killed.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from ..config import parse_toml
from ..errors import SignnapError
from ..storage import (
    alone,
    append_regular,
    expect_folder,
    open_regular,
    path_of,
    read_regular,
    remove_leftovers,
    replacing_regular,
    stat_regular,
    write_regular,
)
from .run import Run
from .run_info import HASHES, RunInfo

_log = logging.getLogger(__name__)

#: The numbers of every record of the metrics: its position, and the numbers by which a collapse is detected.
_LOGGED = ("iteration", "seconds", "loss", "norm", "effective_rank", "uniformity")

#: The most bytes that are read from a file: of a few dozen settings; of facts with a million feature names; of the
#: metrics of some ten million iterations; of tensors whose sizes are unknown before the file is read.
_MOST_CONFIG, _MOST_FACTS, _MOST_METRICS, _MOST_TENSORS = 2**20, 2**28, 2**30, 2**40
#: The most bytes that a file of tensors has beside the tensors: names, shapes, states of generators.
_OVERHEAD = 2**24


class RunFolder:
    """Reads and writes the files of one run.

    The folder may come from another person, so this class opens regular files only, and follows no link inside the
    folder. The path of the folder itself may be a link, because the user has named it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = _expect_path(path)
        self.config, self.metrics = self.path / "config.toml", self.path / "metrics.jsonl"
        self.model, self.state = self.path / "model.safetensors", self.path / "state.pt"
        self.facts, self.trace = self.path / "run.json", self.path / "trace.json"
        self.files = (self.config, self.metrics, self.model, self.state, self.facts, self.trace)
        self._present: dict[str, str] = {}  # the hashes of files that this object has written or seen

    def seed_folder(self, seed: int) -> Path:
        """The folder of one of several seeds inside this folder. Like the files of a run, it may not be a link."""
        path = self.path / f"seed-{seed}"
        if os.path.islink(path):
            raise SignnapError(f"{path} is a symbolic link: expected a folder")
        return path

    def exists(self) -> bool:
        """Whether the folder contains settings. A folder with settings is a run."""
        return stat_regular(self.config) is not None

    def can_continue(self) -> bool:
        """Whether the folder contains a training state. Without one, a run starts from iteration 0."""
        return stat_regular(self.state) is not None

    def alone(self) -> AbstractContextManager[None]:
        """Create the folder if necessary, and prevent other processes from writing to it. They may read.

        Every writer calls this first, so a file that is not a regular one is refused before any file is changed.
        """
        expect_folder(self.path)
        self._expect_regular_files()
        with suppress(OSError):  # writing the first file reports the reason
            self.path.mkdir(parents=True, exist_ok=True)
        return alone(self.path, wait=False)

    def _expect_regular_files(self) -> None:
        for file in self.files:
            stat_regular(file)

    def expect(self) -> None:
        """Raise an error unless the folder contains a run with weights."""
        self._expect_regular_files()
        for file in (self.config, self.model):
            if stat_regular(file) is None:
                if not self.path.is_dir():
                    found = "a file" if self.path.exists() else "no such folder"
                    raise SignnapError(f"{self.path} is not a run folder: {found}")
                runs = f", but {self.path / 'seed-*'} are runs" if any(self.path.glob("seed-*/config.toml")) else ""
                raise SignnapError(f"{self.path} is not a finished run folder: it has no {file.name}{runs}")

    def save_state(self, state: dict[str, Any], weights: dict[str, Tensor]) -> None:
        """Write the weights to embed with, then the state to resume from, so that a state always has its weights.

        The hashes of both files are recorded before the files get their names, so a killed process leaves no file
        without its hash.
        """
        origin = self._origin()
        with replacing_regular(self.state) as file:
            _as_oserror(torch.save, state | ({"origin": origin} if origin else {}), file)
            found = _hash(file)
            self._save_weights(weights, {self.state.name: found})
        self._present[self.state.name] = found

    def _save_weights(self, weights: dict[str, Tensor], others: dict[str, str]) -> str:
        """Write the weights, record their hash and the hashes of other files, and return the hash of the weights."""
        from safetensors.torch import save

        # The format refuses layers that share their weights, so each tensor is copied.
        copies = {name: tensor.clone(memory_format=torch.contiguous_format) for name, tensor in weights.items()}
        with replacing_regular(self.model) as file:
            file.write(save(copies))  # a killed save_file would leave its own temporary file behind
            found = _hash(file)
            self._record_hashes({self.model.name: found, **others})
        self._present[self.model.name] = found
        return found

    def _record_hashes(self, new: dict[str, str]) -> None:
        """Record the hashes of new files beside the hashes of the files that they are about to replace."""
        try:
            info = self.read_info()
        except SignnapError:  # there are no facts yet: save_model writes them after the weights
            return
        for name in new:
            if name not in self._present and stat_regular(self.path / name):
                with open_regular(self.path / name, _MOST_TENSORS) as file:
                    self._present[name] = _hash(file)
        present = {name: (self._present[name],) if name in self._present else () for name in new}
        self._write_info(info.facts, info.hashes | {name: (*present[name], found) for name, found in new.items()})

    def _origin(self) -> dict[str, Any]:
        """The seed and the graph of the run, which identify its states; empty if the folder does not contain them."""
        try:
            return {"seed": self.read_config().get("seed"), "fingerprint": self.read_info().fingerprint}
        except SignnapError:
            return {}

    def _expect_hash(self, file: BinaryIO, path: Path) -> None:
        """Raise an error if this run has not written the file."""
        hashes = self._recorded_hashes().get(path.name)
        if not hashes:
            _log.info("%s: its hash is not in %s, so damage cannot be detected", path, self.facts.name)
        elif _hash(file) not in hashes:
            raise SignnapError(
                f"{path} was damaged or replaced: expected the file whose SHA-256 hash is in {self.facts.name}"
            )

    def load_state(self, at_most: int = _MOST_TENSORS) -> dict[str, Any]:
        """Read ``state.pt``, of at most so many bytes. It is read as data, so code in it cannot run."""
        with open_regular(self.state, at_most) as file:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # about damaged files; the error below is enough
                    _expect_unpacked(file, at_most)
                    state = torch.load(file, map_location="cpu", weights_only=True)
            except Exception as error:  # torch's own message advises to run the file's code
                raise SignnapError(f"{self.state} is not a checkpoint of this program, or it was cut short") from error
            if not isinstance(state, dict) or not {"iteration", "modules", "optimizer", "generators"} <= set(state):
                raise SignnapError(
                    f"{self.state} is not a checkpoint of this program: it lacks the parts of a training state"
                )
            self._expect_hash(file, self.state)
        return state

    def restore(self, run: Run, until: int) -> None:
        """Continue a run from its last checkpoint, if there is one, and remove the metrics after it."""
        if self.can_continue():
            # Beside each parameter there are two averages of Adam, and its value in the best iteration.
            state = self.load_state(_room_for(run.task.modules, copies=4))
            try:
                if state.get("origin", origin := self._origin()) != origin:
                    raise SignnapError("its seed or its graph is another")
                run.restore(state)
            except (SignnapError, RuntimeError, ValueError, KeyError, TypeError, AttributeError) as error:
                raise SignnapError(f"{self.state} is the checkpoint of another run ({_brief(error)})") from error
        if run.iteration > until:
            raise SignnapError(f"{self.path} is at iteration {run.iteration} already, past the {until} asked for")
        self.cut_metrics(run.iteration)

    def begin(self, config: str, facts: dict[str, Any]) -> None:
        """Make this the folder of a run. The settings are written last, since a folder with settings is a run.

        In a folder without settings, files that look like an earlier part of this run are removed.
        """
        if not self.exists():
            self._expect_own_metrics()
            for file in (self.state, self.model, self.metrics, self.trace, self.facts):
                _remove(file)
        self._describe(config, facts, self._recorded_hashes())

    def _expect_own_metrics(self) -> None:
        """Raise an error if the metrics were not written by a run: then they are the user's, and must not be lost."""
        for _ in self.read_metrics():  # raises at the first line that is no record of a run
            pass

    def _describe(self, config: str, facts: dict[str, Any], hashes: dict[str, tuple[str, ...]]) -> None:
        """Write facts and settings, and remove the temporary files of killed writers."""
        for file in self.files:
            remove_leftovers(file)
        self._write_info(facts, hashes)
        write_regular(self.config, config)

    def save_model(self, config: str, facts: dict[str, Any], weights: dict[str, Tensor]) -> None:
        """Write the files that ``load`` needs, without a training state. The caller should be ``alone``.

        The files that an earlier run needs to be resumed are removed after the weights have been written, and before
        the settings and facts are replaced. So at every moment the folder can resume the earlier run, or none.
        """
        found = self._save_weights(weights, {})
        for file in (self.state, *([self.metrics, self.trace] if self.exists() else [])):
            _remove(file)
        self._describe(config, facts, {self.model.name: (found,)})

    def withdraw(self) -> None:
        """Undo ``begin``, so that a run without results does not keep its folder from the next run."""
        for file in (self.config, self.facts, self.metrics):
            with suppress(SignnapError):  # the caller raises the more important error
                _remove(file)

    def load_into(self, module: nn.Module) -> None:
        """Read the weights into a module of the same shape."""
        from safetensors.torch import load_file

        with open_regular(self.model, _room_for(module, copies=1)) as file:
            weights = self._read_weights(load_file, file)
            self._expect_hash(file, self.model)
            for name, tensor in weights.items():
                if tensor.is_floating_point() and tensor.isnan().any():
                    raise SignnapError(
                        f"{self.model} has NaN in {name}: expected numbers, as training did not collapse"
                    )
            try:
                module.load_state_dict(weights)
            except RuntimeError as error:
                raise self._other_encoder(_brief(error)) from error

    def expect_weights_of(self, build: Callable[[], nn.Module], layers: int) -> None:
        """Raise an error unless the weights fit a module with so many layers, before memory is allocated for either.

        The module is built on torch's meta device, where tensors have shapes only, and compared with the header of the
        file. A layer has at least one tensor. A number of layers beyond the number of tensors is refused first, because
        building many layers takes long even without memory.
        """
        with open_regular(self.model, _MOST_TENSORS) as file:
            shapes = self._read_weights(_read_shapes, file)
        if layers > len(shapes):
            raise self._other_encoder(f"{len(shapes)} tensors, not {layers} layers")
        try:
            with torch.device("meta"):
                build().load_state_dict({name: torch.empty(shape) for name, shape in shapes.items()})
        except (RuntimeError, TypeError, ValueError, ArithmeticError) as error:  # torch has many words for too large
            raise self._other_encoder(_brief(error)) from error

    def _read_weights(self, read: Callable[[Path], dict[str, Any]], file: BinaryIO) -> dict[str, Any]:
        try:
            return read(path_of(file))
        except Exception as error:
            raise SignnapError(f"{self.model} is not a safetensors file or is truncated ({_brief(error)})") from error

    def _other_encoder(self, reason: str) -> SignnapError:
        return SignnapError(f"{self.model} holds the weights of another encoder ({reason})")

    def append_metrics(self, record: dict[str, Any]) -> None:
        append_regular(self.metrics, json.dumps(record) + "\n")

    def read_metrics(self) -> Iterator[dict[str, Any]]:
        """Every complete record. A killed process may leave an incomplete last line, which is skipped."""
        if stat_regular(self.metrics) is None:
            return
        lines = _read_text(self.metrics, _MOST_METRICS).splitlines()
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                if number == len(lines) and isinstance(error, json.JSONDecodeError):
                    return
                raise SignnapError(f"{self.metrics}, line {number} is not JSON: {_brief(error)}") from error
            for name in _LOGGED:
                if not isinstance(record, dict) or not isinstance(record.get(name), (int, float)):
                    raise SignnapError(
                        f"{self.metrics}, line {number} is no record of a run: expected a number {name!r} in it"
                    )
            yield record

    def cut_metrics(self, iteration: int) -> None:
        """Remove records after a checkpoint; the resumed run writes them again."""
        kept = [record for record in self.read_metrics() if record["iteration"] <= iteration]
        write_regular(self.metrics, "".join(json.dumps(record) + "\n" for record in kept))

    def write_facts(self, facts: dict[str, Any]) -> None:
        """Write the facts of the run, and keep the hashes of its files."""
        self._write_info(facts, self._recorded_hashes())

    def _recorded_hashes(self) -> dict[str, tuple[str, ...]]:
        return self.read_info().hashes if stat_regular(self.facts) else {}

    def _write_info(self, facts: dict[str, Any], hashes: dict[str, tuple[str, ...]]) -> None:
        write_regular(self.facts, json.dumps(facts | {HASHES: hashes}, indent=2) + "\n")

    def read_config(self) -> dict[str, Any]:
        """The settings, unchecked."""
        return parse_toml(read_regular(self.config, _MOST_CONFIG), self.config)

    def read_info(self) -> RunInfo:
        """The facts of the run, checked."""
        return RunInfo.parse(_read_text(self.facts, _MOST_FACTS), self.facts)


def _expect_path(path: Any) -> Path:
    """Check a path. An empty one is refused, because it would mean the current folder."""
    if not isinstance(path, (str, os.PathLike)) or not str(path) or "\0" in str(path):
        raise SignnapError(f"the folder of a run is {path!r}: expected a path")
    return Path(path)


def _expect_unpacked(file: BinaryIO, at_most: int) -> None:
    """Raise an error if an archive unpacks to more bytes. torch writes no compressed archives, but it reads them."""
    with zipfile.ZipFile(file) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > at_most:
            raise ValueError("the archive is packed")
    file.seek(0)


def _hash(file: BinaryIO) -> str:
    """The SHA-256 hash of an open file."""
    file.seek(0)
    found = hashlib.sha256()
    while block := file.read(2**20):
        found.update(block)
    return found.hexdigest()


def _read_shapes(path: Path) -> dict[str, Any]:
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        return {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118


def _room_for(module: nn.Module, copies: int) -> int:
    """The most bytes of a file with so many copies of a module's tensors, some of which may have no size yet."""
    tensors = module.state_dict().values()
    if any(not isinstance(tensor, Tensor) or is_lazy(tensor) for tensor in tensors):
        return _MOST_TENSORS
    return copies * sum(tensor.numel() * tensor.element_size() for tensor in tensors) + _OVERHEAD


def _read_text(path: Path, at_most: int) -> str:
    try:
        return read_regular(path, at_most).decode()
    except UnicodeDecodeError as error:
        raise SignnapError(f"{path} is not a text file in UTF-8: {_brief(error)}") from error


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise SignnapError(f"cannot remove {path}: {error.strerror or error}") from error


def _as_oserror(write: Any, content: Any, where: Any) -> None:
    """Call ``write``, and raise an OSError for a full disk where the library raises an exception of its own."""
    try:
        write(content, where)
    except OSError:
        raise
    except Exception as error:
        cause = error.__context__
        raise cause if isinstance(cause, OSError) else OSError(_brief(error)) from error


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__
