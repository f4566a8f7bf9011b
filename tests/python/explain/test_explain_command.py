"""`ashore explain` as a user meets it: processes, exit codes, and what it may and may not read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ashore.explain.explanation import explain as explained

MESSAGE = (
    "TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the "
    "tensor to host memory first.\n"
)
SCRIPT = "import torch\nx = torch.ones(3).cuda()\nprint(3 + x.numpy())\n"
HEAVY = ("numpy", "torch", "ashore._core", "ml_dtypes", "rich")


def traceback(file: str, source: str = "") -> str:
    shown = f"    {source}\n" if source else ""
    head = "Traceback (most recent call last):\n"
    return f'{head}  File "{file}", line 3, in <module>\n{shown}{MESSAGE}'


def explain(
    *args: str | Path, stdin: str | bytes = "", cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        [sys.executable, "-m", "ashore", "explain", *map(str, args)],
        input=data,
        capture_output=True,
        timeout=60,
        cwd=cwd,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def expression(*args: str | Path, stdin: str = "", cwd: Path | None = None) -> str | None:
    done = explain("--json", *args, stdin=stdin, cwd=cwd)
    (one,) = json.loads(done.stdout)["explanations"]
    return one["expression"]


def test_text_from_a_pipe_and_from_a_file(tmp_path: Path) -> None:
    text = traceback("train.py", "print(3 + x.numpy())")
    done = explain(stdin=text)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "train.py:3\n"
        "    print(3 + x.numpy())\n"
        "\n"
        "  wrong  x\n"
        "  why    The tensor is on an accelerator (cuda:0), and NumPy reads only the memory of the"
        "\n"
        "         CPU. It has to be copied to the CPU first.\n"
        "  write  print(3 + x.detach().cpu().numpy())\n"
        "  more   ashore rule TN101\n"
    )
    (tmp_path / "error.log").write_text(text)
    assert explain(tmp_path / "error.log").stdout == done.stdout
    assert explain("-", stdin=text).stdout == done.stdout


def test_json_has_all_there_is() -> None:
    done = explain("--json", stdin=traceback("train.py", "print(3 + x.numpy())"))
    (one,) = json.loads(done.stdout)["explanations"]
    assert one["frame"] == {
        "file": "train.py",
        "line": 3,
        "function": "<module>",
        "source": "print(3 + x.numpy())",
        "installed": False,
    }
    assert one["error"] == "TypeError" and one["rule"] == "TN101"
    assert one["repair"] == "print(3 + x.detach().cpu().numpy())"


@pytest.mark.parametrize(
    "text", ["", "all is well\n", 'Traceback (most recent call last):\n  File "']
)
def test_nothing_known_is_exit_code_1(text: str) -> None:
    done = explain(stdin=text)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "No error that ashore knows is in this text.\n"
    assert json.loads(explain("--json", stdin=text).stdout) == {"explanations": []}


def test_what_cannot_be_read_is_exit_code_2(tmp_path: Path) -> None:
    for name in (tmp_path, tmp_path / "none.log"):
        done = explain(name)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("ashore: ") and done.stderr.count("\n") == 1


def test_bytes_that_are_no_text() -> None:
    assert explain(stdin=bytes(range(256)) * 50).returncode == 1
    text = traceback("train.py", "print(3 + x.numpy())")
    assert explain(stdin=text.encode("utf-16")).returncode == 0


def test_the_message_alone_is_explained() -> None:
    done = explain(stdin=MESSAGE)
    assert done.returncode == 0
    assert "no frame of your own code" in done.stdout
    assert "x.detach().cpu().numpy()" in done.stdout


def test_lines_that_the_text_lacks_are_read_below_the_working_folder(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    for name in ("train.py", str(tmp_path / "train.py")):
        assert expression(stdin=traceback(name), cwd=tmp_path) == "x"


def test_a_file_that_has_changed_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    assert expression(stdin=traceback("train.py", "y = other.numpy()"), cwd=tmp_path) == "other"


def test_no_file_elsewhere_is_read(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
    (outside / "train.py").write_text(SCRIPT)
    (inside / "link.py").symlink_to(outside / "train.py")
    (inside / "folder").symlink_to(outside)
    os.mkfifo(inside / "pipe.py")
    (inside / "secret.txt").write_text(SCRIPT)
    for name in (
        "link.py",
        "folder/train.py",
        "../outside/train.py",
        str(outside / "train.py"),
        "pipe.py",  # opening it would wait for ever
        "secret.txt",
        "/dev/stdin",
        "/proc/self/environ",
        ".",
    ):
        assert expression(stdin=traceback(name), cwd=inside) is None, name


def test_control_characters_reach_no_terminal() -> None:
    text = traceback("tr\x1b]0;ain.py", "print('\x07\u202e', x.numpy())")
    done = explain(stdin=text)
    assert done.returncode == 0
    assert done.stdout.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "text",
    [
        traceback("a.py", "x.numpy()") * 3000,
        "A" * 4900 + "\n" + "a." * 2400 + "\n",
        ("A" * 4900 + "\n") * 300,
        ("> " * 2000 + "\n") * 500,
        traceback("a.py", "(" * 4000),
        traceback("a.py", "-" * 4000 + "x.numpy()"),
        'File "a", line 3 ' * 9 + " " * 500_000 + "TypeError: x",
        ("1:" * 2000 + "\n") * 300,
    ],
    ids=range(8),
)
def test_large_and_odd_texts_take_no_long_time(text: str) -> None:
    begin = time.process_time()
    explained(text, None)
    assert time.process_time() - begin < 10


def test_outputs_of_a_notebook() -> None:
    cell = {
        "cell_type": "code",
        "outputs": [
            {
                "output_type": "error",
                "traceback": [
                    "\x1b[0;31mTypeError\x1b[0m        Traceback (most recent call last)",
                    "Cell \x1b[0;32mIn[3], line 2\x1b[0m\n\x1b[1;32m      1\x1b[0m y = 1\n"
                    "\x1b[0;32m----> 2\x1b[0m z \x1b[38;5;241m=\x1b[39m scores.numpy()\n",
                    MESSAGE,
                ],
            }
        ],
    }
    text = json.dumps({"cells": [{"cell_type": "markdown"}, cell], "nbformat": 4})
    assert expression(stdin=text) == "scores"


def test_several_ranks_are_told_once() -> None:
    lines = traceback("train.py", "print(3 + x.numpy())").splitlines()
    mixed = "".join(f"[rank{rank}]: {line}\n" for line in lines for rank in (2, 0))
    done = explain(stdin=mixed)
    assert done.stdout.startswith("rank 2, 0: train.py:3\n") and done.stdout.count("wrong") == 1


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys\nfrom ashore.__main__ import main\ncode = main(['explain'])\n"
        f"print(code, [m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=traceback("a.py", "x.numpy()"),
        capture_output=True,
        text=True,
    )
    assert done.stderr == "0 []\n"
