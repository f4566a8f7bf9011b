"""The whole of `ashore fix --run`: record, plan, edit, run again, compare; until nothing is new."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

from ashore.fix.dynamic.compare import alike, begins_with, first_difference, same
from ashore.fix.dynamic.launch import Outcome, Program, roots_of, run
from ashore.fix.dynamic.making import Made, Maker
from ashore.fix.dynamic.notes import Note, read_notes
from ashore.fix.dynamic.project import Files
from ashore.fix.edits import Refused
from ashore.fix.planner import plan
from ashore.fix.record.settings import Settings
from ashore.fix.repair import edited
from ashore.fix.report import Report, report_of
from ashore.fix.sites import Level
from ashore.fix.source import Source
from ashore.fix.suppress import Suppressions

_MOST_ROUNDS = 6
_MAY_CUT = ("array", "function", "operator")

Say = Callable[[str], None]


@dataclass(frozen=True)
class Result:
    """Hold what came of it: the files before and after, how many places, what is left and why."""

    changed: dict[str, tuple[bytes, bytes]]
    repaired: int
    left: tuple[Report, ...]
    trouble: str = ""  # why it was not verified, or the edits were taken back
    restored: bool = False


@dataclass(frozen=True)
class Step:
    """Hold the edits of one round."""

    new: dict[str, tuple[Source, bytes]]
    repaired: int
    left: tuple[Report, ...]
    refused: tuple[str, ...]


class Session:
    """Repair one program."""

    def __init__(self, program: Program, *, write: bool, verify: bool, say: Say) -> None:
        """`say` tells the user, in a line, that the program is run."""
        self._program = program
        self._write = write
        self._verify = verify and write
        self._say = say
        self._files = Files(roots_of(program.words, program.folder))
        self._repaired = 0
        self._runs = 0

    def go(self) -> Result:
        """Repair; what is on disk afterwards is better than before, or as before."""
        baseline: Outcome | None = None
        recording, notes = self._record()
        first = recording
        for _ in range(_MOST_ROUNDS):
            if self._repair_gradients(recording, notes):
                recording, notes = self._record()
                first = recording
                continue
            step = self._plan(notes, careful=False)
            if not step.new:
                return self._end(step, recording, baseline, first)
            if self._verify and baseline is None:
                baseline = self._run("as it is")
                if baseline.code == 0 and same(recording.out, baseline.out):
                    return Result({}, 0, (), "")
            mark = self._files.mark()
            self._apply(step)
            if not self._verify:
                break
            verified = self._run("with the edits")
            if self._is_good(verified, recording):
                break
            recording, notes = self._record()
            if self._plan(notes, careful=False).new:
                continue
            careful = self._try_carefully(mark, first)
            if careful is not None:
                step = careful
                break
            return self._end(self._plan(notes, careful=False), recording, baseline, first)
        return Result(self._files.changed(), self._repaired, step.left, "; ".join(step.refused))

    def planned(self, notes: list[Note]) -> Result:
        """Return what would be changed for notes that are there already."""
        step = self._plan(notes, careful=False)
        self._apply(step)
        return Result(self._files.changed(), self._repaired, step.left, "; ".join(step.refused))

    def _record(self, gradients: bool = False) -> tuple[Outcome, list[Note]]:
        with tempfile.TemporaryDirectory(prefix="ashore-") as folder:
            settings = Settings(folder, self._files.settings.roots, gradients)
            why = "to find gradients that are needed" if gradients else "to find the places"
            outcome = self._run(why, settings)
            return outcome, read_notes(folder)

    def _repair_gradients(self, recording: Outcome, notes: list[Note]) -> bool:
        """Make NumPy's operations torch's where a gradient goes through; tell whether any were."""
        if not any(n.grad and n.how in _MAY_CUT for n in notes):
            return False
        if not recording.code and not any(n.extra.get("backward") for n in notes):
            return False
        if not self._write:  # nothing can be tried without writing
            return False
        _, found = self._record(gradients=True)
        step = self._plan([n for n in found if n.how == "gradient"], careful=False)
        self._apply(step)
        return bool(step.new)

    def _run(self, why: str, record: Settings | None = None) -> Outcome:
        self._runs += 1
        self._say(f"run {self._runs}, {why}: {' '.join(self._program.words)}")
        return run(self._program, record)

    def _plan(self, notes: list[Note], careful: bool) -> Step:
        maker = Maker(self._files, careful)
        by_path: dict[str, list[Made]] = {}
        for made in maker.make(notes):
            by_path.setdefault(made.source.path, []).append(made)
        new: dict[str, tuple[Source, bytes]] = {}
        left: list[Report] = []
        repaired = 0
        refused = list(maker.refused)
        for path, found in by_path.items():
            source = found[0].source
            silenced = Suppressions(source, [made.site for made in found])
            sites = [made.site for made in found if not silenced.silences(made.site)]
            left += [report_of(source, site) for site in sites if site.blocked]
            planned = plan(source, sites, Level.MAYBE, unsafe=True)
            if not planned.edits:
                continue
            try:
                new[path] = (source, edited(source, planned).raw)
                repaired += len({site.span for site in planned.sites})
            except Refused as error:
                refused.append(f"{path}: {error}")
        unique = {(r.path, r.line, r.column, r.rule): r for r in left}
        return Step(new, repaired, tuple(unique.values()), tuple(refused))

    def _apply(self, step: Step) -> None:
        for path, (source, raw) in step.new.items():
            if self._write:
                self._files.write(source, raw)
            else:
                self._files.before[path], self._files.now[path] = source.raw, raw
        self._repaired += step.repaired

    def _is_good(self, now: Outcome, recording: Outcome) -> bool:
        """Tell whether a run without the recorder did what the one with it did."""
        if now.timed_out or recording.timed_out:
            short, long = sorted((now.out, recording.out), key=len)
            return begins_with(long, short) and now.code in (0, recording.code)
        if now.code != recording.code or not alike(recording.out, now.out):
            return False
        if same(recording.out, now.out):
            return True
        return not same(self._run("to see whether its numbers stay").out, now.out)

    def _try_carefully(self, mark: dict[str, bytes], first: Outcome) -> Step | None:
        """Try the last round again with edits at the places themselves."""
        after, repaired = self._files.mark(), self._repaired
        self._files.restore(mark)
        recording, notes = self._record()
        step = self._plan(notes, careful=True)
        if step.new:
            self._apply(step)
            if self._is_good(self._run("with other edits"), recording):
                return step
        self._files.restore(mark)
        self._files.restore(after)
        self._repaired = repaired
        return None

    def _end(
        self, step: Step, recording: Outcome, baseline: Outcome | None, first: Outcome
    ) -> Result:
        """Judge where nothing more can be planned: keep what is there, or put it back."""
        changed = self._files.changed()
        trouble = "; ".join(step.refused)
        if not changed:
            if recording.code and not step.left and not trouble:
                trouble = f"the program ends with exit code {recording.code}: {recording.last_line}"
            return Result({}, 0, step.left, trouble)
        now = self._run("with all edits")
        if self._is_good(now, first):
            return Result(changed, self._repaired, step.left, trouble)
        if step.left and begins_with(first.out, now.out):
            trouble = f"it still ends with: {now.last_line}"
            return Result(changed, self._repaired, step.left, trouble)
        self._files.restore()
        if now.code:
            trouble = f"with the edits the program ended with: {now.last_line or now.code}"
        else:
            trouble = f"with the edits it printed {first_difference(first.out, now.out)}"
        return Result(changed, self._repaired, step.left, trouble, restored=True)


def program_words(words: tuple[str, ...], folder: str) -> str:
    """Say in one line why a program cannot be run and repaired; empty if it can."""
    if words[0] in ("-", "-c"):
        return "name a script or -m MODULE: there is no file to repair"
    if words[0] != "-m" and not os.path.isfile(os.path.join(folder, words[0])):
        return f"{words[0]} is no file"
    return ""
