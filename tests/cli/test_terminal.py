"""Names from files reach the terminal as printable text, on one line of bounded length."""

import logging
import sys
import unicodedata
from pathlib import Path

import pytest

from signnap.cli.output import emit, show_notes
from signnap.errors import printable
from signnap.train.progress import tell

#: Clear the screen, ring, set the title of the window, imitate a line, write backwards; in C0, C1 and Unicode.
EVIL = "a\x1b[2J\x07\x1b]0;title\x1b\\\nerror: none\r\x9b2J\u202eb\u2028c"
SAFE = r"a\x1b[2J\x07\x1b]0;title\x1b\\nerror: none\r\x9b2J\u202eb\u2028c"
TRAIN = ("--nodes", "nodes.csv", "--out", "new", "--iterations", 1, "--dim", 8, "--negatives", 16)


def obeyed(text):
    """The characters of a text that a terminal does not show, besides the ends of lines."""
    return {char for char in text if char != "\n" and unicodedata.category(char)[0] == "C"} | (
        {*text} & {*"\u2028\u2029"}
    )


def test_control_characters_are_escaped_and_text_is_kept():
    assert printable(EVIL) == SAFE
    assert printable("\udcff") == r"\udcff"  # of a file name that is not UTF-8
    for kept in ("", "naïve ± 5 %", "网络", "a\u00a0b\u3000c", "🦊", r"C:\new\table.csv"):
        assert printable(kept) == kept


def test_long_messages_keep_their_beginning_and_their_end():
    assert printable("x" * 2_000) == "x" * 2_000
    cut = printable(f"table.csv holds {'x' * 100_000}: expected a number")
    assert len(cut) < 2_100
    assert cut.startswith("table.csv holds xxx") and cut.endswith("xxx: expected a number")
    assert "(98,035 characters left out)" in cut
    assert len(printable("\x1b" * 100_000)) < 2_100


def test_every_way_to_the_terminal(capsys):
    tell(f"error: {EVIL}")
    assert capsys.readouterr() == ("", f"error: {SAFE}\n")
    emit({}, False, (EVIL, ("name", "value"), [(EVIL, "1"), ("plain", EVIL)]))
    out = capsys.readouterr().out
    assert not obeyed(out) and out.count(r"\x07") == 3 and out.count(r"\u202e") == 3


@pytest.fixture
def logger():
    """The logger of the library without the handlers and the level that a test adds."""
    logger = logging.getLogger("signnap")
    level = logger.level
    yield logger
    for handler in [*logger.handlers]:
        logger.removeHandler(handler)
    logger.setLevel(level)


def test_notes(logger, capsys):
    show_notes()
    logger.getChild("data").warning("%s: ignored %s", EVIL, "x" * 100_000)
    err = capsys.readouterr().err
    assert err.startswith(f"note: {SAFE}: ignored xxx") and err.count("\n") == 1 and len(err) < 2_100


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such file names")
def test_a_file_with_an_evil_name(command, files):
    name = EVIL.replace("/", "") + ".csv"
    Path(name).write_text(Path("edges.csv").read_text())
    shown = command("train", name, *TRAIN)
    assert shown.code == 0 and not obeyed(shown.out + shown.err)
    assert [line for line in shown.err.splitlines() if not line.startswith(("note: ", "iteration "))] == []
    judged = command("evaluate", "new", name, "--nodes", "nodes.csv", "--split", "per-class:5:5", "--seeds", 1)
    assert judged.code == 0 and not obeyed(judged.out + judged.err)
    Path(name).write_text("source,target\nnode 01\n")
    failed = command("train", name, *TRAIN)
    assert failed.code == 1 and not obeyed(failed.err)
    assert failed.err.startswith("error: ") and failed.err.count("\n") == 1


def test_columns_with_evil_and_long_names(command, files):
    first, *rows = Path("nodes.csv").read_text().splitlines()
    quoted = f'"{EVIL}"'
    Path("nodes.csv").write_text(
        "\n".join([f"{first},{quoted},{'y' * 100_000}"] + [f"{row},x{at % 3},z{at % 4}" for at, row in enumerate(rows)])
    )
    result = command("train", "edges.csv", *TRAIN)
    assert result.code == 0 and not obeyed(result.err)
    assert max(map(len, result.err.splitlines())) < 2_100
    result = command("train", "edges.csv", *TRAIN, "--label-column", "none")
    lines = result.err.splitlines()
    assert result.code == 1 and not obeyed(result.err) and max(map(len, lines)) < 2_100
    assert [line.partition(":")[0] for line in lines] == ["note", "error"]
