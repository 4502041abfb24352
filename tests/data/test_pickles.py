"""Old pickles read as data: nothing in them runs, and nothing in them crashes the reader."""

import os
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signnap.data.planetoid import read_pickle
from signnap.errors import SignnapError


def malicious(marker, protocol):
    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {marker}",)

    return pickle.dumps(Evil(), protocol=protocol)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_malicious_pickle_of_every_protocol(tmp_path, protocol):
    path = tmp_path / "evil"
    path.write_bytes(malicious(tmp_path / "ran", protocol))
    with pytest.raises(SignnapError, match=r"asks for (posix|nt)\.system"):
        read_pickle(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"cbuiltins\neval\n(S'1'\ntR.", "asks for builtins.eval"),
        (b"cnumpy\nload\n.", "asks for numpy.load"),
        (b"\x80\x02]r\xff\xff\xff\x7f.", "memo place 2147483647"),
        (b"\x80\x05\x96\xff\xff\xff\xff\xff\x00\x00\x00.", "damaged"),
        (b"", "damaged"),
        (b"hello", "damaged"),
        (b"cnumpy\nndarray\n(I1000000000000\ntR.", "damaged"),
        (b"cscipy.sparse.csr\ncsr_matrix\n(tR.", "damaged"),
    ],
)
def test_pickle_with_a_surprise(tmp_path, content, sentence):
    path = tmp_path / "odd"
    path.write_bytes(content)
    with pytest.raises(SignnapError) as caught:
        read_pickle(path)
    assert sentence in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.data
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_damaged_pickle_never_crashes(raw_data, tmp_path_factory, data):
    part = data.draw(st.sampled_from(["y", "x"]))
    body = bytearray((raw_data / "planetoid" / f"ind.cora.{part}").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, min(400, len(body) - 1)))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.pickle"
    path.write_bytes(body)
    try:
        read_pickle(path)
    except SignnapError as error:
        assert str(path) in str(error)
