"""``signnap report`` makes one file of a folder of results."""

import json
import shutil
from pathlib import Path

import pytest

from signnap_paper.cells import quickened
from signnap_paper.paper import cell
from signnap_paper.results import Results

ROWS = Path(__file__).resolve().parents[2] / "results" / "rows.jsonl"
ROW = {"seeds": [0], "seconds": 4.0, "iterations": [7], "val": [[60.0]], "test": [[70.0]], "device": "Fast One"}
pytestmark = pytest.mark.skipif(not ROWS.exists(), reason="there are no rows here")


@pytest.fixture
def results(tmp_path):
    (tmp_path / "results").mkdir()
    shutil.copy(ROWS, tmp_path / "results" / "rows.jsonl")


def test_a_page_with_all_figures(command, results):
    told = command("report", "results", "--out", "new/page.html", "--json").json
    page = Path("new/page.html").read_text()
    assert told == {"report": "new/page.html", "rows": len(ROWS.read_text().splitlines())}
    assert page.count('<img src="data:image/png;base64,') == page.count("<img") == 8  # one of seven figures twice
    assert "does not hold" in page and 'id="stability-of-embeddings-when-edges-are-dropped"' in page


def test_lines_for_programs(command, results):
    assert command("report", "results", "--out", "all.jsonl").code == 0
    lines = [json.loads(line) for line in Path("all.jsonl").read_text().splitlines()]
    assert {line["method"] for line in lines} >= {"signnap", "dgi", "gcc"}
    what = ("method", "dataset", "split", "redrawn", "protocol", "settings", "encoder_seed", "probe_seed", "metric")
    assert len({json.dumps([line[name] for name in what]) for line in lines}) == len(lines)


def test_a_quick_try_says_so(command, tmp_path):
    rows = Results(tmp_path / "quick" / "rows.jsonl")
    rows.add(quickened(cell("DGI", "pubmed")), ROW)
    assert command("report", "quick", "--out", "page.html").code == 0
    page = Path("page.html").read_text()
    assert "Quick run: one iteration" in page and "<td>70.00 (1)</td>" in page
    assert "no verdict: quick run" in page and "does not hold</td>" not in page


def test_rows_of_failures_only(command, tmp_path):
    Results(tmp_path / "bad" / "rows.jsonl").add(cell("DGI", "pubmed"), {"seeds": [0], "error": "MemoryError: "})
    found = command("report", "bad", "--out", "page.html")
    assert found.code == 1 and "bad has 1 rows of cells that failed, and no result" in found.err


@pytest.mark.parametrize("part", ["seconds", "test", "iterations"])
def test_rows_that_are_none(part, command, tmp_path):
    whole = Results(tmp_path / "odd" / "rows.jsonl")
    whole.add(cell("DGI", "pubmed"), ROW)
    line = json.loads(whole.path.read_text())
    del line[part]
    whole.path.write_text(json.dumps(line))
    found = command("report", "odd", "--out", "all.jsonl")
    assert found.code == 1 and "rows.jsonl, line 1 is not a result of this program" in found.err


@pytest.mark.parametrize("out", ["all.jsonl", "page.html"])
@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e999"])
@pytest.mark.parametrize("where", ["settings", "resolved"])
def test_settings_that_are_no_finite_numbers_are_refused(where, value, out, command, tmp_path):
    whole = Results(tmp_path / "odd" / "rows.jsonl")
    whole.add(cell("DGI", "pubmed"), ROW)
    line = json.loads(whole.path.read_text())
    (line["cell"] if where == "settings" else line)[where] = {"backbone": "VALUE"}
    whole.path.write_text(json.dumps(line).replace('"VALUE"', value))
    found = command("report", "odd", "--out", out)
    assert found.code == 1 and not Path(out).exists()
    assert found.err == "error: odd/rows.jsonl, line 1 is not a result of this program\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("results", "--out", "page.txt"), "page.txt ends in '.txt': expected .html or .jsonl"),
        (
            ("gone", "--out", "page.html"),
            "gone has no row in its rows.jsonl, and no result: expected a folder that",
        ),
        (("results", "--out", "results/rows.jsonl"), "results/rows.jsonl holds the results themselves"),
    ],
)
def test_one_sentence(command, results, arguments, sentence):
    before = Path("results/rows.jsonl").read_bytes()
    found = command("report", *arguments)
    assert found.code == 1 and found.err.startswith(f"error: {sentence}") and found.err.count("\n") == 1
    assert [path.name for path in Path().rglob("*") if path.is_file()] == ["rows.jsonl"]
    assert Path("results/rows.jsonl").read_bytes() == before
