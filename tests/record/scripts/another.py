# part of starts_another.py
import torch

print("child", torch.ones(2, device="cuda").numpy())
