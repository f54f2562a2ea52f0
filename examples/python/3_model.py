"""A network: a class with layers as attributes, its parameters, what it predicts.

After "Learn the Basics: Build the Neural Network" of PyTorch's tutorials.
"""

import tenon
from tenon import nn


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(28 * 28, 512),
            nn.ReLU(),
            nn.Linear(512, 512),
            nn.ReLU(),
            nn.Linear(512, 10),
        )

    def forward(self, x):
        return self.linear_relu_stack(self.flatten(x))


tenon.manual_seed(1)
model = NeuralNetwork()
print(model)

X = tenon.rand(1, 28, 28)
logits = model(X)
pred_probab = nn.Softmax(dim=1)(logits)
y_pred = pred_probab.argmax(1)
print(f"Predicted class: {y_pred}")
assert abs(pred_probab.sum().item() - 1) < 1e-5

for name, param in model.named_parameters():
    print(f"Layer: {name} | Size: {param.shape} | Values : {param[:2].detach()}")
assert model.count_parameters() == 784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10
print(model.summary())
