"""What differs from PyTorch and stays so, each with its reason. docs/python.md has these for users."""

# Random numbers: shapes and dtypes are compared, values are not.
DRAWN = {
    "bernoulli", "cauchy", "empty", "empty_like", "empty_permuted", "empty_strided", "exponential", "geometric", "log_normal",
    "multinomial", "new_empty", "new_empty_strided", "nn.functional.alpha_dropout", "nn.functional.dropout",
    "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.feature_alpha_dropout", "nn.functional.rrelu", "normal",
    "rand_like", "randint", "randint_like", "randn", "randn_like", "uniform", "nn.functional.scaled_dot_product_attention"}

# Which of equal elements is named is nobody's promise: Tenon's sorts are stable, PyTorch's need not be.
TIES = {"sort", "topk", "kthvalue", "median", "msort", "argsort"}

# (op, kind): why.
KNOWN = {
    ("sort", "wrong gradient"): "equal elements: the gradient goes to another of them, because Tenon's sort is stable",
    ("topk", "wrong gradient"): "equal elements: the gradient goes to another of them, because Tenon's sort is stable",
    ("nn.functional.poisson_nll_loss", "wrong gradient"):
        "PyTorch's is NaN at a target of 0, where it multiplies 0 with the slope of log(0); Tenon's is the slope of the loss",
}
