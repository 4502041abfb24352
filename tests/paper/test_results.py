"""The results file is complete, or refused in one sentence, also with several writers."""

import json
import subprocess
import sys
from dataclasses import asdict, replace

import pytest

from signnap.errors import SignnapError
from signnap_paper.cells import Cell
from signnap_paper.results import Results

RAW, DGI = Cell("raw", "synthetic"), Cell("dgi", "synthetic")
KNOWN = {"device": "Fast One", "seeds": [0], "seconds": 1.5, "iterations": [3], "test": [[50.0]], "val": [[60.0]]}
FAILED = {"seeds": [0], "error": "MemoryError: "}


def test_rows_come_back(tmp_path):
    path = tmp_path / "not there yet" / "rows.jsonl"
    results = Results(path)
    assert results.find(RAW, 1) is None and not path.parent.exists()
    odd = replace(RAW, graph="Kühe\u2028\x85\ud800.csv", settings={"a": 1, "b": 2})  # line ends, half a character
    results.add(RAW, KNOWN)
    results.add(odd, FAILED | {"error": "ValueError: 牛"})
    results.add(DGI, KNOWN)
    read = Results(path)
    for known in (results, read):
        assert known.find(RAW, 1) == {"cell": asdict(RAW) | {"looks": []}, **KNOWN}
        assert known.find(replace(odd, settings={"b": 2, "a": 1}), 1)["error"] == "ValueError: 牛"
        assert known.find(replace(RAW, probe="logistic"), 1) is None
    lines = path.read_bytes().split(b"\n")
    assert [json.loads(line)["cell"]["method"] for line in lines[:-1]] == ["raw", "raw", "dgi"] and lines[-1] == b""


def test_collapses_are_those_of_the_seeds_asked_for(tmp_path):
    results = Results(tmp_path / "rows.jsonl")
    for seed, why in enumerate(["stuck", None, "constant"]):
        results.add(RAW, KNOWN | {"seeds": [seed]} | ({"collapsed": {str(seed): why}} if why else {}))
    found = [results.find(RAW, seeds).get("collapsed") for seeds in (1, 2, 3)]
    assert found == [{"0": "stuck"}, {"0": "stuck"}, {"0": "stuck", "2": "constant"}]
    together = {name: 3 * KNOWN[name] for name in ("iterations", "test", "val")}
    results.add(DGI, KNOWN | together | {"seeds": [0, 1, 2], "collapsed": {"2": "stuck"}})
    assert "collapsed" not in results.find(DGI, 2) and results.find(DGI, 3)["collapsed"] == {"2": "stuck"}


def test_what_is_missing(tmp_path):
    results, other = Results(tmp_path / "rows.jsonl"), replace(RAW, graph="cora")
    assert results.missing([RAW, DGI, other], 1) == [(RAW, [0]), (DGI, [0]), (other, [0])]
    results.add(RAW, KNOWN)
    results.add(other, FAILED)
    for known in (results, Results(results.path)):
        assert known.missing([RAW, DGI, other], 1) == [(DGI, [0]), (other, [0])]  # a failure is tried again
        assert known.missing([DGI, RAW, replace(DGI)], 1) == [(DGI, [0])]  # and nothing twice
    results.add(other, KNOWN)
    assert "error" not in results.find(other, 1) and results.missing([RAW, other], 1) == []
    assert results.path.read_text().count("\n") == 2


WHOLE = json.dumps({"cell": asdict(RAW), **KNOWN}).encode()


