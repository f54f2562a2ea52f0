"""What PyTorch's own operator samples found (scripts/against_torch), each with values that a person can check."""

import ctypes
import gc
import math
import unittest

import tenon
from tenon import nn

F = nn.functional


class Crashes(unittest.TestCase):
    def test_unique_along_a_dim_that_counts_from_the_end(self):
        x = tenon.tensor([[1, 2, 1], [3, 4, 3]])
        self.assertEqual(tenon.unique(x, dim=-1).tolist(), [[1, 2], [3, 4]])
        self.assertEqual(tenon.unique(x, dim=-2).tolist(), x.tolist())

    def test_pooling_refuses_windows_beyond_any_tensor(self):
        x = tenon.ones(2, 10, 4)
        for kernel, padding, dilation in ((2**63 - 1, 0, 1), (8608480567731124087, 1250999896764, 1250999896764), (2**31, 0, 2**31)):
            for ceil_mode in (False, True):
                with self.assertRaises(tenon.Error):
                    F.max_pool1d(x, kernel, kernel, padding, dilation, ceil_mode)

    def test_pooling_refuses_images_without_elements(self):
        for shape in ((0, 10), (1, 10, 0), (1, 0, 10)):
            with self.assertRaises(tenon.Error):
                F.max_pool1d(tenon.ones(shape), 1)
        self.assertEqual(F.max_pool1d(tenon.ones(0, 2, 4), 2).shape, (0, 2, 2))


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


class Capsules(unittest.TestCase):
    """DLPack capsules that no library makes."""

    def capsule(self, shape=(2, 2), strides=None, ndim=None, data=True, offset=0, lanes=1, has_shape=True):
        self.memory = (ctypes.c_float * 16)(*range(16))
        self.sizes = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self.steps = (ctypes.c_int64 * max(len(shape), 1))(*strides) if strides else None
        self.made = _Managed(_Tensor(
            ctypes.addressof(self.memory) if data else None, 1, 0, len(shape) if ndim is None else ndim, 2, 32, lanes,
            ctypes.cast(self.sizes, ctypes.POINTER(ctypes.c_int64)) if has_shape else None,
            ctypes.cast(self.steps, ctypes.POINTER(ctypes.c_int64)) if strides else None, offset), None, None)
        return self.capsule_of(b"dltensor")

    def capsule_of(self, name):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.name = name  # which a capsule does not copy
        return new(ctypes.addressof(self.made), name, None)

    def versioned(self, major=1, flags=0, **kwargs):
        """One of DLPack 1; `freed` counts how often its deleter was called."""
        self.capsule(**kwargs)
        self.freed = []
        self.deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.freed.append)
        self.made = _Versioned(major, 0, None, ctypes.cast(self.deleter, ctypes.c_void_p), flags, self.made.tensor)
        return self.capsule_of(b"dltensor_versioned")

    def test_a_plain_one_is_taken(self):
        self.assertEqual(tenon.from_dlpack(self.capsule()).tolist(), [[0, 1], [2, 3]])
        self.assertEqual(tenon.from_dlpack(self.capsule(strides=(1, 2))).tolist(), [[0, 2], [1, 3]])
        self.assertEqual(tenon.from_dlpack(self.capsule(strides=(8, 1))).tolist(), [[0, 1], [8, 9]])
        self.assertEqual(tenon.from_dlpack(self.capsule(shape=(0, 3), data=False)).shape, (0, 3))
        self.assertEqual(tenon.from_dlpack(self.capsule(shape=(), has_shape=False, ndim=0)).item(), 0)

    def test_one_of_dlpack_1_is_taken(self):
        capsule = self.versioned(strides=(8, 1))
        x = tenon.from_dlpack(capsule)
        self.assertEqual((x.tolist(), self.freed), ([[0, 1], [8, 9]], []))
        with self.assertRaisesRegex(ValueError, "used already"):
            tenon.from_dlpack(capsule)
        x.add_(1)
        self.assertEqual((self.memory[0], self.memory[8]), (1, 9))
        del x
        gc.collect()
        self.assertEqual(len(self.freed), 1)
        for wrong, message in ((dict(major=2), r"DLPack 2\.0"), (dict(major=0), r"DLPack 0\.0"), (dict(flags=1), "read-only"), (dict(ndim=-1), "dims")):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, message):
                tenon.from_dlpack(self.versioned(**wrong))
            self.assertEqual(len(self.freed), 1)
        with self.assertRaisesRegex(ValueError, "named 'other' is none of DLPack's"):
            self.versioned()
            tenon.from_dlpack(self.capsule_of(b"other"))

    def test_malformed_ones_are_refused_in_one_line(self):
        most = 2**63 - 1
        for wrong in (dict(strides=(most, 1)), dict(strides=(1, most)), dict(strides=(2**52, 1)), dict(ndim=-1), dict(ndim=2**31 - 1),
                      dict(has_shape=False), dict(data=False), dict(shape=(-1, 2)), dict(shape=(most, most)), dict(shape=(most,)),
                      dict(offset=2**63), dict(lanes=2), dict(strides=(-1, 1))):
            with self.subTest(wrong), self.assertRaises((ValueError, TypeError)) as caught:
                tenon.from_dlpack(self.capsule(**wrong))
            self.assertNotIn("\n", str(caught.exception))


