"""The code on the pages runs as written, names on the pages exist, and tables agree with code and results."""

import json
import os
import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
#: An optional remark on the line before, then a fenced block.
BLOCK = re.compile(r"(?:^<!-- (?P<remark>[^\n]*) -->\n)?^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.M | re.S)
NEEDS_DATA = "needs the public data"


class Block(NamedTuple):
    """A fenced block and the remark before it ("" for none)."""

    language: str
    code: str
    remark: str


def blocks(page):
    found = (Block(m["language"], m["code"], m["remark"] or "") for m in BLOCK.finditer(page.read_text("utf-8")))
    return [block for block in found if block.language in ("bash", "python")]


def run_in_order(chosen, folder):
    """Run blocks in one folder; neighbours in the same language continue each other, as a reader would type them."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for language, group in groupby(chosen, key=lambda block: block.language):
        code = "\n".join(block.code for block in group)
        command = ["bash", "-euo", "pipefail", "-c", code] if language == "bash" else [sys.executable, "-c", code]
        done = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{code}\nexit code {done.returncode}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run(page, tmp_path):
    chosen = [block for block in blocks(page) if not block.remark]
    if not chosen:
        pytest.skip("nothing to run on this page")
    if any("torch_geometric" in block.code for block in chosen):
        pytest.importorskip("torch_geometric")
    (tmp_path / "examples").symlink_to(ROOT / "examples")  # as in a clone
    run_in_order(chosen, tmp_path)


def test_blocks_that_need_data_run(raw_data, tmp_path, monkeypatch):
    monkeypatch.setenv("SIGNNAP_DATA", str(raw_data))
    chosen = [block for page in PAGES for block in blocks(page) if block.remark == NEEDS_DATA]
    assert chosen
    run_in_order(chosen, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_block_is_left_out_for_a_reason_only(page):
    for block in blocks(page):
        allowed = block.remark in ("", NEEDS_DATA) or re.fullmatch(r"not run: \w.*", block.remark)
        assert allowed, f"{page.name} has the remark {block.remark!r}"


def test_the_first_two_commands_are_demo_and_test():
    shown = [line.split("#")[0].strip() for line in blocks(ROOT / "README.md")[0].code.splitlines()]
    assert shown == ["make demo", "make test"]


def test_every_make_target_shown_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        shown = {name for block in blocks(page) for name in re.findall(r"^make ([a-z]+)", block.code, re.M)}
        assert shown <= targets, page.name


def test_the_readme_is_short_and_shows_python_early():
    lines = _read("README.md").splitlines()
    assert len(lines) <= 150
    assert lines.index("```python") < 40


def test_the_table_of_commands_is_complete():
    from typer.main import get_command

    from signnap.cli.app import app

    group = get_command(app)
    top = {name: group.get_command(None, name) for name in group.list_commands(None)}
    names = {
        f"{name} {inner}".strip() for name, command in top.items() for inner in getattr(command, "commands", {"": None})
    }
    shown = re.findall(r"^\| `signnap ([a-z ]+?)(?: [A-Z].*)?` \|", _read("docs/commands.md"), re.M)
    assert sorted(shown) == sorted(names)


#: A method of the README's table by its name in results/table-overall.md.
IN_THE_RESULTS = {
    "cmv": "CMV",
    "bgrl": "BGRL",
    "g-bt": "G-BT",
    "dgi": "DGI",
    "signnap": "SIGNNAP(GCN)",
    "deepwalk": "DeepWalk",
}


def test_the_table_of_methods_is_that_of_the_results():
    from signnap import method_class

    shown = re.findall(
        r"^\| `([\w-]+)`[^|]* \| [^|]+ \| ([\d.]+) \| ([\d.]+) \| (≤ )?([\d.]+) \|$", _read("README.md"), re.M
    )
    assert [name for name, *_ in shown] == list(IN_THE_RESULTS)
    same_probe, seconds = _same_probe(), _seconds_on_pubmed()
    for name, accuracy, rank, at_most, minutes in shown:
        accuracies, found_rank = same_probe[IN_THE_RESULTS[name]]
        assert (accuracy, rank) == (f"{sum(accuracies) / 6:.2f}", found_rank), name
        settings = method_class(name)().settings_for("pubmed")
        found = seconds[name] * settings.iterations / 60
        assert minutes == (f"{found:.0f}" if found >= 10 else f"{found:.1f}"), name
        assert bool(at_most) == (settings.patience > 0), name
    ranks = [float(rank) for *_, rank in same_probe.values()]
    assert len(ranks) == 16 and min(ranks) == float(shown[0][2])


def _same_probe():
    """Accuracies on six graphs and mean rank of each method, all read by one classifier."""
    found, name = {}, None
    for line in _read("results/table-overall.md").splitlines():
        first, *cells = [cell.strip(" *_") for cell in line.strip("|").split("|")]
        name = first.removesuffix(": across seeds") if first.endswith(": across seeds") else name
        if first == "same probe":
            found[name] = [float(re.match(r"[\d.]+", cell)[0]) for cell in cells[:6]], cells[6]
    return found


def _seconds_on_pubmed():
    """Seconds per iteration of each method on two cores."""
    rows = re.findall(r"^\| pubmed \| ([\w-]+) \| cpu \| ([\d.]+) \|", _read("benchmarks/results/methods_amd.md"), re.M)
    return {name: float(value) for name, value in rows}


def test_the_picture_shows_its_numbers(tmp_path):
    pytest.importorskip("matplotlib")
    numbers = json.loads(_read("docs/removed_edges.json"))
    assert {name: len(curves["accuracy"]) for name, curves in numbers["methods"].items()} == {
        "raw features": 1, "untrained encoder": 3, "SIGNNAP": 3,
    }  # fmt: skip
    assert numbers["revision"] and not numbers["revision"].endswith("-dirty")
    command = [sys.executable, str(ROOT / "docs" / "removed_edges.py"), "--quick", "--out", str(tmp_path)]
    subprocess.run(command, check=True, timeout=300, cwd=tmp_path)
    made = json.loads((tmp_path / "removed_edges.json").read_text())
    assert made["methods"].keys() == numbers["methods"].keys()
    assert "<svg" in (tmp_path / "removed_edges.svg").read_text()


def test_the_table_of_datasets_is_the_catalog():
    from signnap.data.public import DATASETS

    rows = re.findall(
        r"^\| (\w+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| (\d+) \| (\w+) \|", _read("docs/data.md"), re.M
    )
    shown = {name: (*(int(count.replace(",", "")) for count in counts), kind) for name, *counts, kind in rows}
    assert shown == {name: (d.nodes, d.edges, d.features, d.classes, d.setting) for name, d in DATASETS.items()}


def test_the_table_of_settings_is_complete():
    from dataclasses import fields

    from signnap.methods.settings import Settings

    table = _read("docs/method.md").partition("\n## Settings\n")[2].partition("\n## ")[0]
    shown = re.findall(r"^\| `(\w+)` \| (\S+) \| \S", table, re.M)
    written = lambda value: str(value).lower() if isinstance(value, bool) else str(value)
    assert shown == [(field.name, written(field.default)) for field in fields(Settings)]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = page.read_text("utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        file, _, heading = target.partition("#")
        there = page.parent / file if file else page
        assert there.exists(), f"{page.name} links to {target}"
        if heading:
            anchors = [re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in _headings(there)]
            assert heading in anchors, f"{page.name} links to {target}"


def test_names_in_the_reference_exist():
    from importlib import import_module

    import signnap

    names = re.findall(r"^::: ([\w.]+)$", _read("docs/reference.md"), re.M)
    described = set()
    for name in names:
        module, _, last = name.rpartition(".")
        described.add(last)
        assert hasattr(import_module(module), last), name
    assert set(signnap.__all__) - {"__version__"} <= described


def _read(path):
    return (ROOT / path).read_text("utf-8")


def _headings(page):
    return re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S), re.M)
