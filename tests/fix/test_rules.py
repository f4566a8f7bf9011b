"""What is told, how surely, and what is left alone."""

from __future__ import annotations

import pytest
from ashore.fix.infer.module import Module
from ashore.fix.infer.relevance import relevant
from ashore.fix.sites import Level
from ashore.fix.source import read_source
from fixing import HEAD, fixed, sites, told

MODEL = "model = nn.Linear(2, 2).to(device)\nout = model(torch.ones(2, device=device))\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = torch.ones(3).cuda()\nx.numpy()", ["TN101 sure"]),
        ("x = torch.ones(3).to(device)\nx.numpy()", ["TN101 sure"]),
        ("x = torch.ones(3).to('cuda:1')\nx.numpy()", ["TN101 sure"]),
        ("def f(x, device):\n    return x.to(device).numpy()", ["TN101 likely"]),
        ("def f(x):\n    return x.numpy()", ["TN101 likely"]),
        ("x = torch.load('a.pt')\nx.numpy()", ["TN101 likely"]),
        ("def f(d):\n    for k, v in {**d}.items():\n        k.detach().numpy()", ["TN101 likely"]),
        ("x = torch.ones(3)\nx.numpy()", []),
        ("x = torch.from_numpy(a)\n(x * 2).numpy()", []),
        ("def f(x):\n    return x.cpu().numpy()", []),
        ("def f(x):\n    return x.to('cpu').numpy()", []),
        ("def f(x):\n    return x.numpy(force=True)", []),
        ("def f(x):\n    if device:\n        x = x.cpu()\n    return x.numpy()", []),
        ("def f(x):\n    if x.is_cuda:\n        x = x.cpu()\n    return x.numpy()", []),
        ("def f(x):\n    x = x['a'].to(self._cpu_device)\n    return x.boxes.numpy()", []),
        ("for x in torch.utils.data.DataLoader(d):\n    x.numpy()", []),
        (f"{MODEL}out.numpy()", ["TN101 sure", "TN102 sure"]),
        (f"{MODEL}out.detach().cpu().numpy()", []),
        (f"{MODEL}out.tolist(), out.sum().item()", []),
        ("p = nn.Parameter(torch.ones(3))\np.numpy()", ["TN102 sure"]),
        ("x = torch.ones(3, requires_grad=True)\nx.numpy()", ["TN102 sure"]),
        ("x = torch.ones(3, requires_grad=True)\nx.data.numpy()", []),
        ("x = torch.ones(3, requires_grad=True)\nwith torch.no_grad():\n    x.numpy()", []),
        ("x = torch.ones(3, dtype=torch.bfloat16)\nx.numpy()", ["TN103 sure"]),
        ("x = torch.ones(3).bfloat16()\nx.float().numpy()", []),
    ],
)
def test_numpy_method(code: str, expected: list[str]) -> None:
    assert told(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (f"{MODEL}np.sqrt(out)", ["TN201 sure"]),
        (f"{MODEL}np.squeeze(out), np.shape(out)", []),
        (f"{MODEL}np.sqrt(out.detach().cpu())", []),
        ("np.sum(torch.ones(3))", ["TN201 likely"]),
        ("np.sqrt(torch.ones(3))", []),
        ("def f(x):\n    return np.sqrt(x)", []),
        (f"{MODEL}np.mean([out, out])", ["TN202 sure"]),
        (f"{MODEL}np.mean([o.item() for o in out])", []),
        ("import matplotlib.pyplot as plt\nplt.plot(torch.ones(3).cuda())", ["TN203 likely"]),
        ("import matplotlib.pyplot as plt\nplt.plot(torch.ones(3))", []),
        ("class A:\n    def f(self, x):\n        self.plot(x.cuda())", []),
        (
            "from sklearn.metrics import f1_score\nf1_score(a, torch.ones(3).cuda())",
            ["TN204 likely"],
        ),
        ("import pandas as pd\npd.DataFrame({'a': torch.ones(3).cuda()})", ["TN204 likely"]),
        (
            "from sklearn.manifold import TSNE\nt = TSNE(2)\nt.fit_transform(torch.ones(3).cuda())",
            ["TN204 likely"],
        ),
        (f"{MODEL}b = np.zeros(3)\nb[0:2] = out", ["TN205 likely"]),
        (f"{MODEL}b = np.zeros((3, 3))\nb[0, 1] = out.sum()", []),
        (f"{MODEL}b = np.zeros(3)\nb[out.argmax()]", []),
        (f"{MODEL}b = np.zeros(3)\nb[out.argmax(0, keepdim=True)]", ["TN205 likely"]),
        (f"{MODEL}model(np.ones(2))", ["TN301 likely"]),
        ("x = torch.ones(3)\nx.to(device)", ["TN401 sure"]),
        (f"{MODEL}model.to(device)\nmodel.cpu()", []),
        ("x = torch.ones(3)\nx.requires_grad_()\nx.zero_()", []),
        ("import sys\nsys.stdout.detach()", []),
    ],
)
def test_what_works_on_arrays(code: str, expected: list[str]) -> None:
    assert told(code) == expected


@pytest.mark.parametrize("path", ["tests/a.py", "pkg/test_a.py", "conftest.py", "a_test.py"])
def test_tests_are_one_level_lower(path: str) -> None:
    code = "x = torch.ones(3).cuda()\nx.numpy()\n"
    assert told(code, Level.SURE) == ["TN101 sure"]
    assert told(code, Level.SURE, path) == []
    assert told(code, Level.LIKELY, path) == ["TN101 likely"]


