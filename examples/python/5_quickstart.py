"""From data to a trained and saved model: MNIST where it lies beside the checkout, else made-up digits.

After "Learn the Basics: Quickstart" of PyTorch's tutorials; the step is captured.
"""

import argparse
import os
import tempfile

import tenon
from tenon import data, nn

parser = argparse.ArgumentParser()
parser.add_argument("--quick", action="store_true")
quick = parser.parse_args().quick
root = os.environ.get("TENON_SHARED_DATA", os.path.join(os.path.dirname(__file__), "..", "..", "..", "shared", "data"))
tenon.manual_seed(1)

if os.path.isdir(os.path.join(root, "mnist")):
    training_data, test_data = (data.mnist(os.path.join(root, "mnist"), train=train) for train in (True, False))
else:  # ten random patterns with noise
    patterns = tenon.rand(10, 1, 28, 28)

    def made(count):
        labels = tenon.randint(0, 10, (count,))
        images = (patterns[labels] * 160 + tenon.rand(count, 1, 28, 28) * 95).to(tenon.uint8)
        return data.TensorDataset(images, labels)

    training_data, test_data = made(10000), made(1000)

train_dataloader = data.DataLoader(training_data, batch_size=64, shuffle=True)
test_dataloader = data.DataLoader(test_data, batch_size=1000)
model = nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, 128), nn.ReLU(), nn.Linear(128, 10))
loss_fn = nn.CrossEntropyLoss()
optimizer = tenon.optim.SGD(model.parameters(), lr=0.1)


@tenon.compile
def step(images, labels):
    loss = loss_fn(model(images.float() / 255), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach()


def train():
    for batch, (images, labels) in enumerate(train_dataloader):
        loss = step(images, labels)
        if batch % 100 == 0:
            print(f"loss: {loss.item():>7f}  [{batch * 64:>5d}/{len(training_data):>5d}]")
        if quick and batch == 300:
            break


def test():
    correct = 0
    with tenon.no_grad():
        for images, labels in test_dataloader:
            correct += (model(images.float() / 255).argmax(1) == labels).sum().item()
    print(f"Accuracy: {100 * correct / len(test_data):>0.1f}%")
    return correct / len(test_data)


for epoch in range(1 if quick else 3):
    print(f"Epoch {epoch + 1}\n-------------------------------")
    train()
    accuracy = test()
assert accuracy > 0.85

with tempfile.TemporaryDirectory() as folder:
    tenon.save(model.state_dict(), os.path.join(folder, "model.pt"))
    model.load_state_dict(tenon.load(os.path.join(folder, "model.pt")))
assert test() == accuracy
