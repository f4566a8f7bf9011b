"""Notebooks: magics are no Python, edits go into the JSON, and all other bytes stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ashore.fix.source import Unreadable, read_source
from commands import Shell
from fixing import sites

CELLS: list[Any] = [
    ["%matplotlib inline\n", "import torch\n", 'x = torch.ones(3, device="cuda")'],
    "# a text cell\nx.numpy()",
    [
        "!pip install x\n",
        "files = !ls\n",
        "torch.ones?\n",
        "if True:\n",
        "    %time 1\n",
        "x.numpy()",
    ],
    ["%%bash\n", "x.numpy()"],
    ["%%time\n", 'print("ä\\t\\u20ac😀", x.numpy())\n'],
    "y = (x\n  .numpy())",
    ["this is no python at all\n", "x.numpy()"],
]


def notebook(**layout: Any) -> bytes:
    cells = [
        {
            "cell_type": "markdown" if number == 1 else "code",
            "metadata": {},
            "source": source,
            "outputs": [{"text": "x.numpy()\n", "data": {"image/png": "AAAA" * 10}}],
        }
        for number, source in enumerate(CELLS)
    ]
    return json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5}, **layout).encode()


LAYOUTS: list[dict[str, Any]] = [
    {"indent": 1},
    {},
    {"ensure_ascii": False, "indent": 1},
    {"separators": (",", ":")},
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_all_bytes_but_the_edits_stay(layout: dict[str, Any], shell: Shell) -> None:
    raw = notebook(**layout)
    Path("a.ipynb").write_bytes(raw)
    assert shell("fix", "a.ipynb").code == 0
    repaired = Path("a.ipynb").read_bytes()
    expected = raw
    for before in (b'    %time 1\\n", "x.numpy()', b', x.numpy())\\n"', b"y = (x\\n  .numpy())"):
        if before not in expected:  # indented: each line on a line of its own
            before = before.replace(
                b'", "', raw[raw.index(b'%time 1\\n"') + 10 :].split(b"x", 1)[0].join([b'"', b""])
            )
        assert expected.count(before) == 1
        expected = expected.replace(
            before, before.replace(b"x.numpy", b"x.cpu().numpy").replace(b"(x\\n", b"(x.cpu()\\n")
        )
    assert repaired == expected
    assert json.loads(repaired)["cells"][4]["source"][1].endswith('😀", x.cpu().numpy())\n')
    assert shell("fix", "a.ipynb").out == "nothing to repair\n"


def test_places_are_told_by_cell(shell: Shell) -> None:
    Path("a.ipynb").write_bytes(notebook(indent=1))
    out = shell("check", ".").out
    assert "a.ipynb:cell 3:6:1: TN101" in out and "a.ipynb:cell 5:2:" in out
    assert "a.ipynb:cell 6:1:6" in out and out.count("TN101") == 3
    lines = Path("a.ipynb").read_text().splitlines()
    github = shell("check", "--format", "github", ".").out.splitlines()
    numbers = [int(line.partition("line=")[2].partition(",")[0]) for line in github]
    assert all("numpy" in lines[number - 1] for number in numbers)


@pytest.mark.parametrize(
    "magic", ["%time x", "%%time", "!ls", "?x", "x?", "x.y??", "a = %who", "a, b = !ls"]
)
def test_magics_keep_the_length_of_their_lines(magic: str) -> None:
    cell = f"{magic}\nx = 1\n"
    raw = json.dumps({"cells": [{"cell_type": "code", "source": cell}]}).encode()
    body = read_source("a.ipynb", raw).body.decode()
    assert body.splitlines()[1] == "x = 1" and len(body.splitlines()[0]) == len(magic)


def test_a_percent_sign_that_goes_on_is_no_magic() -> None:
    cell = "import torch\ny = ('%s'\n  % torch.ones(3).cuda().numpy())"
    raw = json.dumps({"cells": [{"cell_type": "code", "source": cell}]})
    assert [site.rule for site in sites(raw, "a.ipynb")][:1] == ["TN101"]


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b'{"cells": 3}', b'{"cells": [3]}', b"\xff", b'{"cells": [' * 9999]
)
def test_what_is_no_notebook_is_one_line(raw: bytes, shell: Shell) -> None:
    with pytest.raises(Unreadable):
        read_source("a.ipynb", raw)
    Path("a.ipynb").write_bytes(raw + b" torch numpy")
    assert shell("check", ".").code == 2
