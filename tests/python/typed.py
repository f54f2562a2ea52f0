"""A program that mypy accepts, but for the lines that say what it must not."""

import tenon
from tenon import nn
from tenon.nn import functional as F
from tenon.optim.lr_scheduler import StepLR


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 1)

    def forward(self, x: tenon.Tensor) -> tenon.Tensor:
        return F.relu(x).sum(1, keepdim=True) * 2 + x[:, :1]


def main() -> None:
    net = Net()
    optimizer = tenon.optim.AdamW(net.parameters(), lr=1e-3)
    print(net.layer.weight.shape, nn.MSELoss()(tenon.ones(2), tenon.zeros(2)), nn.Parameter(tenon.ones(2)).grad)
    x = tenon.rand(4, 2, dtype=tenon.float32, requires_grad=True)
    loss: tenon.Tensor = net.forward(x).mean()
    loss.backward()
    optimizer.step()
    shape: tuple[int, ...] = x.shape
    values, indices = x.sort(dim=1)
    print(shape, values.shape, indices.dtype, float(loss))
    with tenon.no_grad():
        x.add_(1)
    x **= 2
    schedule = StepLR(optimizer, step_size=1)
    print(tenon.autograd.Function.apply(x), schedule.get_last_lr(), tenon.finfo(tenon.float16).max, tenon.cuda.is_available())
    x.sum(keepdim="yes")  # error: keepdim
    tenon.exp(3)  # error: a number
    nn.Linear("2", 1)  # error: a text
    x.summ()  # error: no such method


main()
