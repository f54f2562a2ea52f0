"""Tensors: made of lists, arrays and other tensors; indexed, joined, multiplied; shared with numpy.

After "Learn the Basics: Tensors" of PyTorch's tutorials.
"""

import numpy as np

import tenon

data = [[1, 2], [3, 4]]
x_data = tenon.tensor(data)
x_np = tenon.from_numpy(np.array(data))
x_ones = tenon.ones_like(x_data)
x_rand = tenon.rand_like(x_data.float())
print(f"Ones Tensor:\n {x_ones}\n\nRandom Tensor:\n {x_rand}\n")

shape = (2, 3)
print(f"Zeros Tensor:\n {tenon.zeros(shape)}\n")

tensor = tenon.rand(3, 4)
print(f"Shape: {tensor.shape}, dtype: {tensor.dtype}, device: {tensor.device}\n")

tensor = tenon.ones(4, 4)
print(f"First row: {tensor[0]}\nFirst column: {tensor[:, 0]}\nLast column: {tensor[..., -1]}")
tensor[:, 1] = 0
print(tensor)
print(tenon.cat([tensor, tensor, tensor], dim=1).shape)

y1 = tensor @ tensor.T
y2 = tensor.matmul(tensor.T)
assert tenon.equal(y1, y2)
z1 = tensor * tensor
assert tenon.equal(z1, tensor.mul(tensor))

agg = tensor.sum()
print(agg.item(), type(agg.item()))
assert agg.item() == 12

tensor.add_(5)
print(tensor)

t = tenon.ones(5)
n = t.numpy()  # the same memory
t.add_(1)
print(f"t: {t}\nn: {n}")
assert n.tolist() == [2, 2, 2, 2, 2]
n = np.ones(5)
t = tenon.from_numpy(n)
np.add(n, 1, out=n)
print(f"t: {t}\nn: {n}")
assert t.tolist() == [2, 2, 2, 2, 2]
