"""Run cases of one database on the emulated GPU: the name of each on stdin, one line of JSON for
each on stdout. Started by run.py, which kills it when a case takes too long.

    python worker.py DATABASE OPTIONS_AS_JSON
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings

import ashore.emulate

DATABASES = {"op_db": "operators", "module_db": "modules", "optim_db": "optimizers"}


def main(database: str, options_text: str) -> None:
    """Answer until stdin ends. The first line tells the names of all cases."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever else prints
    ashore.emulate.start(devices=2, memory="8GiB")
    import torch
    from options import Options

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    module = importlib.import_module(DATABASES[database])
    options = Options.load(options_text)
    cases = module.cases()
    print(json.dumps(list(cases)), file=answers)
    for line in sys.stdin:
        print(module.run(line.strip(), cases[line.strip()], options).dump(), file=answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
