"""The page of the whole reproduction: a verdict on every claim, and each of our cells beside the paper's."""

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
from .paper import GRAPHS, ROWS, UNLABELLED, cell, explained, read_alike, reported, reported_as
from .results import Results
from .targets import HOMES, WHOLE, Target, find_target
from .verdict import RULE, decide

#: The number of points by which a baseline of ours may be below the paper's.
TOLERANCE = 1.5
ABOUT = """
# Reproduction

Ours beside the paper, test accuracy in % on the paper's splits. *Honest* is the mean and standard deviation over up to
{seeds} encoder seeds, each read by several probes; *one encoder* is the first of these seeds alone, with the deviation
over its probes, which is what the paper reports. Networks with labels are their own classifiers and have no probes.

SIGNNAP, GRACE and GCA were trained with `--precision tf32`, where no column says otherwise; a CPU ignores it, and
`signnap train` has float32 unless told so. SIGNNAP has negatives that 512 anchors share, as `signnap train` has and the
paper has not. `table-letter`, `table-tried` and `table-sharing` below say what either changes.

All numbers come from the rows in `{rows}`, each with its settings, seeds, device, versions, revision and
command; `docs/evaluation.md` says what else there is to know of some. `signnap reproduce all` fills in what is missing
and writes all pages but that of `authors`, `signnap reproduce TARGET` one of them, and `signnap reproduce reproduction`
this page from the rows that are there.

*Collapsed* counts encoders whose training `signnap train` would have stopped (`docs/method.md`, *When it fails*). Here
it went on, and they are part of the mean: some recover, others stay as they are.

*Spec §n* names a section of the specification of methods that this package was written from; it is not part of the
repository.
"""
#: Explanations of the targets that the paper does not have.
NOT_THE_PAPERS = """
Nine of these are ours and not in the paper. `authors`: methods beside the accuracies that were reported for them (in
`docs/methods.md`). `table-fidelity`: whether the paper's figures for SIGNNAP lie within the range of our encoder seeds.
`table-seeds`: whether they do with more seeds, in the cells where they were found not to. `table-start`: whether they
do if encoders begin with the weights of the paper's. `table-tried`: other ways of training (as the paper's text has it
rather than its code, without our departures, or for fewer iterations) in the same cells.
`table-letter`: what these departures change in every cell. `table-rounding`: how far encoders of one seed are apart if
their first weights differ by a rounding. `table-sharing`: how many anchors may share a draw of negatives. `table-grid`:
settings of other methods on graphs for which their authors give none.
"""


class Beside(NamedTuple):
    """A cell of the paper's main table: our result, if there is one, beside the paper's figure, if it has one.

    ``alike`` is our result by the probe that is the same for all methods without labels.
    """

    name: str
    graph: str
    row: dict[str, Any] | None
    ours: Summary | None
    alike: Summary | None
    figure: list[float] | None

    @property
    def gap(self) -> float | None:
        """The difference as the page shows it, so that a count by the page is the same."""
        return None if self.ours is None or self.figure is None else round(self.ours.mean - self.figure[0], 2)

    @property
    def read_alike(self) -> str:
        return "–" if self.alike is None else summaries.spread(self.alike)

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
    """Return the whole page for so many encoder seeds."""
    cells = [_beside(results, seeds, name, graph) for name in ROWS for graph in GRAPHS]
    head = ABOUT.format(seeds=seeds, rows=f"{_folder(results)}/{results.path.name}").strip()
    parts = [
        head,
        _inventory(results, seeds),
        NOT_THE_PAPERS,
        *_cost(results),
        *_again(results),
        _claims(results, seeds),
    ]
    parts += [_fidelity(results, seeds), _baselines(cells), _every_cell(cells), *_sections(results, seeds)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _folder(results: Results) -> str:
    return results.path.resolve().parent.name


def _others(seeds: int) -> Iterator[tuple[str, Target, int]]:
    """Yield every other target with its own number of encoder seeds, unless the page is asked for another number."""
    for name in HOMES:
        if name != WHOLE:
            target = find_target(name)
            yield name, target, target.seeds if seeds == REPRODUCTION.seeds else seeds


def _inventory(results: Results, seeds: int) -> str:
    lines = []
    for name, target, count in _others(seeds):
        cells = target.recipe()
        if cells:
            lines.append([f"`{name}`", str(len(cells)), str(count), str(len(results.missing(cells, count)))])
    return summaries.table(["target", "cells", "encoder seeds", "cells that lack seeds"], lines)


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
            f"Training the encoders of all rows took {together}.\nThose that several cells share count once, judging "
            "is not counted, and other commands may have shared the devices."
        )


