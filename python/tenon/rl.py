"""Agents that learn to act, in environments of the library, of your own, or of Gymnasium.

>>> import tenon
>>> class Corridor(tenon.rl.Environment):
...     observation_space, action_space = tenon.rl.Box(0, 5, (1,)), tenon.rl.Discrete(2)
...     def reset(self, seed=None):
...         self.place = 0
...         return [self.place], {}
...     def step(self, action):  # 1 goes on, 0 back
...         self.place = max(self.place + (1 if action == 1 else -1), 0)
...         return [self.place], -1.0, self.place == 5, False, {}
>>> agent = tenon.rl.PPO(Corridor, lr=1e-2, steps=32).learn(4096)
>>> [agent.predict([place]) for place in range(5)]
[1, 1, 1, 1, 1]
"""

from ._tenon._rl import DQN, PPO, Agent, CartPole, Pendulum, Progress  # noqa: F401


class Discrete:
    """Actions that are one of n, numbered from 0."""

    def __init__(self, n):
        self.n = n

    def __repr__(self):
        return f"Discrete({self.n})"


class Box:
    """Numbers from low to high, in a shape."""

    def __init__(self, low, high, shape):
        self.low, self.high, self.shape = low, high, tuple(shape)

    def __repr__(self):
        return f"Box({self.low}, {self.high}, {self.shape})"


class Environment:
    """What environments of your own may derive from. Agents take any object with these functions and the two spaces, as
    Gymnasium's environments have them."""

    observation_space: Box
    action_space: "Discrete | Box"

    def reset(self, seed=None):
        """Begins an episode, all chance of which comes from the seed: its first observation and a dict."""
        raise NotImplementedError("an environment has reset()")

    def step(self, action):
        """What comes of an action: an observation, the reward, whether the episode is terminated, or truncated, and a dict."""
        raise NotImplementedError("an environment has step()")
