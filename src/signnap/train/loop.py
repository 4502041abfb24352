"""The only loop that trains encoders. On a GPU it replays a recorded iteration of all runs with one launch.

An iteration starts about a hundred small kernels, and starting them one by one takes longer than running them. Their
shapes are static and all randomness comes from generators, so one recording (a CUDA graph) serves every iteration: each
replay draws new views, negatives and dropout masks. Several runs are branches of one recording and share the device.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence

import torch
from torch import nn

from ..interfaces import Step
from .run import Run

_log = logging.getLogger(__name__)

#: Ordinary iterations before the recording. They compile kernels and allocate workspaces.
WARM_UP = 3


def lockstep(runs: list[Run], until: int, *, capture: bool = True) -> Iterator[list[tuple[Run, Step]]]:
    """Train all runs up to iteration ``until`` together, and yield after each iteration.

    Runs with fewer iterations go first until they have caught up. The caller may remove runs from the list. On a GPU,
    unless ``capture`` is false, iterations are replays of a recording, and the next one overwrites the yielded steps.
    """
    launcher: Launcher | None = None
    while runs and (at := min(run.iteration for run in runs)) < until:
        active = [run for run in runs if run.iteration == at]
        if launcher is None or launcher.runs != active:
            launcher = Launcher(active, capture=capture)
        steps = launcher()
        for run in active:
            run.iteration += 1
        yield list(zip(active, steps, strict=True))
        del steps  # otherwise their tensors would occupy memory beside those of the next iteration


def iterate(run: Run, until: int, *, capture: bool = True) -> Iterator[Step]:
    """Train one run up to iteration ``until``, and yield after each iteration (see ``lockstep``)."""
    for ((_, step),) in lockstep([run], until, capture=capture):
        yield step
        del step


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
            steps, obstacle = _advance_checked(self.runs)
            self._capture = not obstacle
            if obstacle:
                _log.info("training without a recorded graph: a part of this model %s", obstacle)
            return steps
        if self._capture and self._calls > WARM_UP:
            if self._graph is None:
                self._record()
            if self._graph is not None:
                self._graph.replay()
                return self._steps
        return [run.advance() for run in self.runs]

    def _record(self) -> None:
        """Record one iteration of every run, each on its own stream so that the runs may overlap."""
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
            torch.cuda.set_stream(outside)  # a failed recording leaves its own stream as the current one
        # The recording resets the generators on its stream. On a busy device this may happen after the first replay has
        # set their offsets, and that replay would then draw the numbers of another iteration.
        torch.cuda.synchronize()
        self._graph = graph


def _advance_checked(runs: Sequence[Run]) -> tuple[list[Step], str]:
    """Advance the runs, and return why an iteration of them cannot be recorded (an empty string: it can)."""
    before = torch.cuda.get_sync_debug_mode()
    known = [addresses(run.task.modules) for run in runs]
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
    moved = [name for run, old in zip(runs, known, strict=True) for name in replaced(old, run.task.modules)]
    return steps, f"replaces {moved[0]} instead of changing it in place" if moved else ""


def replaced(before: dict[str, float], modules: nn.Module) -> list[str]:
    """The names whose address or number differs from ``before``, which ``addresses`` returned earlier."""
    return [name for name, address in addresses(modules).items() if before.get(name) != address]


def addresses(modules: nn.Module) -> dict[str, float]:
    """The addresses of the tensors of modules, and their plain numbers: a recording keeps both as they were then."""
    tensors = {name: value.data_ptr() for name, value in modules.state_dict(keep_vars=True).items()}
    numbers = {
        f"{place}.{name}": value
        for place, module in modules.named_modules()
        for name, value in vars(module).items()
        if type(value) in (int, float)
    }
    return tensors | numbers


def _forget_recording(generators: Sequence[torch.Generator], states: Sequence[torch.Tensor]) -> None:
    """Give each generator that a failed recording has used a new internal state with the old content."""
    for source, state in zip(generators, states, strict=True):
        fresh = torch.Generator(source.device)
        fresh.set_state(state)
        source.graphsafe_set_state(fresh.graphsafe_get_state())
