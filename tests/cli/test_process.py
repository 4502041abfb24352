"""What is freed stays with the process: measured in processes of their own, whose memory nobody has used before."""

import platform
import subprocess
import sys

import pytest

from signnap.cli.program import keep_freed_memory

#: Write to twenty blocks, free them, and do it again: how many pages had to be handed out then?
PROGRAM = """
import resource
import torch
from signnap.cli.program import keep_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

torch.ones(4)
{before}
[torch.ones({size}) for _ in range(20)]
begun = faults()
[torch.ones({size}) for _ in range(20)]
print(faults() - begun)
"""


def faults_after(before, size):
    program = PROGRAM.format(before=before, size=size)
    return int(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have rules of their own")
@pytest.mark.parametrize("size", [2**18, 2**21], ids=["20 MiB", "160 MiB"])
def test_freed_pages_are_kept(size):
    assert faults_after("keep_freed_memory()", size) < faults_after("", size) / 2


@pytest.mark.parametrize("error", [AttributeError, OSError, TypeError])
def test_another_c_library_is_left_alone(error, monkeypatch):
    def refuse(name):
        raise error

    monkeypatch.setattr("ctypes.CDLL", refuse)
    keep_freed_memory()
