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
    assert (package / "experiments" / "paper.json").is_file()


def test_every_non_python_file_of_the_package_is_known():
    """The wheel takes all of src/signnap; a stray file there would be shipped."""
    package = Path(str(resources.files("signnap")))
    others = {
        p.relative_to(package).as_posix() for p in package.rglob("*") if p.is_file() and p.suffix not in (".py", ".pyc")
    }
    results = {f"experiments/{name}" for name in ("paper.json", "explained.toml", "targets/reported.toml")}
    assert others == {"py.typed", "methods/presets/paper.toml", *results}


def test_one_version_everywhere():
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    logged = re.search(r"^## \[(\S+)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert cited and logged
    assert signnap.__version__ == metadata.version("signnap") == cited[1] == logged[1]


def test_the_command_is_installed():
    scripts = {entry.name: entry.value for entry in metadata.entry_points(group="console_scripts")}
    assert scripts["signnap"] == "signnap.cli:main"
