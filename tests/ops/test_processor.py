"""The name of the processor from /proc/cpuinfo or, elsewhere, from the platform module."""

import pytest

from signnap.ops import dense as processor


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\n", "AMD EPYC (AuthenticAMD)"),
        ("vendor_id\t: GenuineIntel\n", "GenuineIntel"),
        ("processor\t: 0\nBogoMIPS\t: 50.00\n", "arm"),
        (None, "arm"),
    ],
    ids=["both", "maker alone", "neither", "no file"],
)
def test_processor_name(text, name, tmp_path, monkeypatch):
    monkeypatch.setattr(processor, "_CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(processor.platform, "processor", lambda: "arm")
    if text is not None:
        (tmp_path / "cpuinfo").write_text(text)
    assert processor.processor_name() == name
