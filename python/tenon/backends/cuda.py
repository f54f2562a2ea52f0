"""Switches of products on GPUs of NVIDIA's: they can be set, and change nothing. Lower types are those of autocast()."""


class _Products:
    """Switches of matrix products; they can be set, and change nothing."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = False
    allow_bf16_reduced_precision_reduction = False
    fp32_precision = "ieee"


matmul = _Products()


def is_built():
    """Whether the library can use a device "cuda" where there is one."""
    return True
