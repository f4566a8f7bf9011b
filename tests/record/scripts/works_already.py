# prints: 2.0 [0, 1, 2, 3] 4.00 c 30.0
# prints: [4. 0.]
# untouched: math.sqrt(four)
# untouched: range(four.int())
# untouched: letters[two]
# untouched: table[two]
# untouched: buffer[0] = four
import math

import numpy as np
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
four = torch.tensor(4.0, device=device)
two = torch.tensor(2, device=device)
letters = ["a", "b", "c"]
table = np.array([10.0, 20.0, 30.0])
buffer = np.zeros(2)
buffer[0] = four
print(math.sqrt(four), list(range(four.int())), f"{four:.2f}", letters[two], table[two])
print(np.add(buffer, torch.zeros(2, device=device).numpy()))
