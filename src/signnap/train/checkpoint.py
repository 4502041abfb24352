"""A run folder: settings, metrics, weights, state. Every file in it is whole at every moment.

``state.pt`` alone decides where a resumed run continues; ``metrics.jsonl`` is cut back to it. So a process may be
killed between any two writes and the resumed run still equals one that was never killed.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import SignnapError
from ..storage import cannot_write, remove_leftovers, replacing, write_text
from .loop import Run


class RunFolder:
    """Reads and writes the files of one run."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.config, self.metrics = self.path / "config.toml", self.path / "metrics.jsonl"
        self.model, self.state = self.path / "model.safetensors", self.path / "state.pt"
        self.facts, self.trace = self.path / "run.json", self.path / "trace.json"

    def exists(self) -> bool:
        return self.config.exists()

    def expect(self) -> None:
        """Raise unless this is the folder of a run that has something to load."""
        if not self.path.is_dir():
            raise SignnapError(f"{self.path} is not a run folder: no such folder")
        for file in (self.config, self.model):
            if not file.exists():
                raise SignnapError(f"{self.path} is not a finished run folder: it has no {file.name}")

    def save_state(self, state: dict[str, Any], weights: dict[str, Tensor]) -> None:
        """Write the weights to embed with, then the state to resume from: a state never waits for its weights."""
        self._save_weights(weights)
        with replacing(self.state) as temporary, open(temporary, "wb") as file:
            _as_oserror(torch.save, state, file)

    def _save_weights(self, weights: dict[str, Tensor]) -> None:
        from safetensors.torch import save_file

        # Copies, because the format refuses layers that share their weights.
        copies = {name: tensor.clone(memory_format=torch.contiguous_format) for name, tensor in weights.items()}
        with replacing(self.model) as temporary:
            _as_oserror(save_file, copies, temporary)

    def load_state(self) -> dict[str, Any]:
        """Read ``state.pt`` as data: nothing in it can run."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about odd files: one sentence is enough
                state = torch.load(self.state, map_location="cpu", weights_only=True)
        except Exception as error:  # torch's own message recommends to load the file as code
            raise SignnapError(f"{self.state} is not a checkpoint of this program, or it was cut short") from error
        if not isinstance(state, dict) or not {"iteration", "modules", "optimizer", "generators"} <= set(state):
            raise SignnapError(
                f"{self.state} is not a checkpoint of this program: it lacks the parts of a training state"
            )
        return state

    def restore(self, run: Run, until: int) -> None:
        """Bring a run to its last checkpoint, if there is one, and forget the metrics past it."""
        if self.state.exists():
            state = self.load_state()
            try:
                run.restore(state)
            except (RuntimeError, ValueError, KeyError, TypeError, AttributeError) as error:
                raise SignnapError(f"{self.state} is the checkpoint of another run ({_brief(error)})") from error
        if run.iteration > until:
            raise SignnapError(f"{self.path} is at iteration {run.iteration} already, past the {until} asked for")
        self.cut_metrics(run.iteration)

    def begin(self, config: str, facts: dict[str, Any]) -> None:
        """Make this the folder of a run; the settings come last, since they are what a run is recognised by.

        What earlier writers left half-written when they were killed goes.
        """
        for file in (self.config, self.metrics, self.model, self.state, self.facts, self.trace):
            remove_leftovers(file)
        self.write_facts(facts)
        write_text(self.config, config)

    def save_model(self, config: str, facts: dict[str, Any], weights: dict[str, Tensor]) -> None:
        """Write what ``load`` needs and no training state: a model to hand on."""
        self._save_weights(weights)
        self.begin(config, facts)

    def load_into(self, module: nn.Module) -> None:
        """Read the weights into a module of the same shape."""
        from safetensors.torch import load_file

        try:
            weights = load_file(self.model)
        except Exception as error:
            raise SignnapError(f"{self.model} is not a safetensors file or is truncated ({_brief(error)})") from error
        try:
            module.load_state_dict(weights)
        except RuntimeError as error:
            raise SignnapError(f"{self.model} holds the weights of another encoder ({_brief(error)})") from error

    def append_metrics(self, record: dict[str, Any]) -> None:
        try:
            with open(self.metrics, "a", encoding="utf-8") as log:
                log.write(json.dumps(record) + "\n")
        except OSError as error:
            raise cannot_write(self.metrics, error) from error

    def read_metrics(self) -> Iterator[dict[str, Any]]:
        """Every whole record; a last line cut short by a kill is not one."""
        if not self.metrics.exists():
            return
        for line in self.metrics.read_text(encoding="utf-8").splitlines():
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                return

    def cut_metrics(self, iteration: int) -> None:
        """Forget records past a checkpoint: the resumed run will write them again."""
        kept = [record for record in self.read_metrics() if record["iteration"] <= iteration]
        write_text(self.metrics, "".join(json.dumps(record) + "\n" for record in kept))

    def write_facts(self, facts: dict[str, Any]) -> None:
        write_text(self.facts, json.dumps(facts, indent=2) + "\n")

    def read_facts(self) -> dict[str, Any]:
        try:
            facts = json.loads(self.facts.read_text(encoding="utf-8"))
        except OSError as error:
            raise SignnapError(f"cannot read {self.facts}: {error.strerror or error}") from error
        except ValueError as error:
            raise SignnapError(f"{self.facts} is not JSON: {_brief(error)}") from error
        numbers = dict.fromkeys(("num_nodes", "num_features", "num_classes"), int)
        for name, kind in {"fingerprint": str, "feature_names": list, "finished": bool, **numbers}.items():
            if not isinstance(facts, dict) or not isinstance(facts.get(name), kind):
                raise SignnapError(f"{self.facts} does not describe a run: expected {name!r} in it")
        return facts


def _as_oserror(write: Any, content: Any, where: Any) -> None:
    """Libraries wrap a full disk in exceptions of their own; turn those back into what they are."""
    try:
        write(content, where)
    except OSError:
        raise
    except Exception as error:
        cause = error.__context__
        raise cause if isinstance(cause, OSError) else OSError(_brief(error)) from error


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__
