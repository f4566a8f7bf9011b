"""Places that are told and not changed, and rewrites that keep a gradient."""

from __future__ import annotations

import sys

import pytest
from ashore.fix.sites import Level
from fixing import HEAD, fixed, sites

MODEL = (
    "net = nn.Linear(2, 2).to(device)\ncrit = nn.MSELoss()\nx = torch.ones(4, 2, device=device)\n"
)


def blocked(code: str, rule: str) -> list[str]:
    return [s.blocked for s in sites(HEAD + code) if s.rule == rule and s.level <= Level.LIKELY]


@pytest.mark.parametrize("name", ["forward", "training_step", "compute_loss", "focal_loss"])
def test_nothing_is_changed_where_a_gradient_may_be_needed(name: str) -> None:
    code = (
        "class Net(nn.Module):\n"
        f"    def {name}(self, x):\n"
        "        y = x.cuda() * 2\n"
        "        return np.sqrt(y)\n"
    )
    assert blocked(code, "TN201") == [f"inside {name}(), where a gradient may be needed"]
    assert fixed(code) == code


def test_integers_and_detached_values_in_forward_are_changed() -> None:
    code = (
        "class Net(nn.Module):\n"
        "    def forward(self, x):\n"
        "        y = x.cuda()\n"
        "        return np.sqrt(y.detach()), np.sqrt(y.argmax(1))\n"
    )
    assert fixed(code) == code.replace("y.detach()", "y.detach().cpu()").replace(
        "y.argmax(1)", "y.argmax(1).cpu()"
    )


def test_in_forward_a_call_of_numpy_gets_what_cuts_nothing() -> None:
    code = (
        "class Net(nn.Module):\n"
        "    def forward(self, x, mask):\n"
        "        return x * int(mask.numpy().max())\n"
    )
    assert fixed(code) == code.replace("mask.numpy()", "mask.cpu().numpy()")


def test_a_function_of_autograd_records_nothing_and_is_changed() -> None:
    code = (
        "class F(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x):\n"
        "        return torch.from_numpy(x.numpy())\n"
    )
    assert fixed(code) == code.replace("x.numpy()", "x.cpu().numpy()")


@pytest.mark.parametrize("function", ["sum", "mean"])
def test_a_reduction_that_reaches_backward_becomes_one_of_torch(function: str) -> None:
    code = f"{MODEL}loss = np.{function}([crit(net(x), x), crit(net(2 * x), x)])\nloss.backward()\n"
    assert fixed(code) == code.replace(
        f"np.{function}([crit(net(x), x), crit(net(2 * x), x)])",
        f"torch.stack([crit(net(x), x), crit(net(2 * x), x)]).{function}()",
    )


def test_other_functions_that_reach_backward_are_only_told() -> None:
    code = f"{MODEL}loss = np.median([crit(net(x), x)]) * 2\nloss.backward()\n"
    assert blocked(code, "TN202") == [
        "the result reaches backward(), so that its gradient is needed"
    ]
    assert fixed(code) == code


def test_a_write_into_the_array_must_still_arrive() -> None:
    code = "def scale(t):\n    a = t.numpy()\n    a *= 2\n"
    assert "written in place at line 8" in blocked(code, "TN101")[0]
    assert fixed(code) == code
    code = "t = torch.ones(3).to(device)\na = t.numpy()\na[0] = 1\nprint(t)\n"
    assert fixed(code) == code
    code = "t = torch.ones(3).to(device)\na = t.numpy()\na[0] = 1\nprint(a)\n"
    assert fixed(code) == code.replace("t.numpy()", "t.cpu().numpy()")


@pytest.mark.parametrize("decorator", ["torch.jit.script", "torch.compile", "torch.vmap"])
def test_compiled_functions_are_left_alone(decorator: str) -> None:
    code = f"@{decorator}\ndef f(x):\n    return x.cuda().numpy()\n"
    assert blocked(code, "TN101") == [f"inside a function of `{decorator}`"]
    assert fixed(code) == code


def test_starred_tensors_are_told_and_nothing_around_them_is_changed() -> None:
    code = "x = torch.ones(3).cuda()\nnp.stack([*x, x[0]])\n"
    assert blocked(code, "TN202") == ["where its elements come from is not seen"]
    assert fixed(code) == code


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python tells positions in f-strings")
def test_f_strings_are_told_where_python_tells_no_positions() -> None:
    code = 'x = torch.ones(3).cuda()\nprint(f"{x.numpy()}")\n'
    assert "f-string" in blocked(code, "TN101")[0]
    assert fixed(code) == code


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python tells no positions in f-strings")
def test_f_strings_are_repaired_where_python_tells_positions() -> None:
    code = 'x = torch.ones(3).cuda()\nprint(f"{x.numpy()}")\n'
    assert fixed(code) == code.replace("x.numpy()", "x.cpu().numpy()")


def test_what_changes_results_is_changed_only_on_demand() -> None:
    code = "x = torch.ones(3)\nx.half()\n"
    assert fixed(code) == code
    assert fixed(code, unsafe=True) == code.replace("x.half()", "x = x.half()")
