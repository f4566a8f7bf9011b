# prints: (3, 2) 6.0
# prints: (4, 4) L
# prints: 3
import pandas as pd
import torch
from PIL import Image
from sklearn.neighbors import KNeighborsClassifier

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
scores = torch.tensor([1.0, 2.0, 3.0], device=device)
frame = pd.DataFrame({"score": scores})
frame["twice"] = scores * 2
print(frame.shape, frame["score"].sum())
picture = Image.fromarray(torch.zeros(4, 4, dtype=torch.uint8, device=device))
print(picture.size, picture.mode)
points = torch.arange(12.0, device=device).reshape(6, 2)
labels = torch.tensor([0, 0, 1, 1, 2, 2], device=device)
model = KNeighborsClassifier(1).fit(points, labels)
print(len(set(model.predict(points))))
