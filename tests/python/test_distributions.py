"""tenon.distributions and tenon.fft: PyTorch's forms of arguments, values against closed forms and numpy's, refusals."""

import json
import os
import unittest

import numpy as np

import tenon

D = tenon.distributions
GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden")


class Distributions(unittest.TestCase):
    def test_values_are_pytorchs(self):
        with open(os.path.join(GOLDEN, "distributions.json"), encoding="utf-8") as file:
            cases = json.load(file)["cases"]
        for case in cases:
            made = [getattr(D, case["kind"])(**{name: tenon.tensor(one, dtype=tenon.float64) for name, one in case[which].items()})
                    for which in ("given", "others")]
            value = tenon.tensor(case["value"])
            for found, name in ((made[0].log_prob(value), "log_prob"), (made[0].entropy(), "entropy"), (D.kl_divergence(*made), "kl")):
                np.testing.assert_allclose(found.tolist(), case[name], rtol=1e-5, atol=1e-9, err_msg=case["kind"])

    def test_arguments_are_numbers_or_tensors(self):
        p = D.Normal(0.0, scale=tenon.ones(2, 3))
        self.assertEqual((p.batch_shape, p.event_shape, p.loc.shape), ((2, 3), (), (2, 3)))
        self.assertEqual(p.sample((4,)).shape, (4, 2, 3))
        self.assertEqual(p.sample(tenon.Size([4, 5])).shape, (4, 5, 2, 3))
        self.assertEqual(repr(p), "Normal(batch_shape=(2, 3), event_shape=())")
        self.assertIsInstance(p, D.Distribution)
        self.assertEqual(D.Dirichlet(tenon.ones(2, 3)).event_shape, (3,))
        self.assertEqual(D.Bernoulli(logits=tenon.zeros(2)).probs.tolist(), [0.5, 0.5])
        self.assertEqual(D.Categorical(probs=tenon.tensor([1., 3.])).probs.tolist(), [0.25, 0.75])

    def test_draws_follow_the_seed_and_have_gradients(self):
        for p in (D.Gamma(2.0, 1.0), D.Beta(0.5, 2.0), D.Categorical(logits=tenon.zeros(5)), D.Uniform(0, 3)):
            tenon.manual_seed(3)
            one = p.sample((10,))
            tenon.manual_seed(3)
            self.assertTrue(tenon.equal(one, p.sample((10,))))
            self.assertTrue(tenon.equal(p.sample((10,), tenon.Generator(1)), p.sample((10,), generator=tenon.Generator(1))))
        a = tenon.tensor([0.5, 3.0], requires_grad=True)
        D.Dirichlet(a).rsample((3,))[:, 0].sum().backward()
        self.assertTrue(a.grad[0] > 0 and a.grad[1] < 0)
        self.assertFalse(D.Gamma(a, 1.0).sample().requires_grad)

    def test_a_policy_learns(self):
        tenon.manual_seed(0)
        logits = tenon.zeros(4, requires_grad=True)
        for _ in range(200):
            policy = D.Categorical(logits=logits)
            action = policy.sample((32,))
            reward = (action == 2).float()
            loss = -(policy.log_prob(action) * (reward - reward.mean())).mean()
            slope, = tenon.autograd.grad(loss, logits)
            with tenon.no_grad():
                logits -= 0.5 * slope
        self.assertGreater(D.Categorical(logits=logits).probs[2].item(), 0.9)

    def test_refusals(self):
        for function, kind, text in (
                (lambda: D.Normal(0, -1), tenon.Error, r"^\[Normal\] scale must be positive, got -1$"),
                (lambda: D.Bernoulli(), ValueError, r"Bernoulli\(\) takes probs or logits, one of them"),
                (lambda: D.Bernoulli(0.5).rsample(), tenon.Error, r"rsample\(\) has no gradient"),
                (lambda: D.kl_divergence(D.Normal(0, 1), D.Gamma(1, 1)), tenon.Error, "no closed form of Normal and Gamma"),
                (lambda: D.Normal("a", 1), TypeError, "")):
            with self.assertRaisesRegex(kind, text) as caught:
                function()
            self.assertNotIn("\n", str(caught.exception))


class Fourier(unittest.TestCase):
    def test_values_are_numpys(self):
        x = np.random.default_rng(0).standard_normal((3, 4, 6))
        z = x[..., :3] + 1j * x[..., 3:]
        pairs = tenon.tensor(np.stack([z.real, z.imag], -1))

        def check(found, expected):
            expected = np.stack([expected.real, expected.imag], -1) if np.iscomplexobj(expected) else expected
            np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10, atol=1e-12)

        for norm in (None, "ortho", "forward"):
            for name, given, array in (("fft", pairs, z), ("ifft", pairs, z), ("rfft", tenon.tensor(x), x), ("irfft", pairs, z)):
                check(getattr(tenon.fft, name)(given, n=5, dim=1, norm=norm), getattr(np.fft, name)(array, 5, 1, norm))
                check(getattr(tenon.fft, name + "2")(given, norm=norm), getattr(np.fft, name + "2")(array, norm=norm))
                check(getattr(tenon.fft, name + "n")(given, (4, 5), (2, 0), norm), getattr(np.fft, name + "n")(array, (4, 5), (2, 0), norm))
        np.testing.assert_allclose(tenon.fft.fftfreq(5, 0.1).numpy(), np.fft.fftfreq(5, 0.1), rtol=1e-6)
        np.testing.assert_allclose(tenon.fft.rfftfreq(5, d=0.1, dtype=tenon.float64).numpy(), np.fft.rfftfreq(5, 0.1))

    def test_gradients(self):
        x = tenon.randn(3, 7, dtype=tenon.float64, requires_grad=True)
        self.assertTrue(tenon.autograd.gradcheck(lambda y: tenon.fft.irfft(tenon.fft.rfft(y) ** 2, n=6), x))

    def test_refusals(self):
        with self.assertRaisesRegex(tenon.Error, r"^\[fft.fft\] takes complex numbers as pairs, of shape \(..., 2\), got \(4,\)"):
            tenon.fft.fft(tenon.ones(4))
        with self.assertRaisesRegex(tenon.Error, "is computed by the host"):
            step = tenon.compile(tenon.fft.rfft)
            for _ in range(3):
                step(tenon.ones(4))


if __name__ == "__main__":
    unittest.main()
