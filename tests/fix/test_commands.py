"""`ashore check`, `ashore fix` and `ashore rule` as a user meets them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Shell

BROKEN = """\
import torch

x = torch.ones(3, device="cuda")
print(x.numpy())
"""
REPAIRED = BROKEN.replace("x.numpy()", "x.cpu().numpy()")
CLEAN = "import torch\n\nprint(torch.ones(3).numpy())\n"


def test_check_shows_the_place_the_line_and_the_origin(shell: Shell) -> None:
    shell.write(a=BROKEN)
    done = shell("check", "a.py")
    assert done.code == 1 and done.err == ""
    assert done.out == (
        "a.py:4:7: TN101 [sure] `x` may be on an accelerator; `.numpy()` reads CPU memory only\n"
        "  4 | print(x.numpy())\n"
        "    |       ^\n"
        "      from `torch.ones(…)` on an accelerator, line 3\n"
        "1 report in 1 file; `ashore fix` repairs 1 of them\n"
    )


def test_check_of_clean_files_says_nothing(shell: Shell) -> None:
    shell.write(a=CLEAN)
    assert shell("check", ".") == (0, "", "")


def test_fix_writes_and_then_has_nothing_to_do(shell: Shell) -> None:
    shell.write(a=BROKEN, b=CLEAN)
    os.chmod("a.py", 0o755)
    done = shell("fix", ".")
    assert done == (0, "1 place in 1 file repaired\n", "")
    assert Path("a.py").read_text() == REPAIRED
    assert os.stat("a.py").st_mode & 0o777 == 0o755
    assert shell("fix", ".") == (0, "nothing to repair\n", "")


def test_fix_with_diff_writes_nothing(shell: Shell) -> None:
    shell.write(a=BROKEN)
    done = shell("fix", "--diff", "a.py")
    assert done.code == 1 and done.err == "1 place in 1 file would be repaired\n"
    assert "-print(x.numpy())\n+print(x.cpu().numpy())\n" in done.out
    assert Path("a.py").read_text() == BROKEN


def test_fix_tells_what_it_leaves(shell: Shell) -> None:
    shell.write(a=BROKEN + "x.half()\n")
    done = shell("fix", "a.py")
    assert done.code == 1 and "TN401" in done.out and "only with --unsafe" in done.out
    assert shell("fix", "--unsafe", "a.py").code == 0
    assert Path("a.py").read_text() == REPAIRED + "x = x.half()\n"


def test_fix_of_a_link_writes_the_file_behind_it(shell: Shell) -> None:
    shell.write(a=BROKEN)
    os.symlink("a.py", "b.py")
    assert shell("fix", "b.py").code == 0
    assert os.path.islink("b.py") and Path("a.py").read_text() == REPAIRED


def test_levels(shell: Shell) -> None:
    shell.write(a="import torch\ndef f(x, device):\n    return x.to(device).numpy()\n")
    assert shell("check", "--level", "sure", "a.py").code == 0
    assert "[likely]" in shell("check", "a.py").out
    assert "TN103 [maybe]" in shell("check", "--level", "maybe", "a.py").out


def test_rules_can_be_chosen(shell: Shell) -> None:
    shell.write(a=BROKEN + "x.half()\n")
    assert "TN101" not in shell("check", "--select", "TN4", "a.py").out
    assert "TN401" not in shell("check", "--ignore", "TN401,TN2", "a.py").out
    assert shell("fix", "--select", "TN4", "a.py").code == 1
    assert Path("a.py").read_text() == BROKEN + "x.half()\n"
    done = shell("check", "--select", "E501", "a.py")
    assert done.code == 2 and "E501" in done.err and done.err.count("\n") == 1


def test_broken_files_are_a_line_each_and_stop_nothing(shell: Shell) -> None:
    shell.write(a=BROKEN, b="import torch, numpy\nprint 'two'\n")
    Path("c.py").write_bytes(b"import torch, numpy\0")
    Path("d.py").write_bytes(b"import torch, numpy\n'\xff'\n")
    Path("e.py").write_bytes(b"# coding: no-such\nimport torch, numpy\n")
    Path("f.py").write_bytes(b"import torch, numpy\n" + b"#" * 5_000_001)
    Path("g.py").write_text("import torch, numpy\nx = " + "(" * 150 + ")" * 150 + "\n")
    Path("h.py").write_text("import torch, numpy\nx = " + "-" * 3000 + "1\n")
    os.symlink("nowhere.py", "i.py")
    done = shell("check", ".")
    assert done.code == 1 and "a.py:4:7" in done.out
    lines = done.err.splitlines()
    assert [line.split(": ")[1] for line in lines][:5] == ["b.py", "c.py", "d.py", "e.py", "f.py"]
    assert all(line.startswith("ashore: ") for line in lines)
    os.remove("a.py")
    assert shell("check", ".").code == 2
    assert shell("fix", ".").code == 2
    assert shell("check", "b.py").err.startswith("ashore: b.py: line 2: ")


def test_paths_that_are_not_there_are_a_usage_error(shell: Shell) -> None:
    for command in ("check", "fix"):
        done = shell(command, "nowhere")
        assert done.code == 2 and done.out == "" and done.err.count("\n") == 1
        assert shell(command).code == 2


def test_folders_that_are_not_the_project_s_are_left_out(shell: Shell) -> None:
    shell.write(
        venv__lib__a=BROKEN,
        node_modules__a=BROKEN,
        build__a=BROKEN,
        mine__a=BROKEN,
        other__a=BROKEN,
    )
    Path("mine/pyvenv.cfg").touch()
    Path(".hidden").mkdir()
    Path(".hidden/a.py").write_text(BROKEN)
    assert shell("check", ".").out.count("TN101") == 1
    assert shell("check", "venv/lib/a.py").code == 1


def test_control_characters_are_escaped(shell: Shell) -> None:
    shell.write(a=BROKEN.replace("x.numpy()", "x.numpy(), '\x1b[2J\x07'"))
    for words in (["check", "a.py"], ["fix", "--diff", "a.py"]):
        out = shell(*words).out
        assert "\x1b" not in out and "\x07" not in out and "\\x1b[2J\\x07" in out


def test_the_mark_stands_under_the_expression(shell: Shell) -> None:
    shell.write(a=BROKEN.replace("print(", "if True:\n\tprint('\t\x1b', "))
    _, line, mark, *_ = shell("check", "a.py").out.splitlines()
    assert line[mark.index("^")] == "x"
    shell.write(a=BROKEN.replace("print(", f"print('{'y' * 300}', "))
    _, line, mark, *_ = shell("check", "a.py").out.splitlines()
    assert line[mark.index("^")] == "x" and len(line) < 120


def test_statistics(shell: Shell) -> None:
    shell.write(a=BROKEN + "x.numpy()\nx.half()\n")
    done = shell("check", "--statistics", ".")
    assert done.code == 1
    assert done.out == (
        "     2  TN101 [sure] `.numpy()` of a tensor that may be on an accelerator\n"
        "     1  TN401 [sure] the result of a conversion is dropped\n"
        "1 files, 6 lines, 3 reports\n"
    )


def test_rule_prints_its_page_and_lists_them(shell: Shell) -> None:
    assert shell("rule", "tn101").out.startswith("# TN101 `.numpy()` of a tensor")
    assert "TN402  only one branch" in shell("rule").out
    assert shell("rule", "TN999").code == 2


def test_help_has_examples_and_exit_codes(shell: Shell) -> None:
    for command in ("check", "fix", "rule"):
        done = shell(command, "--help")
        assert done.code == 0 and "Examples:" in done.out
        assert command == "rule" or "Exit codes:" in done.out


@pytest.mark.parametrize("words", [["check", "a.py"], ["fix", "a.py"], ["rule", "TN101"]])
def test_nothing_heavy_is_imported(words: list[str], shell: Shell) -> None:
    shell.write(a=BROKEN)
    code = (
        "import sys\nfrom ashore.__main__ import main\n"
        f"main({words!r})\n"
        "heavy = ('numpy', 'torch', 'ml_dtypes', 'rich', 'ashore._core', 'multiprocessing')\n"
        "print([m for m in heavy if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stderr == "[]\n"


def test_many_files_are_checked_by_processes_alike(shell: Shell) -> None:
    shell.write(helper="def same(x):\n    return x\n# numpy torch\n")
    for number in range(60):
        shell.write(**{f"m{number:02}": BROKEN + "from helper import same\nsame(x).numpy()\n"})
    one = shell("check", "--jobs", "1", "--no-cache", "--format", "json", ".")
    two = shell("check", "--jobs", "2", "--no-cache", "--format", "json", ".")
    assert one == two and len(json.loads(one.out)["reports"]) == 120
