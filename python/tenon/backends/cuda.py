"""Switches of products on GPUs of NVIDIA's. Lower types than tf32 are those of autocast()."""

from .. import _tenon


class _Products:
    """Switches of matrix products; sums of 16-bit products are those of float32, whatever is said here."""

    allow_fp16_reduced_precision_reduction = False
    allow_bf16_reduced_precision_reduction = False

    @property
    def allow_tf32(self) -> bool:
        """Whether products of float32, and convolutions, may take their operands as tf32."""
        return _tenon._tf32_allowed()

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        _tenon._set_tf32_allowed(bool(allowed))

    @property
    def fp32_precision(self) -> str:
        """"tf32", or "ieee" for float32 itself."""
        return "tf32" if _tenon._tf32_allowed() else "ieee"

    @fp32_precision.setter
    def fp32_precision(self, precision: str) -> None:
        if precision not in ("tf32", "ieee", "none"):
            raise ValueError(f"there is no precision {precision!r}; there are 'tf32' and 'ieee'")
        _tenon._set_tf32_allowed(precision == "tf32")


matmul = _Products()


def is_built():
    """Whether the library can use a device "cuda" where there is one."""
    return True