class Values(unittest.TestCase):
    def assertClose(self, found, expected):
        self.assertTrue(tenon.allclose(found.double(), tenon.tensor(expected, dtype=tenon.float64), rtol=1e-5, atol=1e-6), found)

    def test_logit_with_an_eps_above_a_half(self):
        self.assertClose(tenon.logit(tenon.tensor([0.1, 0.5, 0.7]), 0.6), [math.log(1.5), math.log(1.5), math.log(2 / 3)])
        x = tenon.tensor([0.25, -1.0, 2.0], requires_grad=True)
        tenon.logit(x).sum().backward()
        self.assertAlmostEqual(x.grad[0].item(), 16 / 3, places=5)
        self.assertTrue(x.grad[1:].isnan().all())

    def test_ranges_of_integers_cut_real_numbers(self):
        self.assertEqual(tenon.arange(-0.9, 2.1, 1.2, dtype=tenon.int64).tolist(), [0, 1, 2])
        self.assertEqual(tenon.arange(2.1, 6.9, 2.0, dtype=tenon.int64).tolist(), [2, 4, 6])
        self.assertEqual(tenon.linspace(-0.9, 5.9, 6, dtype=tenon.int64).tolist(), [0, 1, 2, 3, 4, 5])
        self.assertEqual(tenon.linspace(tenon.tensor(1.0), tenon.tensor(3.0), 3).tolist(), [1, 2, 3])
        self.assertEqual(tenon.arange(end=3).tolist(), [0, 1, 2])
        self.assertRaises(TypeError, tenon.arange)

    def test_logspace_has_the_dtype_that_it_is_asked_for(self):
        made = tenon.logspace(0, 3, 4, dtype=tenon.int64)
        self.assertEqual((made.dtype, made.tolist()), (tenon.int64, [1, 10, 100, 1000]))
        self.assertEqual(tenon.logspace(0, 2, 3, base=2.9, dtype=tenon.int64).tolist(), [1, 2, 8])
        self.assertEqual(tenon.logspace(0, 2, 3, 2, dtype=tenon.float64).tolist(), [1, 2, 4])

    def test_histc_counts_16_bits_as_they_are_rounded(self):
        x = tenon.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 5.0], dtype=tenon.bfloat16)
        found = tenon.histc(x, 4, 0, 2)
        self.assertEqual((found.dtype, found.tolist()), (tenon.bfloat16, [1, 1, 1, 2]))
        self.assertEqual(tenon.histc(tenon.tensor([3.0, 3.0]), 2).tolist(), [0, 2])
        self.assertRaises(tenon.Error, tenon.histc, tenon.ones(2), 0)

    def test_logcumsumexp_of_16_bits_is_rounded_once(self):
        x = tenon.zeros(64, dtype=tenon.bfloat16, requires_grad=True)
        y = tenon.logcumsumexp(x, 0)
        self.assertAlmostEqual(y[-1].item(), math.log(64), delta=0.02)
        y[-1].backward()
        self.assertAlmostEqual(x.grad.float().sum().item(), 1, delta=0.02)

    def test_shapes_of_small_things(self):
        self.assertEqual(tenon.tensor([1, 4]).diff(n=0, prepend=tenon.tensor([9])).tolist(), [1, 4])
        self.assertEqual(F.prelu(tenon.tensor(-2.0), tenon.tensor([0.5])).shape, ())
        spread, mean = tenon.var_mean(tenon.tensor([[1.0, 3.0], [5.0, 7.0]]), True)
        self.assertEqual((spread.shape, mean.item()), ((), 4))
        self.assertAlmostEqual(spread.item(), 20 / 3, places=5)
        deviation, mean = tenon.std_mean(tenon.tensor([1.0, 3.0]), False)
        self.assertEqual((deviation.item(), mean.item()), (1, 2))
        self.assertEqual([one.tolist() for one in tenon.tensor(5).nonzero(as_tuple=True)], [[0]])
        self.assertEqual(tenon.var(tenon.tensor([1.0, 3.0]), correction=None).item(), 2)

    def test_dtypes_of_integers(self):
        a = tenon.ones(1, 2, 2, dtype=tenon.int64)
        self.assertEqual(tenon.baddbmm(a, a, a, beta=2.0).dtype, tenon.int64)
        self.assertEqual(F.hardtanh(tenon.tensor([-3, 0, 3])).tolist(), [-1, 0, 1])
        self.assertEqual(tenon.cov(tenon.ones(2, 3).half(), aweights=tenon.ones(3)).dtype, tenon.float32)

    def test_no_combinations_have_a_gradient_of_zeros(self):
        x = tenon.ones(2, requires_grad=True)
        found = tenon.combinations(x, 3)
        self.assertEqual(found.shape, (0, 3))
        found.sum().backward()
        self.assertEqual(x.grad.tolist(), [0, 0])


