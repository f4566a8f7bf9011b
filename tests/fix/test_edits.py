"""Edits touch what they are for, byte by byte, and nothing else."""

from __future__ import annotations

import pytest
from ashore.fix.edits import Edit, Refused, Side, Span, apply
from ashore.fix.proof import prove
from ashore.fix.source import read_source
from fixing import fixed, fixed_bytes

PROGRAM = b"import torch\nx = torch.ones(3, device='cuda')\ny = x.numpy()\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"x.numpy()", b"x.cpu().numpy()"),
        (b"(x).numpy()", b"(x).cpu().numpy()"),
        (b"(x + 1).numpy()", b"(x + 1).cpu().numpy()"),
        (b"( (x + 1)  ) . numpy()", b"( (x + 1)  ).cpu() . numpy()"),
        (b"(\n  x\n  # why\n  .numpy()\n)", b"(\n  x.cpu()\n  # why\n  .numpy()\n)"),
        (b"x \\\n  .numpy()", b"x.cpu() \\\n  .numpy()"),
        (b"x[0].numpy()", b"x[0].cpu().numpy()"),
        (b"x.numpy(), x.sum().numpy()", b"x.cpu().numpy(), x.sum().cpu().numpy()"),
        (b"(lambda t: t.numpy())(x)", b"(lambda t: t.detach().cpu().numpy())(x)"),
    ],
)
def test_conversions_go_before_the_dot(before: bytes, after: bytes) -> None:
    assert fixed_bytes(PROGRAM.replace(b"x.numpy()", before)) == PROGRAM.replace(
        b"x.numpy()", after
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("np.sqrt(x)", "np.sqrt(x.cpu())"),
        ("np.sqrt(x + 1)", "np.sqrt((x + 1).cpu())"),
        ("np.sqrt((x + 1))", "np.sqrt(((x + 1).cpu()))"),
        ("np.sqrt(-x)", "np.sqrt((-x).cpu())"),
        ("np.sqrt(x if x.sum() else x + 1)", "np.sqrt((x if x.sum() else x + 1).cpu())"),
        ("np.add(x, x)", "np.add(x.cpu(), x.cpu())"),
        ("np.stack([x, x * 2])", "np.stack([x.cpu(), (x * 2).cpu()])"),
        ("np.stack([t for t in x])", "np.stack([t.cpu() for t in x])"),
        (
            "np.array([[x.sum(), 1], [2, x.max()]])",
            "np.array([[x.sum().item(), 1], [2, x.max().item()]])",
        ),
        ("np.sum(x)", "np.sum(x.cpu().numpy())"),
    ],
)
def test_arguments_are_followed_by_conversions(before: str, after: str) -> None:
    made = 'x = torch.ones(3, device="cuda")\n'
    assert fixed(f"{made}y = {before}\n") == f"{made}y = {after}\n"


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_marks_stay(end: bytes, mark: bytes) -> None:
    raw = mark + PROGRAM.replace(b"\n", end)
    assert fixed_bytes(raw) == raw.replace(b"x.numpy()", b"x.cpu().numpy()")


def test_other_encodings_tabs_and_form_feeds_stay() -> None:
    raw = (
        "# -*- coding: latin-1 -*-\n\x0cimport torch\nif True:\n\tä = torch.ones(3, device='cuda')"
        "  # é\n\tö = ä.numpy()\n"
    ).encode("latin-1")
    assert fixed_bytes(raw) == raw.replace(b".numpy()", b".cpu().numpy()")


def test_columns_are_counted_in_bytes_behind_wide_characters() -> None:
    code = "x = torch.ones(3, device='cuda'); print('änderung 中', x.numpy(), '中', x.numpy())\n"
    assert fixed(code) == code.replace("x.numpy()", "x.cpu().numpy()")


def test_detach_goes_before_a_cpu_that_is_there() -> None:
    code = "m = nn.Linear(2, 2).to(device)\ny = m(torch.ones(2)).cpu().numpy()\n"
    assert fixed(code) == code.replace(".cpu()", ".detach().cpu()")


def test_all_needs_of_an_expression_become_one_edit_in_order() -> None:
    code = (
        "m = nn.Linear(2, 2).cuda()\n"
        "with torch.autocast('cuda', dtype=torch.bfloat16):\n"
        "    y = m(torch.ones(2).cuda())\n"
        "z = y.numpy()\n"
    )
    assert fixed(code) == code.replace("y.numpy()", "y.detach().cpu().float().numpy()")


def test_at_one_place_inner_ends_come_first_and_outer_starts_too() -> None:
    inner, outer = Span(2, 4), Span(0, 4)
    ends = [Edit(4, 0, "O", Side.END, outer), Edit(4, 0, "i", Side.END, inner)]
    assert apply(b"0123", ends) == b"0123iO"
    inner, outer = Span(1, 2), Span(1, 4)
    starts = [Edit(1, 0, "i", Side.START, inner), Edit(1, 0, "O", Side.START, outer)]
    assert apply(b"0123", [*starts, Edit(1, 0, "e", Side.END, Span(0, 1))]) == b"0eOi123"


def test_edits_that_overlap_are_refused() -> None:
    edits = [Edit(0, 5, "a", Side.START, Span(0, 5)), Edit(3, 1, "b", Side.START, Span(3, 4))]
    with pytest.raises(Refused, match="overlap"):
        apply(b"0123456789", edits)


@pytest.mark.parametrize("text", ["y = x.cpu().numpy(1)", "y = x.cpu.numpy()", "z = x.numpy()"])
def test_another_program_is_refused(text: str) -> None:
    source = read_source("a.py", PROGRAM)
    other = read_source("a.py", PROGRAM.replace(b"y = x.numpy()", text.encode()))
    with pytest.raises(Refused, match="another program"):
        prove(source, other, [], [])


def test_a_conversion_is_no_other_program() -> None:
    source = read_source("a.py", PROGRAM)
    prove(source, read_source("a.py", PROGRAM.replace(b"x.n", b"x.cpu().n")), [], [])
