"""Methods beside the figures that were reported for them: is our implementation the one that was published?"""

from __future__ import annotations

from importlib import resources
from typing import Any

from signnap.config import read_toml
from signnap.data.public import DATASETS
from signnap.evaluate import Summary, plus_minus
from signnap.methods.registry import method_class

from .. import markdown
from ..cells import Cell
from ..results import Results

#: A mean this close to the reported one counts as the same, and so does one within the reported standard deviation.
TOLERANCE = 1.0
_COLUMNS = ["method", "graph", "split", "probe", "ours", "reported", "difference", "verdict", "device, s", "source"]
_VERDICT = _COLUMNS.index("verdict")
#: How the source of a figure ends that was not looked up there again.
_UNCHECKED = "(not compared with the paper)"


def figures() -> list[dict[str, Any]]:
    """The reported figures, in the order of the table."""
    return read_toml(str(resources.files(__package__) / "reported.toml"))["figures"]


def cell(figure: dict[str, Any], probe: str) -> Cell:
    """Our run beside a figure, read by one of its probes.

    Random splits are drawn anew for every encoder seed. The first probe is the authors', or of their kind; none looks
    at the test nodes, as some of theirs do.
    """
    method, graph, split = figure["method"], figure["graph"], figure["split"]
    settings, labelled = dict(figure["settings"]), method_class(method).uses_labels
    if labelled or DATASETS[graph].setting == "inductive":
        settings["split"] = split if labelled else "none"
    return Cell(
        method, graph, settings, split=split, redrawn=split.startswith("random") and not labelled,
        probe=probe, probe_seeds=5 if probe.startswith("linear") else 1,
    )  # fmt: skip


def recipe() -> list[Cell]:
    """All cells of the table; figures that differ only in who reported them share one."""
    cells = [cell(figure, probe) for figure in figures() for probe in figure["probes"]]
    return list({each.key: each for each in cells}.values())


def verdict(ours: Summary, figure: dict[str, Any]) -> str:
    """Whether our mean is the reported one, in a word."""
    gap = ours.mean - figure["mean"]
    if abs(gap) <= max(TOLERANCE, figure.get("std", 0.0)):
        return "agrees"
    return "above" if gap > 0 else "misses"


def page(results: Results, seeds: int) -> str:
    """The comparison in Markdown, with a sentence that counts the verdicts of the authors' own figures."""
    lines, verdicts = [], []
    for figure in figures():
        found = [_line(figure, probe, results.find(cell(figure, probe), seeds), seeds) for probe in figure["probes"]]
        lines += found
        verdicts += [found[0][_VERDICT]] * figure["own"]
    counted = ", ".join(f"{verdicts.count(word)} {word}" for word in ("agrees", "above", "misses", "failed", "not run"))
    head = f"Of {len(verdicts)} figures that authors report for their own methods: {counted}."
    if unchecked := sum(figure["own"] and figure["source"].endswith(_UNCHECKED) for figure in figures()):
        head += f" {unchecked} of them are quoted without having been compared with the paper, as their source says."
    return f"{head}\n\n{markdown.table(_COLUMNS, lines)}"


def _line(figure: dict[str, Any], probe: str, row: dict[str, Any] | None, seeds: int) -> list[str]:
    changes = "".join(f", {name} {value}" for name, value in figure["settings"].items())
    source = figure["source"] if figure["own"] else f"not the authors': {figure['source']}"
    start = [figure["method"] + changes, figure["graph"], figure["split"], probe]
    mean, std = figure["mean"], figure.get("std")
    reported = f"{mean:.1f}" if std is None else plus_minus(mean, std, 1)
    ours = markdown.over_encoders(row)
    if row is None or ours is None:
        return [*start, "–", reported, "–", markdown.state(row), "–", source]
    gap = f"{ours.mean - mean:+.2f}"
    cost = f"{row['device']}, {row['seconds']:.0f}"
    return [*start, markdown.shown(row, seeds, digits=1), reported, gap, verdict(ours, figure), cost, source]