def _again(results: Results) -> Iterator[str]:
    """Say how far the accuracies of one encoder differ between rows, if several rows have the same encoders."""
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
            f"{len(several)} encoders are in more than one row, with the same settings, seed and probe. The accuracy "
            f"of {differ} differs\nbetween rows, by up to {max(gaps):.2f} points, of {at_one} of these at one revision "
            "of this program. So means of one cell\nmay differ between targets."
        )


def _claims(results: Results, seeds: int) -> str:
    lines = [[f"**{each.name}**: {each.sentence} ({each.where})", *decide(each, results, seeds)] for each in CLAIMS]
    rule = RULE.strip().format(seeds=seeds)
    return f"## Claims\n\n{rule}\n\n{summaries.table(['claim', 'verdict', 'evidence'], lines)}"


def _fidelity(results: Results, seeds: int) -> str:
    count = next(count for name, _, count in _others(seeds) if name == "table-fidelity")
    return f"## Fidelity\n\n{find_target('table-fidelity').page(results, count)}"


def _beside(results: Results, seeds: int, name: str, graph: str) -> Beside:
    row = results.find(cell(name, graph), seeds)
    theirs = reported()["overall"][reported_as(name)]
    alike = summaries.over_encoders(results.find(read_alike(name, graph), seeds))
    return Beside(name, graph, row, summaries.over_encoders(row), alike, theirs[graph])


def _baselines(cells: list[Beside]) -> str:
    """Say how many baselines are as good as the paper's, which are not, and which are no targets."""
    why = lambda kind, each: explained(kind, each.name, each.graph)
    baselines = [each for each in cells if not each.name.startswith("SIGNNAP")]
    targets = [each for each in baselines if each.figure and why("no_target", each) is None]
    known = [(each, gap) for each in targets if (gap := each.gap) is not None]
    lower = [each for each, gap in known if gap < -TOLERANCE]
    columns = ["method", "graph", "honest (encoder seeds)", "the paper", "difference"]
    reasons = [[*each.texts, each.read_alike, why("lower", each) or "not yet"] for each in lower]
    implausible = [[*each.texts, text] for each in baselines if (text := why("no_target", each)) is not None]
    in_all = f" ({len(targets)} in all)" if len(known) < len(targets) else ""
    paragraphs = [
        "## Baselines",
        f"Ours is within {TOLERANCE} points of the paper or above it in {len(known) - len(lower)} of {len(known)} cells"
        f"{in_all}. Both kinds of GCC stand beside the paper's one. These are lower:",
        summaries.table([*columns, "read alike", "explained"], reasons) if reasons else "None.",
        "These are no targets, because the paper's figure is implausible or absent:",
        summaries.table([*columns, "why"], implausible),
    ]
    return "\n\n".join(part.strip() for part in paragraphs)


def _every_cell(cells: list[Beside]) -> str:
    ranked, lines = UNLABELLED, []
    for each in cells:
        name, graph, honest, theirs, gap = each.texts
        single = cost = "–"
        if each.row is not None and each.ours is not None:
            cost = f"{each.row['device']}, {each.row['seconds']:.0f}"
            single = str(summarize(each.row["test"][0])) if name in ranked else "–"
        lines.append([name, graph, honest, single, each.read_alike, theirs, gap, cost])
    columns = ["method", "graph", "honest (encoder seeds)", "one encoder", "read alike", "the paper", "difference"]
    note = (
        "The difference is that of the honest mean. Seconds are those of training all encoder seeds; they "
        "are no benchmark, since other commands may have shared the device. For *read alike* see `table-overall` below."
    )
    return f"## Every cell\n\n{note}\n\n{summaries.table([*columns, 'device, s'], lines)}"


def _sections(results: Results, seeds: int) -> Iterator[str]:
    """Yield the page of every other target below its picture; fidelity stands above, authors have their own."""
    folder = f"../{_folder(results)}"
    for name, target, count in _others(seeds):
        if name in ("table-fidelity", "authors"):
            continue
        picture = "" if target.figure is None else f"![{name}]({folder}/{name}.png)\n\n"
        # the page of a target without cells is made of graphs, which this page does without
        text = target.page(results, count) if target.recipe() else f"See [its page]({folder}/{name}.md)."
        yield f"## {name}\n\n{picture}{text}"


REPRODUCTION = Target(list, page)
