# prints: (3, 8, 8) mean 0.50
# prints: shown (8, 8, 3)
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
decoder = nn.Sequential(nn.Linear(4, 192), nn.Sigmoid()).to(device)
nn.init.zeros_(decoder[0].weight)
nn.init.zeros_(decoder[0].bias)
images = decoder(torch.randn(6, 4, device=device)).view(6, 3, 8, 8)
first = images[0].clamp(0, 1).numpy()
print(first.shape, f"mean {images[1].numpy().mean():.2f}")


def show(ax, image):
    picture = np.transpose(image, (1, 2, 0))
    ax.imshow(picture)
    return picture.shape


fig, axes = plt.subplots(1, 2)
shapes = [show(ax, image) for ax, image in zip(axes, images[:2].detach(), strict=True)]
axes[0].hist(images.flatten().detach(), bins=4)
plt.close(fig)
print("shown", tuple(shapes[0]))
