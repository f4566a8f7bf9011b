"""Settings in pyproject.toml, comments that silence, and the cache."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from ashore.fix import check as check_module
from commands import Shell

BROKEN = 'import torch\nx = torch.ones(3, device="cuda")\nx.numpy()\nx.half()\n'


def settings(text: str) -> None:
    Path("pyproject.toml").write_text(f"[tool.ashore]\n{text}\n")


def rules(shell: Shell, *words: str) -> list[str]:
    out = shell("check", "--format", "json", *words, ".").out
    return [f"{Path(r['path']).name} {r['rule']}" for r in json.loads(out)["reports"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["a.py TN101", "a.py TN401", "b.py TN101", "b.py TN401"]),
        ('select = ["TN1"]', ["a.py TN101", "b.py TN101"]),
        ('ignore = ["TN101"]', ["a.py TN401", "b.py TN401"]),
        ('exclude = ["sub"]', ["a.py TN101", "a.py TN401"]),
        ('exclude = ["sub/*.py"]', ["a.py TN101", "a.py TN401"]),
        ('exclude = ["a*"]', ["b.py TN101", "b.py TN401"]),
        ('per-file-ignores = {"sub/**" = ["TN4"]}', ["a.py TN101", "a.py TN401", "b.py TN101"]),
        ('per-file-ignores = {"a.py" = ["TN"]}', ["b.py TN101", "b.py TN401"]),
    ],
)
def test_settings(text: str, expected: list[str], shell: Shell) -> None:
    shell.write(a=BROKEN, sub__b=BROKEN)
    settings(text)
    assert rules(shell) == expected


def test_the_command_line_wins(shell: Shell) -> None:
    shell.write(a="import torch\ndef f(x, device):\n    return x.to(device).numpy()\n")
    settings('level = "sure"\nselect = ["TN4"]')
    assert rules(shell) == []
    assert rules(shell, "--level", "likely", "--select", "TN1") == ["a.py TN101"]


def test_the_nearest_pyproject_above_counts(shell: Shell) -> None:
    shell.write(pkg__deep__a=BROKEN)
    settings('ignore = ["TN101"]')
    Path("pkg/pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert rules(shell) == ["a.py TN401"]
    os.chdir("pkg/deep")
    assert rules(shell) == ["a.py TN401"]


@pytest.mark.parametrize(
    "text",
    [
        'levle = "sure"',
        'level = "high"',
        'select = "TN1"',
        'select = ["E501"]',
        "exclude = [1]",
        "x =",
    ],
)
def test_bad_settings_are_one_line(text: str, shell: Shell) -> None:
    shell.write(a=BROKEN)
    settings(text)
    for command in ("check", "fix"):
        done = shell(command, ".")
        assert done.code == 2 and done.out == "" and done.err.count("\n") == 1
        assert "pyproject.toml" in done.err


@pytest.mark.parametrize(
    ("comment", "silent"),
    [
        ("# ashore: ignore[TN101]", True),
        ("# ashore: ignore[TN401, TN101]", True),
        ("# ashore: ignore", True),
        ("# noqa: TN101", True),
        ("# noqa: E501,TN101", True),
        ("# noqa", True),
        ("# type: ignore  # noqa: TN101", True),
        ("# ashore: ignore[TN102]", False),
        ("# noqa: E501", False),
    ],
)
def test_comments_silence(comment: str, silent: bool, shell: Shell) -> None:
    code = f'import torch\nx = torch.ones(3, device="cuda")\nx.numpy()  {comment}\n'
    shell.write(a=code)
    assert ("a.py TN101" in rules(shell)) is not silent
    shell("fix", "a.py")
    assert (Path("a.py").read_text() == code) is silent


def test_a_comment_on_any_line_of_the_expression_silences(shell: Shell) -> None:
    shell.write(
        a='import torch\nx = torch.ones(3, device="cuda")\n'
        "y = (\n  x\n  .numpy()  # noqa: TN101\n)\n"
    )
    assert rules(shell) == []


def test_unused_comments_are_told(shell: Shell) -> None:
    shell.write(
        a="import torch\nx = 1  # ashore: ignore[TN101]\ny = 2  # noqa: TN201\n"
        "z = 3  # noqa\nw = '# ashore: ignore'\nv = 4  # noqa: E501\nu = 5  # ashore: ignore\n"
    )
    done = shell("check", "a.py")
    assert [line for line in done.out.splitlines() if "TN001" in line] == [
        "a.py:2:8: TN001 [likely] this comment silences nothing: no report of TN101 is here",
        "a.py:3:8: TN001 [likely] this comment silences nothing: no report of TN201 is here",
        "a.py:7:8: TN001 [likely] this comment silences nothing: no report of anything is here",
    ]


def test_unchanged_files_are_not_read_again(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write(a=BROKEN, b=BROKEN)
    first = shell("check", ".")
    read: list[str] = []
    real = check_module.check_file
    monkeypatch.setattr(
        check_module, "check_file", lambda p, *rest: (read.append(p), real(p, *rest))[1]
    )
    assert shell("check", ".") == first and read == []
    Path("a.py").touch()
    assert shell("check", ".") == first and read == []
    shell.write(a=BROKEN + "x.float()\n")
    assert shell("check", ".").out.count("TN401") == 3 and read == ["a.py"]
    assert shell("check", "--no-cache", ".").code == 1 and len(read) == 3


def test_a_file_that_another_rests_on_counts_too(shell: Shell) -> None:
    shell.write(
        a="import torch, numpy as np\nfrom b import make\nnp.sqrt(make())\n",
        b='import torch\ndef make():\n    return torch.ones(3, device="cuda")\n',
    )
    assert rules(shell) == ["a.py TN201"]
    shell.write(b="import torch\ndef make():\n    return torch.ones(3)\n")
    assert rules(shell) == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"key": 1, "files": 2}'])
def test_a_damaged_cache_counts_for_nothing(content: str, shell: Shell, tmp_path: Path) -> None:
    shell.write(a=BROKEN)
    first = shell("check", ".")
    (cache,) = (tmp_path / "cache" / "check").iterdir()
    held = json.loads(cache.read_text())
    cache.write_text(content)
    assert shell("check", ".") == first
    held["files"][os.path.abspath("a.py")][3] = [["nonsense"]]
    cache.write_text(json.dumps(held))
    assert shell("check", ".") == first


def test_the_cache_is_private(shell: Shell, tmp_path: Path) -> None:
    shell.write(a=BROKEN)
    shell("check", ".")
    folder = tmp_path / "cache" / "check"
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert shell("check", ".").code == 1  # and no cache is used
