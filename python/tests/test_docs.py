"""Runs the code of docs/python_bridge.md, block by block, in one namespace."""

import importlib.util
import pathlib
import re

import pytest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python_bridge.md"


@pytest.mark.skipif(not PAGE.exists(), reason="outside of the repository")
def test_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    has_torch = importlib.util.find_spec("torch") is not None
    text = PAGE.read_text()
    blocks = list(re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    assert len(blocks) == 6
    namespace = {"__name__": "page"}
    for block in blocks:
        code = block.group(1)
        if "import torch" in code and not has_torch:
            continue
        line = text.count("\n", 0, block.start()) + 1
        exec(compile("\n" * line + code, str(PAGE), "exec"), namespace)
