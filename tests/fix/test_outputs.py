"""The forms for programs: JSON, SARIF, GitHub, GitLab."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import Shell

CODE = 'import torch\nx = torch.ones(3, device="cuda")\ny = "ä"; x.numpy()\nx.half()\n'


@pytest.fixture
def broken(shell: Shell) -> Shell:
    shell.write(**{"a": CODE, "odd, %name": CODE})
    Path("b.py").write_bytes(b"import torch, numpy\0")
    return shell


def load(shell: Shell, form: str) -> Any:
    done = shell("check", "--format", form, ".")
    assert done.code == 1
    return json.loads(done.out)


def test_json(broken: Shell) -> None:
    told = load(broken, "json")
    assert told["files"] == 3 and told["faults"][0]["path"] == "b.py"
    first = told["reports"][0]
    assert first["origin"] == {
        "text": "`torch.ones(…)` on an accelerator",
        "line": 2,
        "path": "a.py",
    }
    assert (first["line"], first["column"], first["end_column"]) == (3, 10, 11)
    assert first["edits"] == [
        {"line": 3, "column": 11, "end_line": 3, "end_column": 11, "text": ".cpu()"}
    ]


def test_edits_in_json_are_what_fix_does(broken: Shell) -> None:
    told = load(broken, "json")
    lines = CODE.splitlines(keepends=True)
    edits = [e for r in told["reports"] if r["path"] == "a.py" for e in r["edits"]]
    for edit in sorted(edits, key=lambda e: (e["line"], e["column"]), reverse=True):
        line = lines[edit["line"] - 1]
        at, end = edit["column"] - 1, edit["end_column"] - 1
        lines[edit["line"] - 1] = line[:at] + edit["text"] + line[end:]
    broken("fix", "--unsafe", "a.py")
    assert Path("a.py").read_text() == "".join(lines)


def test_github(broken: Shell) -> None:
    done = broken("check", "--format", "github", ".")
    lines = done.out.splitlines()
    assert lines[0] == (
        "::error file=a.py,line=3,col=10,endLine=3,endColumn=10,title=TN101::`x` may be on an "
        "accelerator; `.numpy()` reads CPU memory only "
        "(from `torch.ones(…)` on an accelerator, line 2)"
    )
    assert lines[-1] == "::error file=b.py::binary, not Python"
    assert "file=odd%2C %25name.py," in lines[2]


def test_gitlab(broken: Shell) -> None:
    issues = load(broken, "gitlab")
    assert len({issue["fingerprint"] for issue in issues}) == len(issues) == 4
    assert issues[0]["location"] == {"path": "a.py", "lines": {"begin": 3}}
    assert {issue["severity"] for issue in issues} == {"major"}
    before = {issue["fingerprint"] for issue in issues}
    broken.write(a="# one line more\n" + CODE)
    assert {issue["fingerprint"] for issue in load(broken, "gitlab")} == before


def test_sarif_says_what_the_standard_asks(broken: Shell) -> None:
    log = load(broken, "sarif")
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] == "error"
    locations = [r["locations"][0]["physicalLocation"] for r in run["results"]]
    assert {place["artifactLocation"]["uri"] for place in locations} == {
        "a.py",
        "odd%2C%20%25name.py",
    }
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


def test_sarif_is_valid(broken: Shell) -> None:
    model = pytest.importorskip(
        "pydantic_sarif.model", reason="it is made from the standard's schema"
    )
    text = broken("check", "--format", "sarif", "--level", "maybe", ".").out
    model.StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate_json(text)
    with pytest.raises(ValueError, match="startLine"):
        model.StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate_json(
            text.replace('"startLine": 3', '"startLine": "three"')
        )