class SixteenBits(unittest.TestCase):
    """What is made of several steps is rounded once."""

    def assertRoundedOnce(self, function, *values, dtype=tenon.bfloat16):
        low = [tenon.tensor(value, dtype=dtype, requires_grad=True) for value in values]
        wide = [x.detach().float().requires_grad_() for x in low]
        found, exact = function(*low), function(*wide)
        self.assertEqual(found.tolist(), exact.to(dtype).tolist())
        found.sum().backward()
        exact.sum().backward()
        for x, y in zip(low, wide):
            self.assertEqual(x.grad.tolist(), y.grad.to(dtype).tolist())

    def test_sums_with_products(self):
        x, a, b = [[1.3, -0.7]], [[0.37, 1.1]], [[-2.9, 0.6]]
        for dtype in (tenon.bfloat16, tenon.float16):
            self.assertRoundedOnce(lambda x, a, b: tenon.addcmul(x, a, b, value=0.3), x, a, b, dtype=dtype)
            self.assertRoundedOnce(lambda x, a, b: tenon.addcdiv(x, a, b, value=0.3), x, a, b, dtype=dtype)
            self.assertRoundedOnce(lambda x, a, b: tenon.lerp(x, a, 0.4) + 0 * b, x, a, b, dtype=dtype)
            self.assertRoundedOnce(lambda x, a, b: tenon.addmm(x[:, :1], a, b.t(), beta=0.2), x, a, b, dtype=dtype)
            self.assertRoundedOnce(lambda x, a, b: tenon.addmv(x[0, :1], a, b[0], beta=0.2), x, a, b, dtype=dtype)
            self.assertRoundedOnce(lambda x, a, b: tenon.addr(x, a[0, :1], b[0], beta=0.2, alpha=0.6), x, a, b, dtype=dtype)

    def test_gradients_of_scaled_products_are_scaled_after_the_product(self):
        matrix = tenon.tensor([[100.0], [100.0], [-100.0]], dtype=tenon.bfloat16).t()  # 0.6 * 100 has no 16 bits
        seed = tenon.tensor([[1.0, 2.0, 3.0]], dtype=tenon.bfloat16)
        a = tenon.ones(1, 1, dtype=tenon.bfloat16, requires_grad=True)
        zeros = tenon.zeros(1, 1, 3, dtype=tenon.bfloat16)
        tenon.baddbmm(zeros, a[None], matrix[None], alpha=0.6).backward(seed[None])
        self.assertEqual(a.grad.tolist(), [[0]])
        vector = tenon.ones(1, dtype=tenon.bfloat16, requires_grad=True)
        tenon.addmv(zeros[0, 0], matrix.t(), vector, alpha=0.6).backward(seed[0])
        self.assertEqual(vector.grad.tolist(), [0])

    def test_gradients_of_what_counts_for_a_batch_are_rounded_after_their_sum(self):
        batch = tenon.tensor([[[256.0, 1.0]], [[-256.0, 0.0]]], dtype=tenon.bfloat16)  # 257 has no 16 bits
        for shape in ((1,), (1, 1), (1, 1, 1)):
            a = tenon.ones(shape, dtype=tenon.bfloat16, requires_grad=True)
            (a @ batch).sum().backward()
            self.assertEqual(a.grad.tolist(), tenon.ones(shape).tolist())
        last = tenon.ones(1, 1, 1, dtype=tenon.bfloat16, requires_grad=True)
        (batch.transpose(1, 2) @ last).sum().backward()
        self.assertEqual(last.grad.tolist(), [[[1]]])

    def test_slopes(self):
        for dtype in (tenon.bfloat16, tenon.float16):
            x = tenon.tensor([1.7, -2.1, 0.03], dtype=dtype, requires_grad=True)
            y = x.tanh()
            y.sum().backward()
            self.assertEqual(x.grad.tolist(), (1 - y.detach().float() ** 2).to(dtype).tolist())
            self.assertRoundedOnce(lambda a, b: a / b, [1.3, -0.7], [0.37, 1.1], dtype=dtype)


