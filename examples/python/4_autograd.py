"""Gradients: a polynomial that learns the sine, by hand, by autograd, and through a function with a gradient of its own.

After "Learning PyTorch with Examples: Autograd" and "Defining new autograd functions" of PyTorch's tutorials.
"""

import argparse
import math

import tenon

parser = argparse.ArgumentParser()
parser.add_argument("--quick", action="store_true")
steps = 500 if parser.parse_args().quick else 2000

x = tenon.linspace(-math.pi, math.pi, 2000)
y = tenon.sin(x)


class LegendrePolynomial3(tenon.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input**3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input**2 - 1)


def train(name, parameters, predict, learning_rate):
    for t in range(steps):
        loss = (predict(*parameters) - y).pow(2).sum()
        if t % 100 == 99:
            print(name, t, loss.item())
        loss.backward()
        with tenon.no_grad():
            for parameter in parameters:
                parameter -= learning_rate * parameter.grad
                parameter.grad = None
    return loss.item()


tenon.manual_seed(0)
a, b, c, d = (tenon.randn((), requires_grad=True) for _ in range(4))
first = train("autograd", [a, b, c, d], lambda a, b, c, d: a + b * x + c * x**2 + d * x**3, 1e-6)
print(f"Result: y = {a.item()} + {b.item()} x + {c.item()} x^2 + {d.item()} x^3")
assert first < 3000

P3 = LegendrePolynomial3.apply
a, b, c, d = (tenon.full((), value, requires_grad=True) for value in (0.0, -1.0, 0.0, 0.3))
second = train("own function", [a, b, c, d], lambda a, b, c, d: a + b * P3(c + d * x), 5e-6)
print(f"Result: y = {a.item()} + {b.item()} * P3({c.item()} + {d.item()} x)")
assert second < (200 if steps < 2000 else 20)
