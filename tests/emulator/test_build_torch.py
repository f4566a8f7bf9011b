"""What the build reads of an installed PyTorch: which build it is, and its operators."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from ashore.emulate._build_error import CannotEmulate
from ashore.emulate._torch_info import find_torch, read_torch, refuse_untried
from fake_torch import write_torch

ROOT = Path(__file__).resolve().parents[2]


def test_a_written_one(tmp_path: Path) -> None:
    torch = read_torch(write_torch(tmp_path / "torch", "2.13.7+mine"))
    assert (torch.version, torch.minor, torch.cuda) == ("2.13.7+mine", "2.13", None)
    assert torch.git_version == "0123456789abcdef"
    said = subprocess.run(
        ["readelf", "-n", torch.root / "lib" / "libtorch_cpu.so"], capture_output=True, text=True
    )
    assert torch.library_id in said.stdout and len(torch.library_id) == 40


def test_the_installed_one() -> None:
    real = pytest.importorskip("torch", reason="PyTorch is not installed")
    torch = read_torch(find_torch())
    assert torch.version == real.__version__
    assert torch.git_version == real.version.git_version
    assert torch.cuda == real.version.cuda


def test_a_library_without_a_build_id(tmp_path: Path) -> None:
    root = write_torch(tmp_path / "torch")
    library = root / "lib" / "libtorch_cpu.so"
    subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", library], check=True)
    status = library.stat()
    assert read_torch(root).library_id == f"{status.st_size}-{status.st_mtime_ns}"


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"MZ" * 64, b"\x7fELF\x02\x01" + b"\0" * 58])
def test_a_library_that_is_none(tmp_path: Path, content: bytes) -> None:
    root = write_torch(tmp_path / "torch")
    (root / "lib" / "libtorch_cpu.so").write_bytes(content)
    with pytest.raises(CannotEmulate, match="is no PyTorch that can be emulated"):
        read_torch(root)


def test_no_torch_at_all(tmp_path: Path) -> None:
    with pytest.raises(CannotEmulate, match="install PyTorch for Linux"):
        read_torch(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.modules['torch'] = None\n"
         "from ashore.__main__ import main; sys.exit(main(['emulate', 'build']))"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "ashore: PyTorch is not installed here: pip install 'ashore[torch]'\n"


@pytest.mark.parametrize(
    ("version", "cuda", "part"),
    [
        ("2.9.1", None, "was not tried with torch 2.9.1: install torch 2.13, or set ASHORE_ANY_"),
        ("3.0.0a0+git", None, "was not tried with torch 3.0.0a0+git"),
        ("2.13.0+cu130", "13.0", "is a build for real GPUs"),
    ],
)
def test_a_torch_that_nobody_tried(
    tmp_path: Path,
    version: str,
    cuda: str | None,
    part: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch = read_torch(write_torch(tmp_path / "torch", version, cuda))
    monkeypatch.delenv("ASHORE_ANY_TORCH", raising=False)
    with pytest.raises(CannotEmulate) as caught:
        refuse_untried(torch)
    assert part in str(caught.value) and "ASHORE_ANY_TORCH=1" in str(caught.value)
    monkeypatch.setenv("ASHORE_ANY_TORCH", "1")
    refuse_untried(torch)


@pytest.fixture(scope="module")
def operators(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    pytest.importorskip("torch", reason="PyTorch is not installed")
    folder = tmp_path_factory.mktemp("generated")
    script = ROOT / "emulator" / "generate_operators.py"
    subprocess.run([sys.executable, script, find_torch(), folder], check=True, timeout=120)
    return (folder / "operators.inc").read_text().splitlines()


@pytest.mark.parametrize(
    "row",
    [
        # name, keys of CUDA's family, device check, structured, composite, wrapper
        '{"aten::add.Tensor", 23, false, true, false, "wrapper_CUDA_add_Tensor"',
        '{"aten::addmm", 7, true, true, false, "wrapper_CUDA_addmm"',
        '{"aten::index_select", 11, true, false, false, "wrapper_CUDA__index_select"',
        '{"aten::_foreach_add.Tensor", 1, false, false, true, "wrapper_CUDA_Tensor__foreach_add"',
    ],
)
def test_rows_of_the_operator_table(operators: list[str], row: str) -> None:
    assert any(one.startswith(row) for one in operators)


def test_the_operator_table_is_whole(operators: list[str]) -> None:
    names = [row.split('"')[1] for row in operators]
    assert len(names) == len(set(names)) > 1300 and names == sorted(names)
    assert "aten::histogram.bin_ct" not in names, "CUDA has no kernel for it"
