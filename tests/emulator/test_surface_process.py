"""Starting, forking and ending a process with an emulated GPU."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("torch")


def run(program: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a Python of its own."""
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", *flags, "-c", program],
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )


def output_of(program: str, *flags: str) -> str:
    """Return what a program printed, which must end well and say nothing on standard error."""
    done = run(program, *flags)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert done.stderr == ""
    return done.stdout


START = "import ashore.emulate as e\ne.start(devices=2, memory='64MiB')\nimport torch\n"


def test_start_is_done_once() -> None:
    text = output_of(
        """
import ashore.emulate as e
assert not e.is_running() and e.options() is None
e.start(2, "1GiB", name="My GPU")
e.start(2, 1 << 30, name="My GPU")
assert e.is_running()
assert e.options().memory_bytes == 1 << 30
try:
    e.start(3)
except e.CannotEmulate as error:
    print(error)
import os, torch
e.start(2, "1GiB", name="My GPU")
assert torch.cuda.get_device_name(1) == "My GPU"
assert "CUDA_VISIBLE_DEVICES" not in os.environ
"""
    )
    assert text.startswith("this process has an emulated GPU already")
    assert text.count("\n") == 1


def test_too_late_is_an_error_with_the_way_out() -> None:
    text = output_of(
        """
import torch, ashore.emulate as e
try:
    e.start()
except e.CannotEmulate as error:
    print(error)
"""
    )
    assert "torch is imported already" in text and "ashore run" in text


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("devices=0", "devices: '0' is no number of devices from 1 to 16"),
        ("devices=2.5", "devices is a number, not 2.5"),
        ("devices=True", "devices is a number, not True"),
        ("memory='big'", "memory: 'big' is no size"),
        ("memory=3", "memory: '3' is no memory of a device"),
        ("late_copies='yes'", "late_copies is True or False, not 'yes'"),
        ("strict_sync=1", "strict_sync is True or False, not 1"),
        ("strict_sync=True, late_copies=False", "strict_sync needs late_copies"),
        ("name=3", "name is text, not int"),
        ("name='a;b'", "'a;b' is no name of a device"),
        ("poison='zero'", "poison is 'bytes' or 'old', not 'zero'"),
    ],
)
def test_bad_arguments(arguments: str, problem: str) -> None:
    import ashore.emulate as emulate

    with pytest.raises((ValueError, TypeError)) as caught:
        eval(f"emulate.start({arguments})", {"emulate": emulate})
    assert str(caught.value).startswith(problem)
    assert "\n" not in str(caught.value)


def test_a_missing_simulator_is_named() -> None:
    done = run(
        """
import os
os.environ["ASHORE_SIMULATOR_LIB"] = "/nowhere/libashore_sim.so"
import ashore.emulate as e
e.start()
"""
    )
    assert (
        "CannotEmulate: the simulated driver is missing (/nowhere/libashore_sim.so)" in done.stderr
    )


def test_torch_keeps_its_own_loaders() -> None:
    output_of(
        START
        + """
import importlib.machinery, inspect, sys
assert type(torch.__spec__.loader) is importlib.machinery.SourceFileLoader
assert "exec_module" not in vars(torch._C.__spec__.loader)
assert "exec_module" not in vars(torch.storage.__spec__.loader)
assert inspect.getsource(torch.cuda).startswith("# mypy")
import torch.backends.cudnn, torch._inductor.exc
assert not any(type(f).__module__.startswith("ashore") for f in sys.meta_path)
"""
    )


FORKS = """
import os, sys
def in_child(action):
    mine, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            action()
            text = "nothing"
        except BaseException as error:
            text = f"{type(error).__name__}: {error}".splitlines()[0]
        os.write(theirs, text.encode())
        os._exit(0)
    os.close(theirs)
    os.waitpid(child, 0)
    return os.fdopen(mine).read()
"""
AGAIN = "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with "


def test_a_fork_after_use_cannot_use_the_device() -> None:
    text = output_of(
        START
        + FORKS
        + """
import json
x = torch.ones(1, device="cuda")
print(json.dumps([in_child(action) for action in (
    lambda: torch.ones(1, device="cuda"),
    lambda: torch.ones(1).cuda(),
    lambda: torch.cuda.current_device(),
    lambda: torch.cuda.init(),
    lambda: x + 1,
    lambda: torch.ones(2) + 1,
    lambda: sys.exit(not (torch.cuda._is_in_bad_fork() and not torch.cuda.is_initialized())),
)]))
""",
        "-W",
        "ignore",
    )
    answers = json.loads(text)
    assert all(answer.startswith(AGAIN) for answer in answers[:4]), answers
    assert answers[4].startswith("AcceleratorError: CUDA error: initialization error")
    assert answers[5:] == ["nothing", "SystemExit: False"]


def test_a_fork_before_use_can_use_the_device() -> None:
    text = output_of(
        START
        + FORKS
        + """
torch.cuda.device_count()
print(in_child(lambda: torch.ones(1, device="cuda:1").sum().item()))
""",
        "-W",
        "ignore",
    )
    assert text == "nothing\n"


