"""Benchmark records: a stopped script continues its file, and the page shows the rows."""

import json
import subprocess
import sys

import pytest

from signnap.errors import SignnapError


@pytest.fixture
def opened(script, tmp_path):
    record = script("record")

    def open_record(**changes):
        options = {
            "title": "T", "about": "A.", "protocol": {"seeds": (0, 1)}, "keys": ["name"],
            "columns": {"name": "name", "ms": "ms", "error": "error"},
        }  # fmt: skip
        return record.Record(tmp_path / "results" / "r.json", **options | changes)

    return open_record


def content(record):
    return json.loads(record.path.read_text(encoding="utf-8"))


def test_rows_are_kept_and_failures_tried_again(opened):
    first = opened()
    first.add({"name": "a", "ms": 1.5})
    first.add({"name": "b", "error": "E"})
    first.save()
    second = opened()
    assert second.holds(name="a") and not second.holds(name="b") and not second.holds(name="c")
    second.add({"name": "b", "ms": 2.5})
    second.save()
    assert content(second)["rows"] == [
        {"name": "a", "ms": 1.5, "session": 0},
        {"name": "b", "ms": 2.5, "session": 1},
    ]
    assert len(content(second)["sessions"]) == 2


def test_a_session_without_rows_leaves_no_trace(opened):
    first = opened()
    first.add({"name": "a", "ms": 1.5})
    first.save()
    before = content(first)
    opened().save()
    assert content(first) == before


def test_a_session_tells_where_and_how(opened):
    record = opened()
    record.add({"name": "a", "ms": 1.5})
    record.save()
    (session,) = content(record)["sessions"]
    assert {"date", "command", "device", "python", "torch", "cuda", "triton", "signnap", "revision"} <= set(session)


def test_other_protocols_and_devices_are_refused(opened):
    record = opened()
    record.add({"name": "a", "ms": 1.5})
    record.save()
    with pytest.raises(SignnapError, match=r"protocol .* give another --out"):
        opened(protocol={"seeds": [0]})
    changed = content(record)
    changed["sessions"][0]["device"] = "abacus"
    record.path.write_text(json.dumps(changed))
    with pytest.raises(SignnapError, match="device abacus"):
        opened()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "–"),
        ("a|b\nc", "a\\|b c"),
        (True, "True"),
        (1234567, "1,234,567"),
        (12345.6, "12,346"),
        (-999.96, "-1000.0"),
        (123.456, "123.5"),
        (12.3456, "12.35"),
        (1.23456, "1.235"),
        (0.0123456, "0.0123"),
        (0.0, "0"),
        ([1, 2.5], "1, 2.500"),
        ({"a": 1, "b": "x"}, "a 1, b x"),
    ],
)
def test_values_are_written_for_people(script, value, words):
    assert script("record").written(value) == words


def test_the_page_is_written_beside_and_can_be_printed_again(opened):
    record = opened()
    record.add({"name": "a", "ms": 1.5})
    record.add({"name": "b", "error": "it | failed"})
    record.content["found"] = {"mean": 1.5}
    record.save()
    page = record.path.with_suffix(".md").read_text(encoding="utf-8")
    lines = page.splitlines()
    assert lines[:6] == ["# T", "", "A.", "", "- seeds: 0, 1", "- mean: 1.500"]
    assert lines[6].startswith("- measured 20") and record.session["torch"] in lines[6]
    assert lines[7:] == [
        "",
        "| name | ms | error |",
        "|---|---|---|",
        "| a | 1.500 | – |",
        "| b | – | it \\| failed |",
    ]
    command = [sys.executable, "-m", "signnap_paper.benchmarks.record", record.path]
    assert subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout == page
