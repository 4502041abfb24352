"""Every method against the accuracies that were reported for it: is our implementation the published one?"""

from __future__ import annotations

from importlib import resources
from typing import Any

from signnap.config import read_toml
from signnap.data.public import DATASETS
from signnap.evaluate import Summary, plus_minus
from signnap.methods import method_class

from . import summaries
from .cells import Cell
from .results import Results
from .targets import Target

#: A mean this close to the reported one counts as the same, and so does one within the reported standard deviation.
TOLERANCE = 1.0
_COLUMNS = ["method", "graph", "split", "probe", "ours", "reported", "difference", "verdict", "device, s", "source"]
_VERDICT = _COLUMNS.index("verdict")
_WORDS = ("agrees", "above", "below", "failed", "not run")
#: The end of the source of a figure that was not looked up in the paper again.
_UNCHECKED = "(not compared with the paper)"


def figures() -> list[dict[str, Any]]:
    """Return the reported figures, in the order of the table."""
    return read_toml(str(resources.files(__package__) / "reported.toml"))["figures"]


def figure_cell(figure: dict[str, Any], probe: str) -> Cell:
    """Return our run beside a figure, read by one of its probes.

    Random splits are drawn anew for every encoder seed. The first probe is the authors', or of the same kind. None of
    ours chooses by test nodes, as some of theirs do.
    """
    method, graph, split = figure["method"], figure["graph"], figure["split"]
    settings, labelled = dict(figure["settings"]), method_class(method).uses_labels
    if labelled or DATASETS[graph].setting == "inductive":
        settings["split"] = split if labelled else "none"
    return Cell(
        method, graph, settings, split=split, redrawn=split.startswith("random") and not labelled,
        probe=probe, probe_seeds=5 if probe.startswith("linear") else 1,
    )  # fmt: skip


def _cells() -> list[Cell]:
    """Return all cells of the table; figures that differ only in who reported them share one."""
    cells = [figure_cell(figure, probe) for figure in figures() for probe in figure["probes"]]
    return list({each.key: each for each in cells}.values())


def compare(ours: Summary, figure: dict[str, Any]) -> str:
    """Say in a word whether our mean is the reported one, above it or below it."""
    gap = ours.mean - figure["mean"]
    if abs(gap) <= max(TOLERANCE, figure.get("std", 0.0)):
        return "agrees"
    return "above" if gap > 0 else "below"


def _page(results: Results, seeds: int) -> str:
    """Show the comparison and count the verdicts on the authors' own figures; a quick run has no verdicts."""
    lines, verdicts = [], []
    for figure in figures():
        rows = {probe: results.find(figure_cell(figure, probe), seeds) for probe in figure["probes"]}
        found = [_line(figure, probe, row, seeds) for probe, row in rows.items()]
        lines += [[*line[:_VERDICT], "–", *line[_VERDICT + 1 :]] for line in found] if results.quick else found
        verdicts += [found[0][_VERDICT]] * figure["own"]
    counted = ", ".join(f"*{word}* {verdicts.count(word)}" for word in _WORDS if word in verdicts)
    head = f"Verdicts on the {len(verdicts)} figures that authors report for their own methods: {counted}."
    if unchecked := sum(figure["own"] and figure["source"].endswith(_UNCHECKED) for figure in figures()):
        head += (
            f" {unchecked} of the figures were not compared with the method's own paper; the column *source* says so."
        )
    return ("" if results.quick else f"{head}\n\n") + summaries.table(_COLUMNS, lines)


def _line(figure: dict[str, Any], probe: str, row: summaries.Row, seeds: int) -> list[str]:
    changes = "".join(f", {name} {value}" for name, value in figure["settings"].items())
    source = figure["source"] if figure["own"] else f"not the authors': {figure['source']}"
    start = [figure["method"] + changes, figure["graph"], figure["split"], probe]
    mean, std = figure["mean"], figure.get("std")
    reported = f"{mean:.1f}" if std is None else plus_minus(mean, std, 1)
    ours = summaries.over_encoders(row)
    if row is None or ours is None:
        return [*start, "–", reported, "–", summaries.state(row), "–", source]
    gap = f"{ours.mean - mean:+.2f}"
    cost = f"{row['device']}, {row['seconds']:.0f}"
    return [*start, summaries.shown(row, seeds, digits=1), reported, gap, compare(ours, figure), cost, source]


AUTHORS = Target(_cells, _page, seeds=3)