def test_asking_whether_there_is_a_device_counts_as_use() -> None:
    text = output_of(
        START
        + FORKS
        + """
torch.cuda.is_available()
print(in_child(lambda: torch.ones(1, device="cuda:1")))
""",
        "-W",
        "ignore",
    )
    assert text.startswith(AGAIN)


def test_the_process_ends_well_right_after_backward() -> None:
    program = START + (
        "x = torch.ones(3, device='cuda:1', requires_grad=True)\n"
        "x.register_hook(lambda grad: None)\n"
        "(x * 2).sum().backward()\n"
    )
    for _ in range(6):
        assert output_of(program) == ""


def test_exit_functions_of_the_program_can_still_use_the_device() -> None:
    program = """
import atexit, ashore.emulate as e
e.start()
import torch
def last():
    x = torch.ones(2, device="cuda", requires_grad=True)
    (x * 3).sum().backward()
    print(x.grad.tolist())
atexit.register(last)
torch.ones(1, device="cuda", requires_grad=True).sum().backward()
"""
    assert output_of(program) == "[3.0, 3.0]\n"


STRICT = """
import ashore.emulate as e
e.start(strict_sync=True)
import torch
x = torch.arange(4.0, device="cuda")
"""


def test_strict_sync_names_both_lines() -> None:
    done = run(STRICT + "y = x.to('cpu', non_blocking=True)\nprint(y[0].item())\nprint('on')\n")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "UnfinishedCopy: the host read the destination of a copy of 16 bytes from cuda:0" in last
    assert "started at <string>:6" in last
    assert "synchronize()" in last
    assert '  File "<string>", line 7' in done.stderr
    assert done.stdout == ""


def test_strict_sync_lets_right_programs_run() -> None:
    text = output_of(
        STRICT
        + """
y = x.to("cpu", non_blocking=True)
torch.cuda.current_stream().synchronize()
print(y.tolist())
p = torch.ones(4).pin_memory()
q = p.to("cuda", non_blocking=True)
torch.cuda.synchronize()
p.zero_()
print(q.tolist())
"""
    )
    assert text == "[0.0, 1.0, 2.0, 3.0]\n[1.0, 1.0, 1.0, 1.0]\n"


def test_a_changed_source_is_a_warning() -> None:
    text = output_of(
        START
        + """
import warnings
p = torch.ones(4).pin_memory()
q = p.to("cuda", non_blocking=True)
p.zero_()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    torch.cuda.synchronize()
    x = 1
print(*[w.message for w in caught])
"""
    )
    assert text.startswith("the pinned source of a copy of 16 bytes to cuda:0 changed before")


@pytest.mark.parametrize(("poison", "seen"), [("bytes", "nan"), ("old", "0.0")])
def test_poison(poison: str, seen: str) -> None:
    text = output_of(
        f"import ashore.emulate as e\ne.start(poison={poison!r})\n"
        """
import torch
p = torch.zeros(1).pin_memory()
p.copy_(torch.ones(1, device="cuda"), non_blocking=True)
print(p.item())
torch.cuda.synchronize()
print(p.item())
"""
    )
    assert text == f"{seen}\n1.0\n"


def test_copies_on_time() -> None:
    text = output_of(
        """
import ashore.emulate as e
e.start(late_copies=False)
import torch
print(torch.ones(1, device="cuda").to("cpu", non_blocking=True).item())
"""
    )
    assert text == "1.0\n"


def test_statistics_and_report() -> None:
    text = output_of(
        """
import ashore.emulate as e
try:
    e.statistics()
except e.CannotEmulate as error:
    print(error)
e.start(memory="64MiB")
e.watch_lines()
assert e.statistics().devices[0].peak_allocated_bytes == 0
import torch
x = torch.ones(1 << 20, device="cuda")
y = x.cpu()
z = y.cuda()
torch.cuda.synchronize()
for _ in range(3):
    x.sum().item()
s = e.statistics()
assert s.devices[0].peak_allocated_bytes >= 8 << 20, s
assert s.devices[0].total_bytes == 64 << 20
assert s.device_to_host_bytes >= 4 << 20 and s.host_to_device_copies >= 1, s
assert s.synchronizations >= 5, s
assert any(w.line == 16 and w.times == 3 for w in s.waits), s.waits
print(e.report())
"""
    )
    lines = text.splitlines()
    assert lines[0] == "no emulated GPU runs in this process: call ashore.emulate.start()"
    assert lines[1].startswith("cuda:0 (Emulated GPU): peak 8.")
    assert any("<string>:16" in line and "3 times" in line for line in lines)


def test_a_stray_read_of_device_memory_dies_and_says_why() -> None:
    done = run(
        START
        + "import ctypes\nx = torch.ones(4, device='cuda:1')\nctypes.string_at(x.data_ptr(), 4)\n"
    )
    assert done.returncode == -11
    assert "ashore: host code read device memory at" in done.stderr
    assert "device 1" in done.stderr