def test_other_libraries_with_numpy_methods_are_left_alone() -> None:
    assert not sites("import tensorflow as tf\nx = tf.ones(3)\nx.cpu().gpu().numpy()\n")
    assert told("import jax\ndef f(x):\n    return x.numpy()\n") == []


def test_the_message_says_where_it_comes_from() -> None:
    site = next(s for s in sites(HEAD + MODEL + "print(out.numpy())\n") if s.rule == "TN101")
    assert site.origin is not None
    assert str(site.origin) == "the result of `model(…)`, line 7"
    assert "`out`" in site.message


def test_a_list_is_repaired_where_it_is_filled() -> None:
    code = "losses = []\nfor x in torch.ones(3).cuda():\n    losses.append((x * 2).sum())\n"
    assert fixed(f"{code}np.mean(losses)\n") == (
        f"{code}np.mean(losses)\n".replace("(x * 2).sum()", "(x * 2).sum().item()")
    )


@pytest.mark.parametrize(
    "other", ["torch.stack(losses)", "sum(losses).backward()", "use(losses)", "losses[0].item()"]
)
def test_a_list_that_others_look_at_is_converted_where_numpy_gets_it(other: str) -> None:
    code = "losses = []\nfor x in torch.ones(3).cuda():\n    losses.append((x * 2).sum())\n"
    assert fixed(f"{code}{other}\nnp.mean(losses)\n") == (
        f"{code}{other}\nnp.mean([t.item() for t in losses])\n"
    )


def test_a_list_of_numbers_and_tensors_is_only_converted_where_the_tensors_are_made() -> None:
    code = "a = [0.0]\nfor x in torch.ones(3).cuda():\n    a.append(x.sum())\n"
    assert fixed(f"{code}np.mean(a)\n") == f"{code}np.mean(a)\n".replace(
        "x.sum()", "x.sum().item()"
    )
    assert fixed(f"{code}use(a)\nnp.mean(a)\n") == f"{code}use(a)\nnp.mean(a)\n"


def test_an_attribute_is_filled_in_one_method_and_read_in_another() -> None:
    code = (
        "class Meter:\n"
        "    def __init__(self):\n        self.values = []\n"
        "    def add(self, value):\n        self.values.append(value)\n"
        "    def mean(self):\n        return np.mean(self.values)\n"
        "m = Meter()\nm.add(torch.ones(3).cuda().sum())\nprint(m.mean())\n"
    )
    assert fixed(code) == code.replace("append(value)", "append(value.item())")


def test_a_function_s_result_is_known_to_its_callers() -> None:
    code = "def make():\n    return torch.ones(3).cuda()\nx = make()\nnp.sqrt(x)\n"
    assert told(code) == ["TN201 sure"]
    assert told("def same(x):\n    return x\nx = same(torch.ones(3).cuda())\nnp.sqrt(x)\n") == [
        "TN201 sure"
    ]


def test_what_is_known_at_continue_and_break_is_not_lost() -> None:
    code = (
        "kept = []\nfor x in torch.ones(3).cuda():\n    if x.sum() > 1:\n"
        "        kept.append(x)\n        continue\nnp.stack(kept)\n"
    )
    assert told(code) == ["TN202 sure"]


def test_parts_of_a_name_that_is_bound_anew_are_forgotten() -> None:
    code = "d = {}\nd['a'] = torch.ones(3).cuda()\n"
    assert told(f"{code}np.sqrt(d['a'])\n") == ["TN201 sure"]
    assert told(f"{code}d = {{'a': 1}}\nnp.sqrt(d['a'])\n") == []


def test_functions_that_nothing_depends_on_are_not_walked_and_others_are() -> None:
    many = "".join(f"def idle{n}(x):\n    return x\n" for n in range(9))
    code = (
        "class Meter:\n"
        "    def add(self, value):\n        self.values.append(value)\n"
        "    def __init__(self):\n        self.values = []\n"
        "    def mean(self):\n        return np.mean(self.values)\n"
        "def make():\n    return torch.ones(3).cuda()\n"
        "def use():\n    return np.sqrt(make())\n"
        "m = Meter()\nm.add(make().sum())\nprint(m.mean())\n"
    )
    assert told(many + code) == ["TN202 sure", "TN201 sure"]
    module = Module(read_source("a.py", (HEAD + many + code).encode()))
    chosen = relevant(module)
    assert chosen is not None
    assert {function.name for function in chosen} == {"add", "__init__", "mean", "make", "use"}
    outside = many + "def make():\n    return torch.ones(3).cuda()\nnp.sqrt(make())\n"
    assert told(outside) == ["TN201 sure"]


def test_a_helper_that_is_given_both_kinds_stays_and_its_caller_changes() -> None:
    code = "def show(a):\n    return np.asarray(a)\nshow(np.ones(3))\nshow(torch.ones(3).cuda())\n"
    assert fixed(code) == code.replace(".cuda())", ".cuda().cpu())")
    only = "def show(a):\n    return np.asarray(a)\nshow(torch.ones(3).cuda())\n"
    assert fixed(only) == only.replace("asarray(a)", "asarray(a.cpu())")
