"""Settings in and out of TOML: unknown names, wrong types and broken files are one sentence each."""

from dataclasses import dataclass, fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signnap.config import build, read_toml, to_toml
from signnap.errors import SignnapError
from signnap.methods.settings import Settings


@dataclass(frozen=True)
class Kitchen:
    cooks: int
    salt: float = 0.5
    open: bool = False
    name: str = "home"


KITCHENS = st.builds(
    Kitchen,
    cooks=st.integers(-(2**60), 2**60),
    salt=st.floats(-3e38, 3e38),
    open=st.booleans(),
    name=st.text(st.characters(exclude_categories=["Cs", "Cc"])),
)


@settings(deadline=None)
@given(KITCHENS)
def test_round_trip(tmp_path_factory, kitchen):
    path = tmp_path_factory.getbasetemp() / "kitchen.toml"
    path.write_text(to_toml(kitchen), encoding="utf-8")
    assert build(Kitchen, read_toml(path)) == kitchen


def test_the_settings_of_a_run_survive_the_round_trip(tmp_path):
    chosen = Settings(backbone="gat", dropout=0.6, lr=1e-3, noise="laplace:0.02", normalize_features=False)
    path = tmp_path / "config.toml"
    path.write_text(to_toml(chosen))
    assert build(Settings, read_toml(path)) == chosen
    assert len(path.read_text().splitlines()) == len(fields(Settings))


def nested(depth):
    """A list in a list in a list …"""
    found = []
    for _ in range(depth):
        found = [found]
    return found


def test_defaults_fill_in_and_whole_numbers_pass_for_floats():
    built = build(Kitchen, {"cooks": 2, "salt": 1})
    assert built == Kitchen(2, 1.0) and isinstance(built.salt, float)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"cooks": 1, "salz": 2.0}, "kitchen.toml: unknown setting 'salz', did you mean 'salt'? Known: cooks, name, "),
        ({"cooks": 1, "xyz": 2.0}, "kitchen.toml: unknown setting 'xyz'. Known: cooks, name, open, salt"),
        ({"cooks": "two"}, "kitchen.toml: cooks is 'two': expected a whole number"),
        ({"cooks": True}, "kitchen.toml: cooks is True: expected a whole number"),
        ({"cooks": 1.5}, "kitchen.toml: cooks is 1.5: expected a whole number"),
        ({"cooks": 1, "salt": True}, "kitchen.toml: salt is True: expected a number"),
        ({"cooks": 1, "open": 1}, "kitchen.toml: open is 1: expected true or false"),
        ({"cooks": 1, "name": 1}, "kitchen.toml: name is 1: expected text"),
        ({"cooks": 1, "name": {"first": "a"}}, "kitchen.toml: name is {'first': 'a'}: expected text"),
        ({"cooks": 10**20}, "kitchen.toml: cooks is 100000000000000000000: expected a number of at most 9.2e+18"),
        ({"cooks": 1, "salt": 10**400}, "kitchen.toml: salt is 1000"),
        ({"cooks": 1, "salt": -1e300}, "kitchen.toml: salt is -1e+300: expected a number of at most 3.4e+38"),
        ({"cooks": 10**5000}, "kitchen.toml: cooks is a number of thousands of digits: expected a number of at most"),
        ({"cooks": "9" * 5000}, f"kitchen.toml: cooks is '{'9' * 37}...{'9' * 38}': expected a whole number"),
        ({"cooks": nested(5000)}, "kitchen.toml: cooks is [[[[[[[...]]]]]]]: expected a whole number"),
        ({"salt": 1.0}, "kitchen.toml: missing setting 'cooks'"),
    ],
)
def test_bad_values(values, sentence):
    with pytest.raises(SignnapError) as caught:
        build(Kitchen, values, "kitchen.toml")
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "cannot read .*bad.toml: No such file or directory"),
        (b"cooks = ", "bad.toml is not a TOML file: "),
        (b"cooks = 1\ncooks = 2", "bad.toml is not a TOML file: "),
        (b"name = '\xff'", "bad.toml is not a TOML file: "),
        (b"cooks = " + b"[" * 5000, "bad.toml nests its values too deeply: expected a file of settings"),
        (b"cooks" + b".a" * 5000 + b" = 1", "bad.toml nests its values too deeply: expected a file of settings"),
        (b"cooks = " + b"9" * 5000, "bad.toml holds a number of thousands of digits: expected a file of settings"),
        (b"cooks = 0x" + b"f" * 5000, "bad.toml holds a number of thousands of digits: expected a file of settings"),
    ],
)
def test_bad_files(tmp_path, content, sentence):
    path = tmp_path / "bad.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SignnapError, match=sentence):
        read_toml(path)


def test_a_byte_order_mark_says_nothing(tmp_path):
    path = tmp_path / "notepad.toml"
    path.write_text('name = "Küche"', encoding="utf-8-sig")
    assert read_toml(path) == {"name": "Küche"}


def test_a_folder_is_not_a_file_of_settings(tmp_path):
    with pytest.raises(SignnapError, match=r"cannot read .*: Is a directory"):
        read_toml(tmp_path)
