"""Run what README and the docs show: each code block is executed, compiled, or checked.

python   executed, in order, one namespace for each page
text     compared with what the block before it printed
console  each command must exist with its options; cheap ones are run and their output compared
cpp      a complete program: compiled against the installed package and run
cmake    the project of the programs that follow it
"""

import contextlib
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from stranger import ROOT, WORK, build, run

PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
LANGUAGES = {"python", "text", "console", "cpp", "cmake"}
DEFAULT_PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(page LANGUAGES CXX)
find_package(ashore REQUIRED)
add_executable(mine main.cpp)
target_link_libraries(mine PRIVATE ashore::ashore)
"""


class Block(NamedTuple):
    """Hold one fenced block: its language, its text, and the line on which it starts."""

    language: str
    text: str
    line: int


def blocks_of(page: Path) -> list[Block]:
    blocks, language, start, lines = [], None, 0, []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = re.match(r"\s*```(.*)", line)
        if fence and language is None:
            language, start, lines = fence[1].strip(), number + 1, []
        elif fence:
            blocks.append(Block(language, "".join(f"{one}\n" for one in lines), start))
            language = None
        elif language is not None:
            lines.append(line)
    assert language is None, f"{page}:{start}: a block that does not end"
    return blocks


def pages_with(language: str):
    having = [page for page in PAGES if any(b.language == language for b in blocks_of(page))]
    return pytest.mark.parametrize("page", having, ids=lambda page: str(page.relative_to(ROOT)))


def expected_after(blocks: list[Block], position: int) -> str | None:
    after = blocks[position + 1] if position + 1 < len(blocks) else None
    return after.text if after is not None and after.language == "text" else None


def test_every_block_is_of_a_kind_that_is_checked():
    for page in PAGES:
        previous = None
        for block in blocks_of(page):
            where = f"{page}:{block.line}"
            assert block.language in LANGUAGES, f"{where}: language {block.language!r}"
            if block.language == "text":
                assert previous in {"python", "cpp"}, f"{where}: the output of nothing"
            if block.language == "cpp":
                assert "int main()" in block.text, f"{where}: no complete program"
            previous = block.language


@pages_with("python")
@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_python_blocks(page, tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="the pages convert tensors")
    pytest.importorskip("sklearn", reason="the pages score with scikit-learn")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "page"}
    blocks = blocks_of(page)
    for position, block in enumerate(blocks):
        if block.language != "python":
            continue
        code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, namespace)
        expected = expected_after(blocks, position)
        if expected is not None:
            assert printed.getvalue().rstrip() == expected.rstrip()


def cpp_programs():
    """Return what each C++ program needs: a number, its project, its text, its output."""
    programs = []
    for page in PAGES:
        project = DEFAULT_PROJECT
        blocks = blocks_of(page)
        for position, block in enumerate(blocks):
            if block.language == "cmake":
                project = block.text
            if block.language == "cpp":
                case = (len(programs), project, block.text, expected_after(blocks, position))
                programs.append(pytest.param(*case, id=f"{page.stem}-{block.line}"))
    return programs


@pytest.mark.parametrize(("number", "project", "program", "expected"), cpp_programs())
def test_cpp_program(number, project, program, expected, request, prefix):
    paths = [prefix]
    if "torch" in project:
        paths.append(request.getfixturevalue("torch_cmake"))
    source = WORK / "docs" / str(number)
    source.mkdir(parents=True, exist_ok=True)
    for name, text in {"CMakeLists.txt": project, "main.cpp": program}.items():
        if not (source / name).exists() or (source / name).read_text() != text:
            (source / name).write_text(text)  # only then is it compiled again
    folder = build(source, source / "build", *paths)
    said = run(folder / "mine")
    if expected is not None:
        assert [line.rstrip() for line in said.splitlines()] == expected.splitlines()


def commands_of(block: Block) -> list[tuple[str, str]]:
    """Return the commands of a console block, each with the output shown."""
    commands = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], ""))
        else:
            assert commands, f"output without a command: {line}"
            commands[-1] = (commands[-1][0], commands[-1][1] + line + "\n")
    return commands


def check_dev(words):
    assert re.search(rf"^cmd_{words[1]}\(\)", (ROOT / "dev").read_text(), re.M), words


def check_pip(words):
    assert words[1] == "install"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for word in words[2:]:
        match = re.fullmatch(r"(?:\.|-e|ashore)(?:\[([\w,]+)\])?", word)
        assert match, f"pip would not find {word}"
        assert set((match[1] or "").split(",")) - {""} <= set(extras), word


def check_ashore(words):
    run(sys.executable, "-m", "ashore", *words[1:], "--help")


def check_cmake(words):
    source = words[words.index("-S") + 1] if "-S" in words else "."
    assert (ROOT / source / "CMakeLists.txt").exists()


def run_python(words):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    return run(sys.executable, *words[1:])


# What stands behind each command that the pages show. Only what is cheap is run.
COMMANDS = {
    "./dev": check_dev,
    "ashore": check_ashore,
    "cmake": check_cmake,
    "pip": check_pip,
    "python": run_python,
}


@pages_with("console")
def test_console_blocks(page):
    for block in blocks_of(page):
        for command, shown in commands_of(block) if block.language == "console" else []:
            words = shlex.split(command)
            assert words[0] in COMMANDS, f"{page}: nobody checks the command {words[0]}"
            said = COMMANDS[words[0]](words)
            if shown:
                assert said is not None and said.rstrip() == shown.rstrip(), command


def test_links_lead_somewhere():
    for page in [*PAGES, *ROOT.glob("*.md")]:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            if not re.match(r"https?://|#", target):
                path = page.parent / target.partition("#")[0]
                assert path.exists(), f"{page}: the link {target} leads nowhere"


def rows_of(page: Path, *columns: str) -> list[list[str]]:
    """Return the rows of all tables of a page that have these columns."""
    rows, inside = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| ") and cells == list(columns):
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|---"):
            rows.append(cells)
    return rows


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature")
def test_each_refusal_is_what_its_row_says():
    pytest.importorskip("torch", reason="the refusals are of tensors")
    page = ROOT / "docs" / "guide" / "errors.md"
    namespace: dict[str, object] = {}
    for block in blocks_of(page):
        exec(block.text, namespace)
    rows = rows_of(page, "call", "raises", "message has", "what to do")
    assert len(rows) > 20
    for call, raises, words, _ in rows:
        with pytest.raises(Exception) as caught:
            eval(call.strip("`"), dict(namespace))
        assert type(caught.value).__name__ == raises, call
        assert words.strip("`") in str(caught.value), call
        assert "\n" not in str(caught.value), call


def test_both_sides_of_the_readme_s_table_give_the_same():
    torch = pytest.importorskip("torch", reason="the table converts tensors")
    import ashore
    import numpy as np

    device = "cuda" if torch.cuda.is_available() else "cpu"
    graded = torch.randn(3, 4, requires_grad=True)
    arrays = [np.random.default_rng(0).random(5), np.arange(6.0)[::-1], np.arange(4.0), np.ones(3)]
    arrays[2].flags.writeable = False
    settings = [
        {"x": torch.randn(3, 4, device=device)},
        {"x": graded},
        {"x": torch.randn(4, dtype=torch.complex64).conj()},
        {"x": torch.randn(5).bfloat16()},
        {"x": torch.arange(4, device=device), "y": graded},
        {"x": {"a": graded, "b": torch.ones(2, device=device)}},
        {"x": torch.randn(3, 8, 9)},
        *({"a": array} for array in arrays),
    ]
    rows = rows_of(ROOT / "README.md", "you have", "before", "with ashore")
    assert len(rows) == len(settings)
    functions = {name: getattr(ashore, name) for name in ashore.__all__}
    for (what, before, after), setting in zip(rows, settings, strict=True):
        codes = [re.match("`(.*?)`", cell)[1] for cell in (before, after)]
        codes = [code.replace('"cuda"', f'"{device}"') for code in codes]
        old, new = (eval(code, {"torch": torch, **functions, **setting}) for code in codes)
        assert type(old) is type(new), what
        old, new = ashore.to_numpy((old, new))
        np.testing.assert_equal(new, old, err_msg=what, strict=True)


def test_the_picture_is_the_demo_s_and_small():
    picture = ROOT / "docs" / "images" / "demo.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < 100_000


def test_readme_names_the_development_commands():
    usage = subprocess.run(
        [ROOT / "dev", "help"], capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"}
    )
    assert usage.returncode == 0
    for command in ("./dev demo", "./dev test"):
        assert command in usage.stdout
