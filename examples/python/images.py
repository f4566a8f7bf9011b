"""Turn a batch of normalised float images into uint8 images, in one pass each, and back."""

import ashore
import numpy as np
import torch
from PIL import Image

# What a model for images eats and gives: channels first, floats in [0, 1].
ramp = torch.linspace(0, 1, 64)
red, green = ramp.expand(64, 64), ramp.expand(64, 64).t()
picture = torch.stack([red, green, 1 - red])
batch = picture.expand(4, 3, 64, 64)

image = ashore.to_image(picture)
print("one image:", image.shape, image.dtype, "from", image.min(), "to", image.max())
print("a batch:", ashore.to_image(batch).shape)
print("for PIL:", Image.fromarray(image).size)

# OpenCV wants blue first; a model's own range is given, not guessed.
bgr = ashore.to_image(picture * 2 - 1, value_range=(-1, 1), channels="bgr")
print("blue first, same picture:", np.array_equal(bgr[..., ::-1], image))

# And back: the pixels are shared, channels first is a matter of strides.
pixels = ashore.to_torch(image).permute(2, 0, 1)
print("back in torch:", tuple(pixels.shape), "shared:", pixels.data_ptr() == image.ctypes.data)
