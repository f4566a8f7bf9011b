"""Run the rules of the house on this tree, and show each of them failing on a small bad one."""

from pathlib import Path

import house
import pytest

ROOT = Path(__file__).parents[2]
FLAG = "-m" + "avx2"
VERSION = "9.8.7"
PROJECT = f"project(ashore VERSION {VERSION} LANGUAGES CXX)\n"

# Per rule: files of a bad tree (path: text), and words of the one fault that it must find there.
BAD_TREES = [
    (house.include_table, {"src/plan/plan.cpp": '#include "host/memory.hpp"\n'}, "plan may not"),
    (house.include_table, {"src/core/a.cpp": "#include <ashore/plan.hpp>\n"}, "core may not"),
    (
        house.include_table,
        {"src/emit/a.cpp": '#include "../core/a.hpp"\n'},
        "no header of the house",
    ),
    (house.include_table, {"src/extra/a.cpp": "\n"}, "no row"),
    (house.include_table, {"include/ashore/extra.hpp": "\n"}, "which stage"),
    (house.one_way, {"src/ingest/a.cpp": '#include "convert/walk.hpp"\n'}, "later stage convert"),
    (house.one_way, {"include/ashore/plan.hpp": "#include <ashore/to_host.hpp>\n"}, "later stage"),
    (house.system_headers, {"src/core/a.cpp": "#include <sys/mman.h>\n"}, "core may not"),
    (house.system_headers, {"src/plan/a.cpp": "#include <immintrin.h>\n"}, "plan may not"),
    (house.system_headers, {"src/core/a.cpp": "#include <format>\n"}, "<format>"),
    (house.public_headers, {"include/ashore/plan.hpp": "#include <cuda.h>\n"}, "cuda.h"),
    (house.public_headers, {"include/ashore/plan.hpp": '#include "core/a.hpp"\n'}, "core/a.hpp"),
    (house.python_headers, {"src/core/a.cpp": "#include <Python.h>\n"}, "only bindings"),
    (
        house.python_headers,
        {"tests/src/a.cpp": "#include <numpy/arrayobject.h>\n"},
        "only bindings",
    ),
    (house.torch_headers, {"bindings/a.cpp": "#include <ATen/ATen.h>\n"}, "ATen/ATen.h"),
    (house.torch_headers, {"src/core/a.cpp": "#  include <c10/util/Half.h>\n"}, "c10/util/Half.h"),
    (house.machine_flags, {"CMakeLists.txt": f"add_compile_options({FLAG})\n"}, FLAG),
    (house.machine_flags, {"CMakePresets.json": f'{{"flags": "-O2 {FLAG}"}}\n'}, FLAG),
    (house.machine_flags, {"pyproject.toml": f'args = ["{FLAG}"]\n'}, FLAG),
    (house.pragma_once, {"src/core/a.hpp": "struct A {};\n"}, "no #pragma once"),
    (house.one_version, {"CMakeLists.txt": "project(ashore)\n"}, "no line"),
    (
        house.one_version,
        {"CMakeLists.txt": PROJECT, "python/ashore/a.py": f'__version__ = "{VERSION}"\n'},
        "once more",
    ),
    (house.one_version, {"CMakeLists.txt": PROJECT + f"# {VERSION}\n"}, "once more"),
    (house.rooms, {"src/core/deep/a.cpp": "\n"}, "no room"),
    (house.rooms, {"tools/a.sh": "\n"}, "no room"),
    (house.rooms, {"include/ashore/a.h": "\n"}, "no room"),
    (house.file_length, {"src/core/a.cpp": "int a;\n" * 401}, "401 lines"),
    (
        house.registry_hosts,
        {"docs/a.md": f"https://{house.REGISTRY_HOSTS[0]}/simple\n"},
        "names the",
    ),
    (house.markers, {"src/core/a.cpp": f"// {house.MARKERS[0]}: later\n"}, "the marker"),
]

GOOD_TREE = {
    "CMakeLists.txt": PROJECT + "execute_process(COMMAND python -m nanobind)\n",
    "CHANGELOG.md": f"## {VERSION}\n",
    "include/ashore/plan.hpp": "#pragma once\n#include <ashore/array.hpp>\n#include <string>\n",
    "include/ashore/torch.hpp": "#pragma once\n#include <torch/torch.h>\n",
    "src/host/memory.cpp": '#include "host/memory.hpp"\n#include <sys/mman.h>\n',
    "src/copy/copy.cpp": '#include "plan/plan.hpp"\n#include <ashore/plan.hpp>\n',
    "src/pipeline.cpp": '#include "convert/walk.hpp"\n#include <ashore/to_host.hpp>\n',
    "bindings/module.cpp": "#include <Python.h>\n#include <numpy/arrayobject.h>\n",
    "python/ashore/deep/a.py": "# Past 400 lines because it is a table.\n" + "a = 1\n" * 400,
    "tests/src/core/dlpack_test.cpp": "#include <ATen/dlpack.h>\n",
}


def grow(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize("rule", house.RULES)
def test_the_house_keeps_its_rules(rule):
    assert list(rule(ROOT)) == []


@pytest.mark.parametrize("rule", house.RULES)
def test_a_good_tree_has_no_fault(rule, tmp_path):
    assert list(rule(grow(tmp_path, GOOD_TREE))) == []


@pytest.mark.parametrize(("rule", "files", "words"), BAD_TREES)
def test_a_bad_tree_has_one_fault(rule, files, words, tmp_path):
    faults = list(rule(grow(tmp_path, files)))
    assert len(faults) == 1
    assert words in faults[0]


def test_every_rule_is_shown_failing():
    assert {rule for rule, _, _ in BAD_TREES} == set(house.RULES)


def test_the_table_itself_walks_one_way():
    for stage, may in house.MAY_INCLUDE.items():
        if stage in house.STAGES:
            later = house.STAGES[house.STAGES.index(stage) + 1 :]
            assert not set(later) & may or stage == "pipeline"


def test_the_tree_was_read():
    assert {"dev", "CMakeLists.txt", "include/ashore/ashore.hpp"} <= set(house.tree_files(ROOT))
