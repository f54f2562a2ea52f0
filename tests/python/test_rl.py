"""tenon.rl: agents in environments of Python's, in Gymnasium's form, and in those of the library."""

import unittest

import tenon


class Walk(tenon.rl.Environment):
    """To the right end of a corridor."""

    observation_space, action_space = tenon.rl.Box(-5, 5, (1,)), tenon.rl.Discrete(2)
    made = 0

    def __init__(self):
        Walk.made += 1

    def reset(self, seed=None):
        self.place, self.steps = 0, 0
        return [self.place], {}

    def step(self, action):
        assert isinstance(action, int)
        self.place += 1 if action == 1 else -1
        self.steps += 1
        return [self.place], -1.0, self.place == 5, self.steps == 50, {}


class Level(tenon.rl.Environment):
    """The action should be twice what is observed."""

    observation_space, action_space = tenon.rl.Box(-1, 1, (1,)), tenon.rl.Box(-2, 2, (1, 1))

    def reset(self, seed=None):
        self.number = tenon.rand((1,), generator=tenon.Generator().manual_seed(seed)).item() * 2 - 1
        return tenon.tensor([self.number]), {}

    def step(self, action):
        wrong = float(action.reshape(-1)[0]) - 2 * self.number
        return tenon.tensor([self.number]), -wrong * wrong, True, False, {}


class TestRl(unittest.TestCase):
    def test_ppo_learns_in_an_environment_of_python(self):
        Walk.made = 0
        agent = tenon.rl.PPO(Walk, environments=4, lr=1e-2, steps=32)
        self.assertEqual(Walk.made, 4)
        self.assertIs(agent.learn(4096), agent)
        self.assertEqual(agent.steps, 4096)
        self.assertEqual([agent.predict([place]) for place in range(5)], [1] * 5)
        self.assertEqual(agent.predict([[0], [1]]), [1, 1])
        self.assertEqual(agent.predict(tenon.tensor([0.0])), 1)

    def test_actions_may_be_numbers(self):
        agent = tenon.rl.PPO(Level, lr=2e-3, steps=64, discount=0.0)
        agent.learn(40_000)
        for number in (-0.5, 0.0, 0.5):
            self.assertAlmostEqual(float(agent.predict([number])[0]), 2 * number, delta=0.25)

    def test_dqn_learns_and_is_saved(self):
        settings = dict(hidden=[16], batch=32, replay=2000, learn_from=100, epsilon=(1.0, 0.1, 1000), seed=3)
        agent = tenon.rl.DQN(tenon.rl.CartPole, **settings)
        seen = []
        agent.learn(2000, callback=seen.append)
        self.assertEqual(seen[-1].steps, 2000)
        self.assertGreater(seen[-1].episodes, 10)
        self.assertGreater(seen[-1].mean_return, 8)
        other = tenon.rl.DQN(tenon.rl.CartPole, **settings)
        other.load_state_dict({name: tensor.clone() for name, tensor in agent.state_dict().items()})
        for one in (agent, other):
            one.learn(1000)
        for name, tensor in agent.state_dict().items():
            self.assertTrue(tenon.equal(tensor, other.state_dict()[name]), name)

    def test_a_callback_ends_training(self):
        agent = tenon.rl.PPO(Walk, environments=1, steps=32).learn(10_000, callback=lambda now: now.steps < 64)
        self.assertEqual(agent.steps, 64)

    def test_an_error_of_the_environment_reaches_the_caller(self):
        class Broken(Walk):
            def step(self, action):
                raise ZeroDivisionError("on purpose")

        with self.assertRaisesRegex(ZeroDivisionError, "on purpose"):
            tenon.rl.PPO(Broken).learn(1)

    def test_what_is_no_environment_is_refused(self):
        with self.assertRaisesRegex(TypeError, "an environment has reset, as Gymnasium's do; int has not"):
            tenon.rl.PPO(3)
        with self.assertRaisesRegex(TypeError, "the config has no 'rate'; it has .*lr"):
            tenon.rl.PPO(Walk, rate=3)
        with self.assertRaisesRegex(tenon.Error, "these are 1 real numbers; use Ppo"):
            tenon.rl.DQN(tenon.rl.Pendulum)

        class Wide(Walk):
            def reset(self, seed=None):
                return [1, 2], {}

        with self.assertRaisesRegex(ValueError, "an observation has 2 numbers; 1 are expected"):
            tenon.rl.PPO(Wide)

    def test_what_agents_cannot_do_with_an_environment_is_said(self):
        def of(observation=tenon.rl.Box(-5, 5, (1,)), action=tenon.rl.Discrete(2), **members):
            return type("Other", (Walk,), {"observation_space": observation, "action_space": action, **members})

        class Bounds(tenon.rl.Box):
            def __init__(self):
                super().__init__(tenon.tensor([-1., 0.]), tenon.tensor([1., 3.]), (2,))

        class Later(tenon.rl.Discrete):
            start = 1

        walk = Walk()
        walk.reset()
        for call, kind, text in (
                (lambda: tenon.rl.PPO(of(action=Bounds())), ValueError, "the bounds of the action_space differ"),
                (lambda: tenon.rl.PPO(of(action=Later(3))), ValueError, "actions are numbered from 0"),
                (lambda: tenon.rl.PPO(of(action=tenon.rl.Discrete(0))), ValueError, "has 1 action or more, not 0"),
                (lambda: tenon.rl.PPO([walk, walk]), ValueError, "one environment is there twice"),
                (lambda: tenon.rl.PPO(lambda: walk), ValueError, "one environment is there twice"),
                (lambda: tenon.rl.PPO(walk, environments=4), ValueError, "4 environments are made of a class"),
                (lambda: tenon.rl.PPO(of(step=lambda self, action: ([0], None, False, False, {}))).learn(1), TypeError,
                 "gave a reward of None; it is a number"),
                (lambda: tenon.rl.PPO(Walk).predict([float("nan")]), tenon.Error, "an observation holds nan")):
            with self.assertRaisesRegex(kind, text):
                call()

    def test_observations_may_have_a_shape(self):
        class Picture(Walk):
            observation_space = tenon.rl.Box(0, 1, (2, 3))

            def reset(self, seed=None):
                return tenon.zeros(2, 3), super().reset(seed)[1]

            def step(self, action):
                return tenon.ones(2, 3), *super().step(action)[1:]

        agent = tenon.rl.PPO(Picture, steps=32).learn(1)
        self.assertIsInstance(agent.predict(tenon.zeros(2, 3)), int)
        self.assertEqual(len(agent.predict(tenon.zeros(4, 2, 3))), 4)
        self.assertIsInstance(agent.predict([0.] * 6), int)

    def test_a_callback_ends_training_by_what_is_false(self):
        for answer in (False, tenon.tensor(False), 0):
            self.assertEqual(tenon.rl.PPO(Walk, environments=1, steps=32).learn(1000, callback=lambda now: answer).steps, 32)

    def test_the_librarys_environments_have_gymnasiums_functions(self):
        pole = tenon.rl.CartPole()
        first, info = pole.reset(seed=1)
        self.assertEqual((first.shape, info), ((4,), {}))
        self.assertTrue(tenon.equal(first, pole.reset(seed=1)[0]))
        next, reward, terminated, truncated, info = pole.step(1)
        self.assertEqual((next.shape, reward, terminated, truncated, info), ((4,), 1.0, False, False, {}))
        self.assertEqual(repr((pole.action_space, tenon.rl.Pendulum().action_space)), "(Discrete(2), Box(-2.0, 2.0, (1,)))")


if __name__ == "__main__":
    unittest.main()
