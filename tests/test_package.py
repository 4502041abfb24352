"""What an installed copy must contain, and what must agree with it."""

import re
from importlib import metadata, resources
from pathlib import Path

import signnap

ROOT = Path(__file__).resolve().parents[1]


def test_installed_files():
    package = resources.files("signnap")
    assert (package / "py.typed").is_file()
    assert (package / "methods" / "presets" / "paper.toml").is_file()
    assert (resources.files("signnap_paper") / "paper.json").is_file()


def test_every_non_python_file_of_the_package_is_known():
    """The wheel takes all of src; a stray file there would be shipped."""
    assert data_files("signnap") == {"py.typed", "methods/presets/paper.toml"}
    assert data_files("signnap_paper") == {"paper.json", "explained.toml", "reported.toml"}


def data_files(package):
    folder = Path(str(resources.files(package)))
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc"))
    return {path.relative_to(folder).as_posix() for path in files}


def test_one_version_everywhere():
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    logged = re.search(r"^## \[(\S+)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert cited and logged
    assert signnap.__version__ == metadata.version("signnap") == cited[1] == logged[1]


def test_the_command_is_installed():
    scripts = {entry.name: entry.value for entry in metadata.entry_points(group="console_scripts")}
    assert scripts["signnap"] == "signnap.cli:main"
    added = {entry.name: entry.value for entry in metadata.entry_points(group="signnap.commands")}
    assert added == {name: f"signnap_paper.cli:{name}" for name in ("reproduce", "report", "bench")}
