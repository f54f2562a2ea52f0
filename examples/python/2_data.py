"""Datasets and loaders: a dataset of one's own, transforms, batches.

After "Learn the Basics: Datasets & DataLoaders" and "Transforms" of PyTorch's tutorials.
"""

import math

import tenon
from tenon import data


class Shapes(data.Dataset):
    """Pictures of discs (0) and squares (1) of random sizes."""

    def __init__(self, count, size=16):
        self.count, self.size = count, size
        self.generator = tenon.Generator(7)
        self.radii = (tenon.rand(count, generator=self.generator) * 4 + 2).tolist()

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        line = tenon.arange(self.size, dtype=tenon.float32) - (self.size - 1) / 2
        x, y = line.reshape(1, -1), line.reshape(-1, 1)
        label, radius = i % 2, self.radii[i]
        inside = x * x + y * y < radius**2 if label == 0 else tenon.maximum(x.abs(), y.abs()) < radius * math.sqrt(math.pi) / 2
        return inside.to(tenon.uint8).reshape(1, self.size, self.size) * 255, label


training_data, test_data = data.random_split(Shapes(200), [150, 50], seed=1)
training_data = data.transformed(training_data, data.compose([data.to_float(), data.normalize(0.5, 0.5)]))

loader = data.DataLoader(training_data, batch_size=32, shuffle=True, num_workers=2)
batches = 0
for images, labels in loader:
    print(f"images {images.shape} of {images.dtype} from {images.min().item()} to {images.max().item()}, labels {labels.shape}")
    batches += 1
assert batches == len(loader) == 5
image, label = test_data[0]
print("a disc:" if label == 0 else "a square:")
print("\n".join("".join("#" if bit else "." for bit in row) for row in image[0].tolist()))
