"""The page of all evidence: the numbers behind every claim, and each of our cells beside the paper's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from statistics import fmean
from typing import Any, NamedTuple

from signnap.evaluate import Summary, plus_minus, summarize

from . import summaries
from .cells import Cell
from .claims import CLAIMS
from .paper import GRAPHS, ROWS, UNLABELLED, cell, explained, reported, reported_as, same_probe_cell
from .results import Results
from .targets import Target
from .verdict import decide

#: The number of points by which a baseline of ours may be below the paper's.
TOLERANCE = 1.5
_ABOUT = """
This page has the evidence behind [the verdicts](../docs/reproduction.md): the complete numbers of every claim, and our
accuracy beside the paper's for every method and graph.

All accuracies are test accuracies in % on the paper's splits.

- *Across seeds* is the mean and standard deviation over encoder seeds, with the number of seeds in brackets. Several
  probes read each encoder, and the encoder counts with their mean.
- *First seed* is the encoder of seed 0 alone, with the deviation over its probes. The paper reports this number.
- *Same probe* is the mean over the same encoder seeds when logistic regression reads all embeddings. Otherwise each
  method has the probe that the paper gives it. [table-overall](table-overall.md) says more.
- Networks with labels classify by themselves, so they have only the first of these.
- *Collapsed* counts encoders whose training `signnap train` would have stopped, because all embeddings became equal.
  Here training went on, and these encoders are part of the mean; some recover.
"""


class Beside(NamedTuple):
    """A cell of the paper's main table: our result, if there is one, beside the paper's figure, if it has one.

    ``same_probe`` is our result with the probe that is the same for all methods without labels.
    """

    name: str
    graph: str
    row: dict[str, Any] | None
    ours: Summary | None
    same_probe: Summary | None
    figure: list[float] | None

    @property
    def gap(self) -> float | None:
        """The difference, rounded as the page shows it, so that counts agree with the page."""
        return None if self.ours is None or self.figure is None else round(self.ours.mean - self.figure[0], 2)

    @property
    def with_same_probe(self) -> str:
        return "–" if self.same_probe is None else summaries.spread(self.same_probe)

    @property
    def texts(self) -> list[str]:
        """Method, graph, our result, the paper's and the difference."""
        if self.row is None or self.ours is None:
            ours = summaries.state(self.row)
        else:
            notes = [str(len(self.ours.values)), *summaries.collapses(self.row)]
            ours = f"{summaries.spread(self.ours)} ({', '.join(notes)})"
        theirs = "–" if self.figure is None else plus_minus(self.figure[0], self.figure[1])
        return [self.name, self.graph, ours, theirs, "–" if self.gap is None else f"{self.gap:+.2f}"]


