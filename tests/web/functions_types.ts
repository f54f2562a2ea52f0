// What TypeScript takes of the functions that the tables declare, and what it refuses: compiled by `tsc --strict`, not run.

import { Tensor, add, cat, einsum, equal, linalg, max, nn, ones, var as variance, zeros } from "../../web/types/functions";

declare const x: Tensor;

// Operands, defaults in their order, methods and forms in place.
const sum: Tensor = add(x, 1).add(2, 0.5).mul_(x);
const scaled: Tensor = x.addmm(x, x, 0.5, 2);
const small: Tensor = variance(x, null, 1, true).clamp(null, 3);
const rounded: Tensor = x.div(2, "floor");

// Lists of sizes, one by one where nothing follows.
const shapes: Tensor[] = [zeros([2, 3], "bf16", "cpu", true), ones(4), x.permute(1, 0), x.permute([1, 0]), x.reshape(-1, 2)];
const joined: Tensor = cat([x, x], 1);
const products: Tensor = einsum("ij,jk->ik", x, x);

// Several results: with names, or by their place.
const [values, indices] = max(x, 0);
const all: Tensor = max(x);
const { U, S } = linalg.svd(x, false);
const same: boolean = equal(values, indices);
const parts: Tensor[] = x.split(2, 1);

// Layers: sizes of one axis or all, null for what is left out, words for paddings and reductions.
const image: Tensor = nn.functional.conv2d(x, x, null, [2, 1], "same");
const loss: Tensor = nn.functional.cross_entropy(x, x, null, -100, "sum", 0.1);
const pooled: Tensor = nn.functional.max_pool2d(x, 2);
const [largest, places] = nn.functional.max_pool2d(x, 2, undefined, 0, 1, false, true);
nn.init.kaiming_uniform_(x, 0, "fan_out");
export { S, U, all, image, joined, largest, loss, parts, places, pooled, products, rounded, same, scaled, shapes, small, sum };

// @ts-expect-error: an argument is missing
x.add();
// @ts-expect-error: no tensor
add(x, "1");
// @ts-expect-error: there is no such dtype
zeros([2], "f31");
// @ts-expect-error: there is no form in place of a comparison of two tensors' all elements
x.equal_(x);
// @ts-expect-error: a reduction is one of four words
nn.functional.mse_loss(x, x, "average");
// @ts-expect-error: three sizes for two axes
nn.functional.conv2d(x, x, null, [1, 2, 3]);
// @ts-expect-error: the method of a method alone
linalg.slice(x);
// @ts-expect-error: one tensor, not two
const [a, b] = nn.functional.max_pool2d(x, 2);
