"""`ashore run` on the compiled emulator: the program has a GPU, and so have its children; errors
are PyTorch's, with no frame of ours; the report tells what it did."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from emulated import need_emulator

pytestmark = pytest.mark.emulator


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    need_emulator()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, **env: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "ashore", "run", *words],
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **env},
    )
    return done.returncode, done.stdout, done.stderr


def program(folder: Path, text: str) -> str:
    (folder / "main.py").write_text(text)
    return "main.py"


def test_the_options_make_the_machine(folder: Path) -> None:
    code = (
        "import torch\n"
        "print(torch.cuda.device_count(), torch.cuda.get_device_name(1))\n"
        "print(torch.cuda.mem_get_info(1)[1])\n"
        "y = torch.ones(4, device='cuda:1').to('cpu', non_blocking=True)\n"
        "print(y[0].item())\n"
        "torch.cuda.synchronize('cuda:1')\n"
        "print(y[0].item())\n"
    )
    options = ["--devices", "2", "--memory", "64MiB", "--name", "Mine"]
    assert run(*options, "-c", code) == (0, f"2 Mine\n{64 << 20}\nnan\n1.0\n", "")
    early = run(*options, "--no-late-copies", "-c", code)
    assert early == (0, f"2 Mine\n{64 << 20}\n1.0\n1.0\n", "")


def test_errors_are_pytorch_s_with_the_program_s_frames_alone(folder: Path) -> None:
    code, out, err = run(
        program(
            folder, "import torch\ndef show(x):\n    return x.numpy()\nshow(torch.ones(1).cuda())\n"
        )
    )
    assert (code, out) == (1, "")
    lines = err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert [line.strip() for line in lines if line.startswith("  File")] == [
        f'File "{folder}/main.py", line 4, in <module>',
        f'File "{folder}/main.py", line 3, in show',
    ]
    error = "TypeError: can't convert cuda:0 device type tensor to numpy."
    assert any(line.startswith(error) for line in lines)  # what explains it stands below


def test_an_error_in_the_import_of_torch_shows_no_frame_of_ours(folder: Path) -> None:
    """A module of the user's that shadows one of torch's dependencies."""
    (folder / "filelock.py").write_text("")
    (folder / "sympy.py").write_text("raise ImportError('mine')\n")
    _, _, err = run(program(folder, "import torch, torch.fx.experimental.symbolic_shapes\n"))
    assert "mine" in err and "ashore" not in err


WORKERS = """\
import torch
from torch.utils.data import DataLoader, Dataset
class Data(Dataset):
    def __len__(self): return 4
    def __getitem__(self, i): return torch.tensor(i), torch.cuda.device_count()
if __name__ == "__main__":
    loader = DataLoader(Data(), num_workers=2, pin_memory=True, multiprocessing_context=CONTEXT)
    for x, count in loader:
        print(x.cuda(non_blocking=True).item(), count.item(), x.is_pinned())
"""


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_workers_of_a_data_loader(folder: Path, context: str) -> None:
    text = WORKERS.replace("CONTEXT", repr(context))
    code, out, err = run("--devices", "2", program(folder, text))
    assert (code, out) == (0, "".join(f"{i} 2 True\n" for i in range(4))), err


def test_a_spawned_process_uses_the_gpu(folder: Path) -> None:
    text = (
        "import torch, torch.multiprocessing as mp\n"
        "def work(rank):\n"
        "    print(rank, (torch.ones(2, device=f'cuda:{rank}') * 3).sum().item(), flush=True)\n"
        "if __name__ == '__main__':\n"
        "    mp.spawn(work, nprocs=2)\n"
    )
    code, out, err = run("--devices", "2", program(folder, text))
    assert (code, sorted(out.splitlines())) == (0, ["0 6.0", "1 6.0"]), err


def test_torchrun(folder: Path) -> None:
    text = (
        "import os, torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "rank = dist.get_rank()\n"
        "x = torch.ones(2, device=f'cuda:{rank}').cpu()\n"
        "dist.all_reduce(x)\n"
        "os.write(1, f'{rank} {x.tolist()}\\n'.encode())  # in one piece: both write to one pipe\n"
        "dist.destroy_process_group()\n"
    )
    words = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    code, out, err = run("--devices", "2", *words, program(folder, text), OMP_NUM_THREADS="1")
    assert code == 0, err
    assert sorted(out.splitlines()) == ["0 [2.0, 2.0]", "1 [2.0, 2.0]"]


def test_a_program_that_starts_it_by_itself(folder: Path) -> None:
    text = (
        "import ashore.emulate\n"
        "ashore.emulate.start(devices=3)\n"
        "import torch\n"
        "print(torch.cuda.device_count())\n"
    )
    assert run(program(folder, text)) == (0, "3\n", ""), "below ashore run too: the program wins"


WAITS = """\
import torch
x = torch.ones(1000, device="cuda")
for _ in range(3):
    x.sum().item()
