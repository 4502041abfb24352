"""What is freed stays with the process: measured in processes of their own, whose memory nobody has used before."""

import platform
import subprocess
import sys

import pytest

#: Write to twenty blocks of a megabyte, free them, and do it again: how many pages had to be handed out then?
PROGRAM = """
import resource
import torch
from signnap.train.pages import keep_freed_pages

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

torch.ones(4)
{before}
[torch.ones(2**18) for _ in range(20)]
begun = faults()
[torch.ones(2**18) for _ in range(20)]
print(faults() - begun)
"""


def faults_after(before):
    made = subprocess.run([sys.executable, "-c", PROGRAM.format(before=before)], capture_output=True, check=True)
    return int(made.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have rules of their own")
def test_freed_pages_are_kept():
    assert faults_after("keep_freed_pages()") < faults_after("") / 2
