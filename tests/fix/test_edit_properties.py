"""What holds for all files: repaired text is Python, and repaired; only edits change it.

The sample is code that is installed with the tests' own tools; the whole of it was tried by hand.
"""

from __future__ import annotations

import ast
from pathlib import Path

import hypothesis
import pytest
from ashore.fix.edits import Refused
from ashore.fix.project import Project
from ashore.fix.repair import repair
from ashore.fix.sites import Level
from ashore.fix.source import Unreadable, read_source
from fixing import HEAD, fixed_bytes
from hypothesis import strategies as st


def sample() -> list[Path]:
    torch = pytest.importorskip("torch", reason="its sources are the sample")
    root = Path(torch.__file__).parent
    return [path for path in sorted(root.rglob("*.py")) if b".numpy()" in path.read_bytes()]


@pytest.mark.filterwarnings("ignore")
def test_installed_code_survives() -> None:
    changed = 0
    for path in sample():
        raw = path.read_bytes()
        try:
            source = read_source(str(path), raw)
        except Unreadable:
            continue
        done = repair(source, Project(), Level.MAYBE, True)
        if done.raw == raw:
            continue
        changed += 1
        ast.parse(done.raw)
        assert (
            repair(read_source(str(path), done.raw), Project(), Level.MAYBE, True).raw == done.raw
        )
    assert changed > 3


EXPRESSIONS = st.recursive(
    st.sampled_from(["t", "t[0]", "t.T", "net(t)", "t.sum()", "xs[1]", "make()"]),
    lambda inner: st.one_of(
        inner.map("({})".format),
        inner.map("({} + 1)".format),
        inner.map("{}.reshape(-1)".format),
        inner.map("{}.detach()".format),
        inner.map("(\n  {}\n  # why\n)".format),
        st.tuples(inner, inner).map(lambda two: f"torch.stack([{two[0]}, {two[1]}])"),
        inner.map("(lambda u: {})(1)".format),
        inner.map("({} if flag else t)".format),
    ),
    max_leaves=5,
)
SINKS = st.sampled_from(
    [
        "({}).numpy()",
        "np.sqrt({})",
        "np.sum({})",
        "np.mean([{}, 1.0])",
        "np.stack([u * 2 for u in {}])",
        "np.array((({}), [{}]))",
        "array[0] = {}",
        "({}).cpu().numpy()",
        "plt.plot({}, np.exp({}))",
        "xs.append({}); np.max(xs)",
        "({}).cpu()",
    ]
)
BEFORE = (
    HEAD
    + "import matplotlib.pyplot as plt\n"
    + "def make(): return torch.ones(3).to(device)\n"
    + "net = nn.Linear(3, 3).to(device)\nt = torch.ones(3, 3).to(device)\nxs = [t, t]\n"
    + "array = np.zeros((3, 3))\n"
)


@hypothesis.settings(deadline=None, derandomize=True, database=None, max_examples=300)
@hypothesis.given(
    st.lists(st.tuples(SINKS, EXPRESSIONS), min_size=1, max_size=4),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(list(Level)),
)
def test_any_program_is_repaired_once_and_only_where_needed(
    lines: list[tuple[str, str]], end: str, level: Level
) -> None:
    code = BEFORE + "".join(sink.replace("{}", inner) + "\n" for sink, inner in lines)
    raw = code.replace("\n", end).encode()
    try:
        ast.parse(raw)
    except SyntaxError:
        return
    once = fixed_bytes(raw, level)
    ast.parse(once)
    assert fixed_bytes(once, level) == once
    rest = iter(once)
    assert all(byte in rest for byte in raw)  # in this order: something may only be put in


def test_what_does_not_settle_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from ashore.fix import repair as module

    raw = b'import torch\nx = torch.ones(3, device="cuda")\nx.numpy()\n'
    sites = module.sites_of(read_source("a.py", raw), Project())
    monkeypatch.setattr(module, "sites_of", lambda *_: sites)
    with pytest.raises(Refused, match="asks for another"):
        fixed_bytes(raw)
