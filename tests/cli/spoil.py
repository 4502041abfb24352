"""Ways to spoil the files of a working folder, as functions to be called there."""

import os
from pathlib import Path


def write(name, text):
    return lambda: Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())


def add(name, line):
    return lambda: Path(name).write_text(f"{Path(name).read_text()}\n{line}")


def change(name, old, new):
    return lambda: Path(name).write_text(Path(name).read_text().replace(old, new, 1))


def truncate(name):
    return lambda: Path(name).write_bytes(Path(name).read_bytes()[:-100])


def flip(name):
    """Change a low bit of a number near the end of the tensors."""

    def act():
        content = bytearray(Path(name).read_bytes())
        place = len(content) - 40 if name.endswith("safetensors") else content.index(b"data/0") + 200
        content[place] ^= 1
        Path(name).write_bytes(content)

    return act


def remove(name):
    return lambda: os.remove(name)


class Code:
    """Runs when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("trap",)