def page(results: Results, seeds: int) -> str:
    """Return the page for so many encoder seeds."""
    cells = _all_cells(results, seeds)
    parts = [_ABOUT, *_cost(results), *_again(results), _claims(results, seeds)]
    parts += [*([] if results.quick else [_other_methods(cells)]), _table(cells)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _cost(results: Results) -> Iterator[str]:
    """Say how long training the encoders of all rows took; encoders that several cells share count once."""
    trained = {
        (Cell(**row["cell"]).training, *row["seeds"], row["seconds"]): row["device"]
        for row in results
        if "error" not in row
    }
    hours: dict[str, float] = {}
    for (*_, seconds), device in trained.items():
        hours[device] = hours.get(device, 0.0) + seconds / 3600
    if hours:
        listed = [f"{hours[device]:.1f} hours on {device}" for device in sorted(hours)]
        together = " and ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)
        yield (
            f"Training the encoders of all rows took {together}.\nEncoders that several cells share count once. The "
            "time of probes is not included, and other programs may have used the devices."
        )


def _again(results: Results) -> Iterator[str]:
    """Say how much the accuracies of one encoder differ between rows, if several rows have the same encoders."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in results:
        if "error" in row:
            continue
        reading = {name: value for name, value in row["cell"].items() if name not in ("settings", "looks")}
        settings = {"init": "seed"} | row.get("resolved", row["cell"]["settings"])  # older rows lack it
        for seed, test in zip(row["seeds"], row["test"], strict=True):
            revisions = found.setdefault(json.dumps([reading, settings, seed], sort_keys=True), {})
            revisions.setdefault(str(row.get("revision")), []).append(fmean(test))
    several = [each for each in found.values() if sum(map(len, each.values())) > 1]
    gaps = [max(chain(*each.values())) - min(chain(*each.values())) for each in several]
    if several:
        differ = sum(gap > 0 for gap in gaps)
        at_one = sum(any(max(values) > min(values) for values in each.values()) for each in several)
        yield (
            f"{len(several)} encoders occur in more than one row, with the same settings, seed and probe. {differ} of "
            f"them have\ndifferent accuracies in different rows, by up to {max(gaps):.2f} points; for {at_one} of them "
            "the rows come from one revision\nof this program. So the mean of one cell may differ between tables."
        )


def _claims(results: Results, seeds: int) -> str:
    lines = []
    for each in CLAIMS:
        verdict = decide(each, results, seeds)
        lines.append([f"**{each.name}** ({each.where})", verdict.text, verdict.evidence])
    note = (
        "Each claim with its section in the paper. [The verdicts](../docs/reproduction.md#claims) state them in full."
    )
    return f"## Claims\n\n{note}\n\n{summaries.table(['claim', 'verdict', 'evidence'], lines)}"


# -- our cells beside the paper's --------------------------------------------------------------------------------------


def _all_cells(results: Results, seeds: int) -> list[Beside]:
    return [_beside(results, seeds, name, graph) for name in ROWS for graph in GRAPHS]


def _beside(results: Results, seeds: int, name: str, graph: str) -> Beside:
    row = results.find(cell(name, graph), seeds)
    theirs = reported()["overall"][reported_as(name)]
    same_probe = summaries.over_encoders(results.find(same_probe_cell(name, graph), seeds))
    return Beside(name, graph, row, summaries.over_encoders(row), same_probe, theirs[graph])


def _baselines(cells: list[Beside]) -> list[Beside]:
    return [each for each in cells if not each.name.startswith("SIGNNAP")]


def _comparable(cells: list[Beside]) -> list[Beside]:
    """Return the baselines whose figure in the paper is plausible."""
    return [each for each in _baselines(cells) if each.figure and not explained("no_target", each.name, each.graph)]


def near_the_paper(results: Results, seeds: int) -> tuple[int, int]:
    """Count the baseline cells that are not clearly below the paper's figure, and those that have a result."""
    gaps = [each.gap for each in _comparable(_all_cells(results, seeds)) if each.gap is not None]
    return sum(gap >= -TOLERANCE for gap in gaps), len(gaps)


def _other_methods(cells: list[Beside]) -> str:
    """Show the baselines that are below the paper with the reason, and the figures that are no basis to compare."""
    why = lambda kind, each: explained(kind, each.name, each.graph)
    comparable = _comparable(cells)
    known = [(each, gap) for each in comparable if (gap := each.gap) is not None]
    lower = [each for each, gap in known if gap < -TOLERANCE]
    columns = ["method", "graph", "across seeds", "the paper", "difference"]
    reasons = [[*each.texts, each.with_same_probe, why("lower", each) or "not yet"] for each in lower]
    implausible = [[*each.texts, text] for each in _baselines(cells) if (text := why("no_target", each)) is not None]
    in_all = f" ({len(comparable)} in all)" if len(known) < len(comparable) else ""
    paragraphs = [
        "## Other methods",
        f"Ours is above the paper or at most {TOLERANCE} points below it in {len(known) - len(lower)} of {len(known)} "
        f"cells{in_all}. The paper does not say which kind of GCC it used, so both stand beside its figure. These "
        "cells are lower:",
        summaries.table([*columns, "same probe", "reason"], reasons) if reasons else "None.",
        "These figures of the paper are implausible or missing, so they are not counted:",
        summaries.table([*columns, "reason"], implausible),
    ]
    return "\n\n".join(part.strip() for part in paragraphs)


def _table(cells: list[Beside]) -> str:
    lines = []
    for each in cells:
        name, graph, ours, theirs, gap = each.texts
        single = cost = "–"
        if each.row is not None and each.ours is not None:
            cost = f"{each.row['device']}, {each.row['seconds']:.0f}"
            single = str(summarize(each.row["test"][0])) if name in UNLABELLED else "–"
        lines.append([name, graph, ours, single, each.with_same_probe, theirs, gap, cost])
    columns = ["method", "graph", "across seeds", "first seed", "same probe", "the paper", "difference"]
    note = (
        "The difference is the mean across seeds minus the paper's figure. Seconds are for training all encoder seeds; "
        "other programs may have used the device, so they are no benchmark."
    )
    return f"## Every cell\n\n{note}\n\n{summaries.table([*columns, 'device, s'], lines)}"


CELLS = Target(list, page, title="The paper, reproduced: all evidence and every cell")