y = x.cpu()
"""


def test_the_report_for_people(folder: Path) -> None:
    code, out, err = run("--report", program(folder, WAITS))
    assert (code, out) == (0, "")
    assert err.startswith("ashore: the emulated GPU\ncuda:0 (Emulated GPU): peak ")
    assert f"{folder}/main.py:4" in err and "3 times" in err


def test_the_report_for_programs(folder: Path) -> None:
    text = WAITS + "import os, sys\nos.chdir('/')\nsys.exit(3)\n"
    code, _, err = run("--report=report.json", program(folder, text))
    assert (code, err) == (3, ""), "the exit code stays the program's"
    report = json.loads((folder / "report.json").read_text())
    assert report["devices"][0]["peak_allocated_bytes"] >= 4000
    waits = {(Path(wait["file"]).name, wait["line"]): wait["times"] for wait in report["waits"]}
    assert waits["main.py", 4] == 3 and waits["main.py", 5] == 1
    assert report["device_to_host_bytes"] >= 4000


def test_the_report_calls_waits_as_pytorch_does(folder: Path) -> None:
    lines = {
        "x.cpu()": "a blocking copy (Tensor.cpu, Tensor.to, Tensor.tolist, torch.tensor)",
        "x.sum().item()": "Tensor.item, or if, bool, float, print of a tensor",
        "x[x > 0]": "indexing by a mask or by indices",
        "x[x > 0] = y": "assigning by a mask or by indices",
        "torch.nonzero(x)": "torch.nonzero",
        "torch.equal(x, y)": "torch.equal",
        "torch.unique(x)": "torch.unique",
        "x.to_sparse()": "Tensor.to_sparse",
        "torch.linalg.eigh(z)": "torch.linalg.eigh",
        "torch.repeat_interleave(z[0].long())": "torch.repeat_interleave",
        "torch.cuda.current_stream().synchronize()": "torch.cuda.Stream.synchronize",
    }
    start = "import torch\nx, z = torch.ones(3, device='cuda'), torch.eye(3, device='cuda')\n"
    text = start + "y = torch.zeros(3, device='cuda')\n" + "\n".join(lines) + "\n"
    code, _, err = run("--report=report.json", program(folder, text))
    assert code == 0, err
    report = json.loads((folder / "report.json").read_text())
    told: dict[int, list[str]] = {}
    for wait in report["waits"]:
        told.setdefault(wait["line"], []).append(wait["what"])
    for number, (line, name) in enumerate(lines.items(), 4):
        assert name in told.get(number, []), f"{line}: {told.get(number)}"
    names = {name for names in told.values() for name in names}
    assert not [name for name in names if "aten::" in name or "cudaMemcpy" in name], names


def test_the_report_is_of_the_first_process(folder: Path) -> None:
    text = (
        "import multiprocessing, subprocess, sys, torch\n"
        "def work(): torch.ones(1).cuda().item()\n"
        "if __name__ == '__main__':\n"
        "    subprocess.run([sys.executable, '-c', 'import torch; torch.ones(1).cuda()'])\n"
        "    child = multiprocessing.get_context('spawn').Process(target=work)\n"
        "    child.start(); child.join()\n"
    )
    code, out, err = run("--report", program(folder, text))
    assert (code, out) == (0, "") and err.count("the emulated GPU") == 1


def test_the_report_of_a_program_without_torch(folder: Path) -> None:
    assert run("--report", "-c", "pass")[2] == "ashore: the emulated GPU\ntorch was not imported\n"


@pytest.mark.parametrize("report", ["--report", "--report=report.json"])
def test_the_report_of_an_interrupted_program(folder: Path, report: str) -> None:
    text = WAITS + "import signal\nsignal.raise_signal(signal.SIGINT)\n"
    code, _, err = run(report, program(folder, text))
    assert code == -signal.SIGINT, "as with python"
    if report == "--report":
        assert "KeyboardInterrupt\nashore: the emulated GPU\n" in err
    else:
        assert json.loads((folder / "report.json").read_text())["waits"]


def test_inductor_names_the_backends_that_work(folder: Path) -> None:
    text = (
        "import torch\n"
        "def f(x): return x * 2 + 1\n"
        "x = torch.ones(3, device='cuda')\n"
        "for backend in 'aot_eager', 'eager':\n"
        "    print(torch.compile(f, backend=backend)(x).tolist())\n"
        "torch.compile(f)(x)\n"
    )
    code, out, err = run(program(folder, text))
    assert (code, out) == (1, "[3.0, 3.0, 3.0]\n" * 2)
    told = [line for line in err.splitlines() if line.startswith("torch._inductor.exc.TritonM")]
    assert told == [
        "torch._inductor.exc.TritonMissing: the emulated GPU cannot run the Triton code that "
        'inductor writes: use torch.compile(…, backend="aot_eager") or backend="eager"'
    ], err


def test_leaving_right_after_backward(folder: Path) -> None:
    text = (
        "import torch\nx = torch.ones(9, device='cuda', requires_grad=True)\nx.sum().backward()\n"
    )
    for _ in range(5):
        assert run(program(folder, text)) == (0, "", "")
