# prints: 2.000 0.250
import torch
from scipy import integrate, optimize

device = "cuda" if torch.cuda.is_available() else "cpu"


def objective(x):
    point = torch.tensor(float(x), device=device)
    return (point - 2) ** 2


best = optimize.minimize_scalar(lambda x: objective(x), bounds=(0, 5), method="bounded")
area, _ = integrate.quad(lambda x: torch.tensor(x, device=device) ** 3, 0, 1)
print(f"{best.x:.3f} {area:.3f}")
