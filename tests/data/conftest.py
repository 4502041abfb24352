"""Fixtures for tests of tables."""

from pathlib import Path

import pytest

from signnap.errors import SignnapError


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file in an empty working folder, so that messages show its bare name."""
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write


@pytest.fixture(scope="session")
def sentence():
    """Call a function that must fail, and return its message, which is one line."""

    def sentence(call, *arguments, **options):
        with pytest.raises(SignnapError) as caught:
            call(*arguments, **options)
        message = str(caught.value)
        assert "\n" not in message
        return message

    return sentence


@pytest.fixture(scope="session")
def edges_of():
    """Undirected edges as pairs of the user's ids."""

    def edges_of(graph):
        rows, cols = graph.pattern.to_scipy().nonzero()
        return {frozenset((str(graph.ids[r]), str(graph.ids[c]))) for r, c in zip(rows, cols, strict=True)}

    return edges_of


@pytest.fixture(scope="session")
def pairs():
    """Undirected edges, each written as "one-other"."""
    return lambda *texts: {frozenset(text.split("-")) for text in texts}
