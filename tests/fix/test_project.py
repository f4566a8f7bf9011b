"""Imports inside the project are followed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ashore.fix.project import find_module
from commands import Shell

MAKE = 'import torch\ndef make():\n    return torch.ones(3, device="cuda")\n'
USE = "import numpy as np\nnp.sqrt(make())\n"


def rules(shell: Shell, path: str) -> list[str]:
    return [r["rule"] for r in json.loads(shell("check", "--format", "json", path).out)["reports"]]


@pytest.mark.parametrize(
    ("user", "line"),
    [
        ("main", "from helper import make"),
        ("main", "from pkg.helper import make"),
        ("main", "import pkg.helper\nmake = 1\nfrom pkg.helper import make"),
        ("pkg__main", "from .helper import make"),
        ("pkg__main", "from pkg.helper import make"),
        ("pkg__sub__main", "from ..helper import make"),
    ],
)
def test_an_imported_function_s_result_is_known(user: str, line: str, shell: Shell) -> None:
    shell.write(pkg__helper=MAKE, **({"helper": MAKE} if "." not in line else {}))
    Path("pkg/sub").mkdir(exist_ok=True)
    for folder in ("pkg", "pkg/sub"):
        Path(folder, "__init__.py").touch()
    find_module.cache_clear()
    shell.write(**{user: f"import torch\n{line}\n{USE}"})
    assert rules(shell, f"{user.replace('__', '/')}.py") == ["TN201"]


def test_modules_and_classes_are_known(shell: Shell) -> None:
    shell.write(
        nets=(
            "import torch\nfrom torch import nn\n"
            "class Net(nn.Module):\n"
            "    def __init__(self):\n        super().__init__()\n"
            "        self.a = nn.Linear(2, 2)\n"
            "    def forward(self, x):\n        return self.a(x), x\n"
        ),
        main=(
            "import torch, numpy as np\nfrom nets import Net\n"
            "net = Net().cuda()\nout, same = net(torch.ones(2).cuda())\nnp.sqrt(out)\n"
        ),
    )
    assert rules(shell, "main.py") == ["TN201"]


def test_a_helper_elsewhere_that_hands_on_to_numpy_is_repaired_at_the_call(shell: Shell) -> None:
    shell.write(
        helper="import numpy as np\ndef image(t, k=9):\n    a = np.asarray(t) * k\n    return a\n",
        main='import torch\nimport helper\nhelper.image(torch.ones(3, device="cuda"))\n',
    )
    out = shell("check", "main.py").out
    assert "gives the tensor" in out and "`np.asarray`, line 3 of helper.py" in out
    assert shell("fix", ".").code == 0
    assert 'device="cuda").cpu())' in Path("main.py").read_text()
    assert "cpu" not in Path("helper.py").read_text()


def test_imports_in_a_circle_end(shell: Shell) -> None:
    shell.write(
        a="import torch, numpy as np\nfrom b import g\ndef f():\n    return g()\nnp.sqrt(f())\n",
        b="import torch\nfrom a import f\ndef g():\n    return f() or torch.ones(3).cuda()\n",
    )
    assert shell("check", ".").code in (0, 1)


def test_only_the_project_is_opened(tmp_path: Path) -> None:
    (tmp_path / "numpy").mkdir()
    find_module.cache_clear()
    assert find_module(str(tmp_path), "torch.nn") is None
    assert find_module(str(tmp_path), "os") is None
