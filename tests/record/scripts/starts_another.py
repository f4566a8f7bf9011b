# prints: child [1. 1.]
# prints: done
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
child = subprocess.run(
    [sys.executable, os.path.join(here, "another.py")], capture_output=True, text=True, check=True
)
print(child.stdout.strip())
print("done")
