"""The hooks, installed and run by pre-commit itself in a scratch repository."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BROKEN = "import torch\n\nx = torch.ones(3).cuda()\nprint(x.numpy())\n"

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(
        importlib.util.find_spec("pre_commit") is None, reason="pre-commit is not installed"
    ),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")  # where pre-commit keeps its environments


@pytest.fixture(scope="module")
def ashore(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a repository that holds the working tree, and its one commit."""
    repository = tmp_path_factory.mktemp("ashore")
    listed = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (repository / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, repository / name)
    git(repository, "init", "-q")
    git(repository, "add", "-A")
    git(repository, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "all")
    return repository, git(repository, "rev-parse", "HEAD").strip()


@pytest.fixture
def project(tmp_path: Path, ashore: tuple[Path, str]) -> Path:
    repository, commit = ashore
    (tmp_path / ".pre-commit-config.yaml").write_text(
        f"repos: [{{repo: 'file://{repository}', rev: {commit},"
        " hooks: [{id: ashore-check}, {id: ashore-fix}]}]\n"
    )
    (tmp_path / "broken.py").write_text(BROKEN)
    (tmp_path / "notes.txt").write_text("x.numpy()\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    return tmp_path


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def run_hook(hook: str, project: Path, home: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pre_commit", "run", hook, "--all-files"]
    environment = {**os.environ, "PRE_COMMIT_HOME": str(home)}
    environment.pop("PYTHONPATH", None)
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)


def test_check_tells_and_nothing_is_compiled(project: Path, home: Path) -> None:
    done = run_hook("ashore-check", project, home)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "broken.py:4:7: TN101 [sure]" in done.stdout
    assert "1 report in 1 file" in done.stdout
    (package,) = home.glob("repo*/py_env-*/lib/python*/site-packages/ashore")
    assert not [*package.glob("_core*.so"), *package.glob("lib*.so")]
    assert not (package.parent / "torch").exists()


def test_fix_repairs_and_is_content_afterwards(project: Path, home: Path) -> None:
    done = run_hook("ashore-fix", project, home)
    assert done.returncode == 1 and "files were modified by this hook" in done.stdout, done
    assert (project / "broken.py").read_text() == BROKEN.replace("x.numpy()", "x.cpu().numpy()")
    assert (project / "notes.txt").read_text() == "x.numpy()\n"
    for hook in ("ashore-fix", "ashore-check"):
        done = run_hook(hook, project, home)
        assert done.returncode == 0, done.stdout + done.stderr