@pytest.mark.parametrize(
    "broken",
    [b"", b"{", b"\xff\xfe\xfd", b"[]", b"3", b'"row"', b"{}", b'{"cell": 3}', b'{"cell": {"method": "raw"}}',
     b'{"cell": "raw", "seeds": [0]}',
     b'{"cell": {"method": "raw", "graph": "cora", "colour": "red"}}', WHOLE[:-9],
     json.dumps({"cell": asdict(DGI), **KNOWN, "device": ""}).encode(),
     json.dumps({"cell": asdict(DGI)}).encode(), json.dumps({"cell": asdict(DGI), "seeds": 3}).encode()],
)  # fmt: skip
def test_a_broken_line_is_one_sentence(broken, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(WHOLE + b"\n" + broken + b"\n" + WHOLE + b"\n")
    with pytest.raises(SignnapError) as error:
        Results(path)
    assert str(error.value) == f"{path}, line 2 is not a result of this program"


def test_seeds_of_several_devices_name_them_all(tmp_path):
    results = Results(tmp_path / "rows.jsonl")
    for seed, device in enumerate(["Fast One", "slow one", "Fast One"]):
        results.add(RAW, KNOWN | {"seeds": [seed], "device": device})
    found = [results.find(RAW, seeds) for seeds in (1, 3)]
    assert [row["device"] for row in found] == ["Fast One", "Fast One and slow one"]
    assert [row["seconds"] for row in found] == [1.5, 4.5]


def test_seconds_are_those_of_the_seeds_that_are_asked_for(tmp_path):
    results, lists = Results(tmp_path / "rows.jsonl"), ("iterations", "test", "val")
    for seeds, seconds in (([0], 1.5), ([1, 2, 3, 4], 8.0)):
        results.add(
            RAW, KNOWN | {name: KNOWN[name] * len(seeds) for name in lists} | {"seeds": seeds, "seconds": seconds}
        )
    assert [results.find(RAW, seeds)["seconds"] for seeds in (1, 2, 4, 5)] == [1.5, 3.5, 7.5, 9.5]


@pytest.mark.parametrize("odd", [replace(RAW, redrawn=1), replace(RAW, settings={"lr": [1]})])
def test_a_row_that_could_not_be_read_again_is_not_written(odd, tmp_path):
    results = Results(tmp_path / "rows.jsonl")
    results.add(RAW, KNOWN)
    with pytest.raises(
        SignnapError, match=r"what was found for raw.* on synthetic is not a result that can be read again"
    ):
        results.add(odd, KNOWN)
    assert [row["cell"] for row in Results(results.path)] == [asdict(RAW) | {"looks": []}]


def test_a_failure_may_have_had_odd_settings(tmp_path):
    results, odd = Results(tmp_path / "rows.jsonl"), replace(RAW, settings={"lr": [1]})
    results.add(odd, {"seeds": [0], "error": "lr is [1]: expected a number"})
    assert Results(results.path).find(odd, 1)["error"].startswith("lr is")


def test_a_file_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(SignnapError, match=r"cannot read .*: Is a directory"):
        Results(tmp_path)
    (tmp_path / "file").touch()
    blocked = Results(tmp_path / "file" / "rows.jsonl")
    with pytest.raises(SignnapError, match=r"cannot write .*rows\.jsonl: .*nothing was left half-written"):
        blocked.add(RAW, KNOWN)


def test_a_failure_does_not_replace_a_result(tmp_path):
    first, other = (Results(tmp_path / "rows.jsonl") for _ in range(2))
    first.add(RAW, KNOWN)
    other.add(RAW, {"seeds": KNOWN["seeds"], "error": "out of memory"})
    for known in (other, Results(first.path)):
        assert "error" not in known.find(RAW, 1) and known.missing([RAW], 1) == [] and len([*known]) == 1


def test_processes_that_fill_one_file_keep_each_others_rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    program = """
import sys
from signnap_paper.cells import Cell
from signnap_paper.results import Results
results = Results(sys.argv[1])
for seed in range(25):
    row = {"device": "Fast One", "seeds": [seed], "seconds": 1.0, "iterations": [1], "test": [[1.0]], "val": [[1.0]]}
    results.add(Cell(sys.argv[2], "cora"), row)
"""
    names = ["raw", "svd", "dgi"]
    running = [subprocess.Popen([sys.executable, "-c", program, str(path), name]) for name in names]
    assert [process.wait() for process in running] == [0] * 3
    assert Results(path).missing([Cell(name, "cora") for name in names], 25) == []
    assert [file.name for file in tmp_path.iterdir()] == ["rows.jsonl"]


def test_a_killed_writer_leaves_the_old_file(tmp_path):
    path = tmp_path / "rows.jsonl"
    Results(path).add(RAW, KNOWN)
    before = path.read_bytes()
    program = f"""
import os, signal
from signnap_paper.cells import Cell
from signnap_paper.results import Results
os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)  # all is written, nothing is in its place
Results({str(path)!r}).add(Cell("dgi", "cora"), {KNOWN | {"test": [[1.0] * 1000]}})
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    assert path.read_bytes() == before
    assert Results(path).missing([RAW, Cell("dgi", "cora")], 1) == [(Cell("dgi", "cora"), [0])]
