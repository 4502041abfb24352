"""One iteration of several runs as a single launch: a CUDA graph, recorded after a few ordinary iterations.

A step is about a hundred small kernels, and starting them one by one takes longer than running them. Shapes are
static and all randomness comes from generators, so the same recording serves every iteration: each replay draws
fresh views, negatives and dropout masks. Several runs are branches of one recording and share the device.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from .loop import Run, Step

#: Ordinary iterations before the recording: kernels are compiled and workspaces allocated in them.
WARM_UP = 3

_log = logging.getLogger(__name__)


class Launcher:
    """Advances its runs by one iteration per call."""

    def __init__(self, runs: Sequence[Run], *, capture: bool = True) -> None:
        self.runs = list(runs)
        self._capture = capture and all(run.on_gpu for run in runs)
        self._calls = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._steps: list[Step] = []

    def __call__(self) -> list[Step]:
        self._calls += 1
        for run in self.runs:
            run.set_rate()
        if self._capture and self._calls == WARM_UP:
            steps, against = _watched(self.runs)
            self._capture = not against
            if against:
                _log.info("training without a recorded graph: a part of this model %s", against)
            return steps
        if self._capture and self._calls > WARM_UP:
            if self._graph is None:
                self._record()
            if self._graph is not None:
                self._graph.replay()
                return self._steps
        return [run.advance() for run in self.runs]

    def _record(self) -> None:
        """Record one iteration of every run, each on a stream of its own so that they may overlap."""
        generators = [source for run in self.runs for source in run.task.generators.values()]
        touched = [*generators, *torch.cuda.default_generators]
        states = [source.get_state() for source in touched]
        graph = torch.cuda.CUDAGraph()
        for source in generators:
            graph.register_generator_state(source)
        streams, outside = [torch.cuda.Stream() for _ in self.runs], torch.cuda.current_stream()
        try:
            with torch.cuda.graph(graph):
                main = torch.cuda.current_stream()
                for run, stream in zip(self.runs, streams, strict=True):
                    stream.wait_stream(main)
                    with torch.cuda.stream(stream):
                        self._steps.append(run.advance())
                for stream in streams:
                    main.wait_stream(stream)
        except RuntimeError as error:
            self._capture, self._steps = False, []
            _forget_recording(touched, states)
            reason = str(error).splitlines()[0]
            _log.info("training without a recorded graph: recording one iteration failed (%s)", reason)
            return
        finally:
            torch.cuda.set_stream(outside)  # a recording that fails stays on its own
        # Generators were set to the beginning of the recording on its stream. On a busy device that may come after
        # the first replay has told them where they are, which then draws the numbers of another iteration.
        torch.cuda.synchronize()
        self._graph = graph


def _watched(runs: Sequence[Run]) -> tuple[list[Step], str]:
    """Advance the runs, and tell what in them speaks against a recording (nothing: an empty string)."""
    before = torch.cuda.get_sync_debug_mode()
    fixed = [places(run.task.modules) for run in runs]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            steps = [run.advance() for run in runs]
        finally:
            torch.cuda.set_sync_debug_mode(before)
    waits = [w for w in caught if "synchronizing CUDA operation" in str(w.message)]
    if waits:
        return steps, f"waits for the device (first in {waits[0].filename}, line {waits[0].lineno})"
    moved = [name for run, old in zip(runs, fixed, strict=True) for name in replaced(old, run.task.modules)]
    return steps, f"replaces {moved[0]} instead of changing it in place" if moved else ""


def replaced(before: dict[str, float], modules: nn.Module) -> list[str]:
    """What of ``places`` is elsewhere, or another number, by now."""
    return [name for name, place in places(modules).items() if before.get(name) != place]


def places(modules: nn.Module) -> dict[str, float]:
    """Where the tensors of modules lie, and their plain numbers: a recording knows both only as they are by then."""
    tensors = {name: value.data_ptr() for name, value in modules.state_dict(keep_vars=True).items()}
    numbers = {
        f"{place}.{name}": value
        for place, module in modules.named_modules()
        for name, value in vars(module).items()
        if type(value) in (int, float)
    }
    return tensors | numbers


def _forget_recording(generators: Sequence[torch.Generator], states: Sequence[torch.Tensor]) -> None:
    """Give generators that a failed recording left behind a new life at the same place of their streams."""
    for source, state in zip(generators, states, strict=True):
        fresh = torch.Generator(source.device)
        fresh.set_state(state)
        source.graphsafe_set_state(fresh.graphsafe_get_state())