class Sums(unittest.TestCase):
    def test_of_integers_in_an_einsum_are_int64(self):
        x = tenon.full((3,), 200, dtype=tenon.uint8)
        found = tenon.einsum("i->", x)
        self.assertEqual((found.dtype, found.item()), (tenon.int64, 600))
        self.assertEqual(tenon.einsum("i,i->i", x, x).dtype, tenon.uint8)
        self.assertEqual(tenon.einsum("ik,j->ij", x.reshape(1, 3), x).dtype, tenon.int64)


class SmallTypes(unittest.TestCase):
    def test_areas_of_uint8_wrap_as_pytorchs(self):
        y = tenon.tensor([200, 100, 7], dtype=tenon.uint8)
        self.assertEqual(tenon.trapezoid(y, tenon.tensor([1, 5, 3], dtype=tenon.uint8)).item(), 109)  # 44 * 4 + 107 * 254
        self.assertEqual(tenon.trapezoid(y, dx=2).item(), 407)
        self.assertEqual(tenon.trapezoid(tenon.tensor([1., 5.]), tenon.tensor([0., 2.])).item(), 6)

    def test_no_gradient_goes_through_a_normal_draw(self):
        mean = tenon.zeros(3, requires_grad=True)
        self.assertFalse(tenon.normal(mean, tenon.ones(3)).requires_grad)


class Refused(unittest.TestCase):
    def test_numbers_where_pytorch_wants_tensors(self):
        x = tenon.tensor([1, 2, 3])
        for name in ("minimum", "maximum", "logical_and", "logical_or", "logical_xor", "logaddexp", "logaddexp2", "hypot", "fmin", "fmax", "atan2"):
            with self.subTest(name):
                self.assertRaises(TypeError, getattr(tenon, name), x, 2)
                self.assertRaises(TypeError, getattr(tenon, name), 2, x)
        for name in ("eq", "ne", "lt", "le", "gt", "ge", "fmod"):
            with self.subTest(name):
                self.assertRaises(TypeError, getattr(tenon, name), 2, x)
        self.assertEqual((2 < x).tolist(), [False, False, True])

    def test_arguments_that_mean_nothing(self):
        self.assertRaises(tenon.Error, F.group_norm, tenon.ones(1, 0, 2), 1)
        self.assertRaises(tenon.Error, F.group_norm, tenon.ones(1, 2, 0), 1)
        self.assertRaises(tenon.Error, tenon.cov, tenon.ones(3), fweights=tenon.tensor([-1, 1, 1]))
        self.assertRaises(tenon.Error, tenon.cov, tenon.ones(3), aweights=tenon.tensor([-1.0, 1, 1]).wait())
        self.assertRaises(TypeError, tenon.narrow, tenon.ones(4), 0, tenon.tensor([1]), 2)
        self.assertRaises(tenon.Error, F.hardtanh, tenon.ones(2), 1.0, -1.0)
        self.assertRaises(tenon.Error, tenon.ones(2).exponential_, 0)


