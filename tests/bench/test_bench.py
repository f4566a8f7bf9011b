"""Show that the benchmarks run and report every row. How fast anything is, no test asserts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RUN = Path(__file__).parents[2] / "bench" / "run.py"
ROWS = """
    locked fresh fresh-grad locked-grad copy-locked copy-fresh bfloat16-locked bfloat16-fresh
    list-of-100 nested-100 to-torch import first-conversion help large-copy-fresh large-copy-out
    rows-16-of-64 rows-500-of-1024 step-2 step-3 expand-last expand-first flip small-64B
    small-1KiB small-16KiB small-64KiB transpose nchw-to-nhwc nhwc-to-nchw permute-03412
    permute-42013 permute-and-cast image bfloat16-to-float32 bfloat16-to-float32-fresh
    float32-to-bfloat16 float32-to-bfloat16-fresh float16-to-float32 float16-to-float32-fresh
    float32-to-float16 float32-to-float16-fresh float64-to-float32 float64-to-float32-fresh
    int64-to-int32 int64-to-int32-fresh uint8-to-float32 uint8-to-float32-fresh
    float8_e4m3fn-to-float32 float8_e4m3fn-to-float32-fresh float8_e5m2-to-float32
    float8_e5m2-to-float32-fresh float32-to-float8_e4m3fn float32-to-float8_e4m3fn-fresh
    random-1 random-2 random-3 random-4 random-5 random-6 random-7 random-8 random-9 random-10
    random-11 random-12 emulated-add emulated-small-step emulated-step emulated-start check
    check-again check-start
""".split()


def bench(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(RUN), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any], Path]:
    """Run everything once, quickly: what it printed, the JSON, the picture."""
    folder = tmp_path_factory.mktemp("bench")
    done = bench("--quick", "--json", folder / "out.json", "--chart", folder / "out.png")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout, json.loads((folder / "out.json").read_text()), folder / "out.png"


def test_every_row_is_there_with_its_rivals(quick: tuple[str, dict[str, Any], Path]) -> None:
    rows = quick[1]["rows"]
    assert [row["name"] for row in rows] == ROWS
    for row in rows:
        assert row["ours"]["least_ns"] > 0 and row["rivals"], row["name"]
        for rival in row["rivals"]:
            assert rival["least_ns"] > 0 and rival["ratio"] > 0
            assert (rival["target"] is None) == (rival["reached"] is None)
        assert any(rival["target"] for rival in row["rivals"]), row["name"]


def test_the_table_says_what_ran(quick: tuple[str, dict[str, Any], Path]) -> None:
    printed, data, _ = quick
    assert f"torch {data['environment']['torch']}" in printed
    for row in data["rows"]:
        assert f"{row['name']}: {row['ours']['what']}" in printed
        assert all(rival["what"] in printed for rival in row["rivals"])


def test_the_chart_is_a_picture(quick: tuple[str, dict[str, Any], Path]) -> None:
    assert quick[2].read_bytes().startswith(b"\x89PNG")


def test_a_few_rows_can_be_chosen() -> None:
    done = bench("--quick", "--rows", "to-torch", "locked")
    assert done.returncode == 0, done.stderr
    assert "to-torch: " in done.stdout and "locked: " in done.stdout and "fresh" not in done.stdout


def test_an_unknown_row_is_one_line_with_the_names() -> None:
    done = bench("--quick", "--rows", "no-such-row")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "no-such-row" in done.stderr and "list-of-100" in done.stderr
