"""What differs from PyTorch and stays so: which samples, and why. docs/python.md has these for users."""

import dataclasses
import re

# Random numbers: shapes and dtypes are compared, values are not.
DRAWN = {
    "bernoulli", "cauchy", "empty", "empty_like", "empty_permuted", "empty_strided", "exponential", "geometric", "log_normal",
    "multinomial", "new_empty", "new_empty_strided", "nn.functional.alpha_dropout", "nn.functional.dropout",
    "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.feature_alpha_dropout", "nn.functional.rrelu", "normal",
    "rand_like", "randint", "randint_like", "randn", "randn_like", "uniform"}

# Which of equal elements is named is nobody's promise: Tenon's sorts are stable, PyTorch's need not be. With the place of
# `dim` among the arguments.
NAMES_EQUALS = {"sort": 1, "topk": 2, "kthvalue": 2, "median": 1, "nanmedian": 1, "mode": 1, "argsort": 1}

# Singular vectors and eigenvectors are known but for their signs, which differ between builds of LAPACK. What PyTorch's own tests
# make of them before they differentiate is compared: magnitudes, or products in which signs cancel.
WITHOUT_SIGNS = {"linalg.eigh", "linalg.svd"}
# Of lstsq's results (solution, residuals, rank, singular values) PyTorch gives those of the driver, and leaves the others empty.
# Tenon always takes gelsd, which finds all four.
PARTS_OF_DRIVERS = {"gels": (0, 1), "gelsy": (0, 2), "gelss": (0, 1, 2, 3), "gelsd": (0, 1, 2, 3)}


@dataclasses.dataclass(frozen=True)
class Known:
    """Samples of one entry that differ in one kind. given: what their arguments, as described(), must have in them."""

    op: str
    kind: str
    dtypes: str  # names, with a blank between them
    given: str  # a regular expression
    reason: str
    within: float = 1  # tolerances of the largest element that they may be off, from what is exact in float64

    def fits(self, op, finding):
        return ((self.op, self.kind) == (op, finding["kind"]) and finding["dtype"] in self.dtypes.split()
                and re.search(self.given, finding["given"]) is not None and finding["off"] <= self.within)


_TIES = "equal elements: the gradient goes to another of them, because Tenon's sort is stable"
_SUMS = "sums over the dims of a broadcast, whose terms both round to 16 bits: the sum is nearly 0 or its terms nearly cancel"
_STEPS = "a gradient of several steps, each of which rounds to 16 bits, as PyTorch's do"
_LARGE_SCORES = "scores of some hundreds have digits to 1e-5 in float32, and their exponentials as many"
_ILL = "a gradient through inverses, and through differences of squares of singular values, which magnify what float32 rounds"
_16 = "float16 bfloat16"
_ANY = float("inf")

KNOWN = (
    Known("sort", "wrong gradient", _16, r"\[8000\]", _TIES, _ANY),
    Known("topk", "wrong gradient", "bfloat16", r"\[5, 10, 5\], 3", _TIES, _ANY),
    Known("mode", "wrong gradient", _16, r"\[3000\]", _TIES, _ANY),
    Known("as_strided.partial_views", "wrong value", "float32 float64 float16 bfloat16 int64 int32 uint8 bool", "storage_offset=0",
          "what is shown is a part of a larger memory, and what Tenon is given is a copy of that part alone", _ANY),
    Known("as_strided.partial_views", "wrong gradient", "float32 float64 float16 bfloat16", "storage_offset=0", "the same", _ANY),
    Known("nn.functional.poisson_nll_loss", "wrong gradient", "bfloat16", r"\[5, 5, 5\].* full=True, eps=",
          "a target is 0: PyTorch's gradient of it is NaN, 0 times the slope of log(0); Tenon's is the slope of the loss", _ANY),
    Known("nn.functional.conv3d", "wrong gradient", "float32", r"\[(1, )?1, 10, 11, 12\].*padding='same', dilation=3",
          "rounding: sums of some hundreds of products of numbers to 9, in another order; 2.8e-5 off where PyTorch's are 1.1e-5"),
    Known("nn.functional.conv3d", "wrong gradient", "bfloat16", r"\[(1, )?1, 10, 11, 12\].*padding='same', dilation=3",
          "rounding: the gradients of what each place of the kernel's depth has seen round to 16 bits before they are added"),
    Known("nn.functional.conv_transpose3d", "wrong value", "float32", "", "rounding: sums of some hundreds of products, in another order"),
    Known("cov", "wrong gradient", "float32 float16 bfloat16", r"\[3, 2\].*correction=1, fweights=None, aweights=float32\[2\]",
          "0 as a difference of numbers of some hundreds, in float32: -6e-5", 10),
    Known("cross", "wrong gradient", "float16", r"\[1, 3\], float16\[5, 3\]", _SUMS),
    Known("std_mean", "wrong gradient", "float16", r"float16\[5\]\), dim=0, unbiased=True", _STEPS),
    Known("nn.functional.scaled_dot_product_attention", "wrong value", "float32", r"is_causal=False, dropout_p=0.0", _LARGE_SCORES, 2),
    Known("nn.functional.scaled_dot_product_attention", "wrong gradient", "float32", r"dropout_p=0.0|attn_mask", _LARGE_SCORES, 4),
    Known("nn.functional.scaled_dot_product_attention", "wrong gradient", _16, r"dropout_p=0.0|attn_mask",
          "what the gradient of softmax subtracts is made of the output as it is rounded to 16 bits, as flash attention does; "
          "PyTorch's CPU has it in float32", 8),
    Known("linalg.svd", "wrong gradient", "float32", r"5, 5\]\), full_matrices", _ILL, 3),
    Known("linalg.lstsq", "wrong gradient", "float32", r"4, 3\], float32\[", _ILL),
    Known("linalg.lstsq.grad_oriented", "wrong gradient", "float32", r"4, 3\], float32\[", _ILL),
    Known("matrix_exp", "wrong gradient", "float32", r"\[5, 5, 5\]", "powers of a matrix up to 1e4, to the digits of the largest"),
    Known("nn.functional.linear_cross_entropy", "wrong gradient", "float16", r"\[8, 8\]", _STEPS),
    Known("nn.functional.bilinear", "wrong gradient", _16, "", _STEPS),
    Known("nn.functional.embedding_bag", "wrong gradient", _16, "per_sample_weights=", _STEPS),
    Known("index_reduce.prod", "wrong gradient", "float16", r"\[5, 5, 5\]", _STEPS),
    Known("dist", "wrong gradient", "float16", r"float16\[5\], 2", _STEPS),
    Known("linalg.multi_dot", "wrong gradient", "float16", r"float16\[2, 2\], float16\[2, 2\], float16\[2, 2\]", _STEPS),
)