class Arguments(unittest.TestCase):
    def test_arguments_of_pytorch(self):
        x = tenon.tensor([[3.0, 1.0, 2.0]])
        self.assertEqual(tenon.max(x, other=2 * tenon.ones(1, 3)).tolist(), [[3, 2, 2]])
        self.assertEqual(x.cumprod(1, dtype=tenon.float64).dtype, tenon.float64)
        self.assertEqual(tenon.split(tensor=tenon.arange(4), split_size_or_sections=2)[1].tolist(), [2, 3])
        self.assertEqual(x.take_along_dim(tenon.tensor([2, 0])).tolist(), [2, 3])
        found = tenon.searchsorted(x, tenon.tensor([[2.5]]), sorter=x.argsort(1), out_int32=True)
        self.assertEqual((found.dtype, found.tolist()), (tenon.int32, [[2]]))
        self.assertEqual(tenon.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist").tolist(), [[0]])
        self.assertRaises(ValueError, tenon.cdist, x, x, compute_mode="fast")
        added = tenon.ones(2).scatter(0, tenon.tensor([0, 0]), tenon.tensor([2.0, 3.0]), reduce="add")
        self.assertEqual(added.tolist(), [6, 1])
        self.assertEqual(tenon.ones(2).scatter_(0, tenon.tensor([1]), 4, reduce="multiply").tolist(), [1, 4])
        self.assertEqual(F.max_pool1d(tenon.arange(4.0).reshape(1, 4), (2,), (2,), (0,), (1,)).tolist(), [[1, 3]])

    def test_names_of_pytorch(self):
        x = tenon.tensor([-2.0, -0.0, 0.0, 3.0])
        self.assertEqual(x.signbit().tolist(), [True, True, False, False])
        self.assertEqual(tenon.copysign(tenon.ones(2), tenon.tensor([-0.0, 2.0])).tolist(), [-1, 1])
        self.assertEqual(tenon.heaviside(x, tenon.full((4,), 0.5)).tolist(), [0, 0.5, 0.5, 1])
        self.assertEqual(tenon.rsub(x, 1).tolist(), [3, 1, 1, -2])
        self.assertEqual(tenon.float_power(tenon.tensor([2, 3]), 2).dtype, tenon.float64)
        self.assertEqual(tenon.bitwise_left_shift(tenon.tensor([1, 2]), 2).tolist(), [4, 8])
        self.assertEqual(tenon.column_stack((tenon.tensor([1, 2]), tenon.tensor([3, 4]))).tolist(), [[1, 3], [2, 4]])
        self.assertEqual(tenon.fliplr(tenon.tensor([[1, 2]])).tolist(), [[2, 1]])
        self.assertEqual(tenon.nanmedian(tenon.tensor([math.nan, 1.0, 5.0, 3.0])).item(), 3)
        self.assertEqual(tenon.promote_types(tenon.int64, tenon.float16), tenon.float16)
        self.assertEqual([one.tolist() for one in tenon.unravel_index(tenon.tensor([5]), (2, 3))], [[1], [2]])
        y = tenon.zeros(2, 2, requires_grad=True)
        tenon.select_scatter(y, tenon.ones(2), 0, 1).sum().backward()
        self.assertEqual(y.grad.tolist(), [[1, 1], [0, 0]])


if __name__ == "__main__":
    unittest.main()
