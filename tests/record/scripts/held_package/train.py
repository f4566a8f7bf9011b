# prints: 3.0 a
import sys

import torch

from .helpers import spread

x = torch.arange(4.0, device="cuda")
print(spread(x), sys.argv[1])
