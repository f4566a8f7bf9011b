"""Build the C++ examples, and the tests of ashore/torch.hpp, as a stranger would; run them."""

import re

from stranger import ROOT, WORK, build, run

WAY_OUT = "copy the tensor to the host \
in the framework that owns it first"
DLPACK = f"""\
shared, float32: 0.5 1.5 2.5 3.5 4.5 5.5
cast, int32: 0 1 2 3 4 5
out and back is the same memory: yes
the producer's memory is let go
refused: memory on CUDA device 0 cannot be reached from here; {WAY_OUT}
done
the producer's memory is let go
"""

LIBTORCH = """\
output: float32 (2, 3)
shared: yes, the output still has its graph: yes
each of 2 rows adds up to 1: yes
bfloat16: bfloat16 (2, 3)
widened: float32 (2, 3)
expanded: float32 (1000, 3), read-only
copied: float32 (1000, 3)
to float64: 48 bytes written, for another dtype (float32 to float64)
leaf on the same memory: yes
refused: a tensor of layout Sparse has no dense memory; call .to_dense()
"""


def test_the_dlpack_example_needs_no_torch(prefix, tmp_path):
    source = ROOT / "examples" / "cpp"
    options = [f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON"]
    said = run("cmake", "-G", "Ninja", "-S", source, "-B", tmp_path, *options)
    assert "libtorch is not built" in said
    run("cmake", "--build", tmp_path)
    assert run(tmp_path / "dlpack") == DLPACK


def test_the_libtorch_example(prefix, torch_cmake):
    folder = build(ROOT / "examples" / "cpp", WORK / "cpp", prefix, torch_cmake)
    assert run(folder / "libtorch") == LIBTORCH


def test_the_tests_of_the_torch_header(prefix, torch_cmake):
    folder = build(ROOT / "tests" / "torch", WORK / "torch", prefix, torch_cmake)
    said = run(folder / "torch_test")
    passed = re.search(r"\[  PASSED  \] (\d+) tests", said)
    assert passed and int(passed[1]) >= 25, said
    assert "FAILED" not in said and "SKIPPED" not in said


def test_the_installed_headers_are_those_of_the_tree(prefix):
    for header in (ROOT / "include" / "ashore").glob("*.hpp"):
        installed = WORK / "prefix" / "include" / "ashore" / header.name
        assert installed.read_text() == header.read_text(), header
