// tenon.rl: agents, and environments of Python's with Gymnasium's functions.

#include <random>

#include "bind.h"
#include "callbacks.h"
#include "functions.h"
#include "model_fields.h"
#include "types.h"

namespace tenon::python {
namespace {

using namespace py::literals;
using rl::Actions, rl::Environment, rl::Outcome;

/// The numbers of a list, a tensor or an array of any shape.
void numbers_into(const py::object& from, std::span<float> into, const char* what) {
  py::object flat = from;
  if (py::hasattr(flat, "reshape")) flat = flat.attr("reshape")(-1).attr("tolist")();
  if (!PyList_Check(flat.ptr()) && !PyTuple_Check(flat.ptr()))
    flat = PySequence_Check(flat.ptr()) != 0 ? py::list(flat) : py::list(py::make_tuple(flat));
  const py::object fast = owned(PySequence_Fast(flat.ptr(), what));
  const auto count = static_cast<size_t>(PySequence_Fast_GET_SIZE(fast.ptr()));
  if (count != into.size())
    throw_value_error(fmt::format("{} has {} numbers; {} are expected", what, count, into.size()));
  for (size_t i = 0; i < count; ++i) {
    into[i] = static_cast<float>(PyFloat_AsDouble(PySequence_Fast_GET_ITEM(fast.ptr(), static_cast<Py_ssize_t>(i))));
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  }
}

int64_t size_of(const py::object& space) {
  int64_t size = 1;
  for (const py::handle one : space.attr("shape")) size *= py::cast<int64_t>(one);
  return size;
}

/// The bound of a space: a number, or one for each element, which must be the same for all.
float bound_of(const py::object& bound) {
  if (!py::hasattr(bound, "reshape")) return py::cast<float>(bound);
  std::vector<float> all;
  for (const py::handle one : bound.attr("reshape")(-1).attr("tolist")()) all.push_back(py::cast<float>(one));
  if (all.empty()) throw_value_error("a space without elements has no bounds");
  if (std::ranges::any_of(all, [&](float one) { return one != all[0]; }))
    throw_value_error(fmt::format(
        "the bounds of the action_space differ ({}, {}, ...); let actions have one range and scale them in step()",
        *std::ranges::min_element(all), *std::ranges::max_element(all)));
  return all[0];
}

/// Actions of a space of Gymnasium's or of tenon.rl's: Discrete or Box.
Actions actions_of(const py::object& space) {
  if (py::hasattr(space, "n")) {
    const auto count = py::cast<int64_t>(space.attr("n"));
    if (count < 1) throw_value_error(fmt::format("an action_space has 1 action or more, not {}", count));
    if (py::hasattr(space, "start") && py::cast<int64_t>(space.attr("start")) != 0)
      throw_value_error("actions are numbered from 0; the action_space has another start");
    return {.count = count};
  }
  if (!py::hasattr(space, "shape") || !py::hasattr(space, "low"))
    throw_type_error("an action_space is a Discrete or a Box, not " + type_name_of(space.ptr()));
  return {.size = size_of(space), .low = bound_of(space.attr("low")), .high = bound_of(space.attr("high"))};
}

py::object tensor_of(std::span<const float> numbers, const Dims& shape) {
  return object_of(from_bytes(std::as_bytes(numbers), shape, Options(DType::f32, Device("cpu"))));
}

/// An integer, or a tensor of this shape; an array where the program uses numpy.
py::object as_action(std::span<const float> action, const Actions& actions, const Dims& shape) {
  if (actions.is_discrete()) return py::int_(static_cast<int64_t>(action[0]));
  const py::object tensor = tensor_of(action, shape);
  return py::module_::import("sys").attr("modules").contains("numpy") ? tensor.attr("numpy")() : tensor;
}

/// An environment of Python's: reset(seed=) gives an observation and a dict, step(action) an observation, the reward,
/// whether it is terminated or truncated, and a dict.
class OfPython : public Environment {
 public:
  explicit OfPython(py::object object) : object_(keep(object)) {
    for (const char* name : {"reset", "step", "observation_space", "action_space"}) {
      if (!py::hasattr(object, name))
        throw_type_error(
            fmt::format("an environment has {}, as Gymnasium's do; {} has not", name, type_name_of(object.ptr())));
    }
    const py::object observed = object.attr("observation_space");
    if (!py::hasattr(observed, "shape") || observed.attr("shape").is_none())
      throw_type_error("an observation_space is a Box, not " + type_name_of(observed.ptr()));
    size_ = size_of(observed);
    const py::object space = object.attr("action_space");
    actions_ = actions_of(space);
    if (!actions_.is_discrete()) {
      for (const py::handle one : space.attr("shape")) action_shape_.push_back(py::cast<int64_t>(one));
    }
  }

  int64_t observation_size() const override { return size_; }
  Actions actions() const override { return actions_; }
  void reset(uint64_t seed, std::span<float> observation) override {
    const Locked lock;
    const py::object made = handle().attr("reset")("seed"_a = static_cast<int64_t>(seed >> 33));
    if (!PyTuple_Check(made.ptr()) || PyTuple_GET_SIZE(made.ptr()) != 2)
      throw_type_error("reset() of an environment returns an observation and a dict");
    numbers_into(made[py::int_(0)], observation, "an observation");
  }
  Outcome step(std::span<const float> action, std::span<float> observation) override {
    const Locked lock;
    const py::object made = handle().attr("step")(as_action(action, actions_, action_shape_));
    if (!PyTuple_Check(made.ptr()) || PyTuple_GET_SIZE(made.ptr()) != 5)
      throw_type_error("step() of an environment returns an observation, a reward, terminated, truncated and a dict");
    numbers_into(made[py::int_(0)], observation, "an observation");
    const double reward = PyFloat_AsDouble(py::object(made[py::int_(1)]).ptr());
    if (PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      throw_type_error("step() of an environment gave a reward of " +
                       type_name_of(py::object(made[py::int_(1)]).ptr()) + "; it is a number");
    }
    return {.reward = reward,
            .terminated = py::bool_(py::object(made[py::int_(2)])),
            .truncated = py::bool_(py::object(made[py::int_(3)]))};
  }

 private:
  py::handle handle() const { return object_.get(); }

  std::shared_ptr<PyObject> object_;
  int64_t size_ = 0;
  Actions actions_;
  Dims action_shape_;
};

/// Environments that one call has made of a class, a function, or those of a list; and what keeps them alive.
rl::Environments environments_of(const py::object& given, std::optional<int64_t> count_given, int64_t usual,
                                 uint64_t seed) {
  int64_t count = count_given.value_or(usual);
  std::vector<py::object> objects;
  if (PyList_Check(given.ptr()) || PyTuple_Check(given.ptr())) {
    for (const py::handle one : given) objects.push_back(py::reinterpret_borrow<py::object>(one));
    count = static_cast<int64_t>(objects.size());
  } else if (PyCallable_Check(given.ptr()) != 0) {
    for (int64_t i = 0; i < count; ++i) objects.push_back(given());
  } else {
    objects.push_back(given);  // one alone
    if (count_given && *count_given != 1)
      throw_value_error(
          fmt::format("{} environments are made of a class or a function, not of one object", *count_given));
    count = 1;
  }
  for (size_t i = 0; i < objects.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (objects[i].is(objects[k])) throw_value_error("one environment is there twice; each acts by itself");
    }
  }
  if (count < 0) throw_value_error(fmt::format("there are 1 or more environments, not {}", count));
  size_t next = 0;
  return rl::Environments(
      static_cast<size_t>(count),
      [&]() -> std::unique_ptr<Environment> {
        const py::object& one = objects.at(next++);
        if (py::isinstance<rl::CartPole>(one)) return std::make_unique<rl::CartPole>();
        if (py::isinstance<rl::Pendulum>(one)) return std::make_unique<rl::Pendulum>();
        return std::make_unique<OfPython>(one);
      },
      seed);
}

/// An agent with the environments that it learns in.
struct Held {
  explicit Held(rl::Environments all) : environments(std::move(all)) {}
  Held(const Held&) = delete;

  rl::Environments environments;
  std::unique_ptr<rl::Agent> agent;
};

template <typename Agent>
struct AgentOf : Held {
  template <typename Options>
  AgentOf(rl::Environments all, const Options& options) : Held(std::move(all)) {
    agent = std::make_unique<Agent>(environments, options);
  }
};

py::object learn(py::object self, int64_t steps, const py::object& callback) {
  rl::Agent& agent = *held<Held>(self)->agent;
  if (!callback.is_none() && PyCallable_Check(callback.ptr()) == 0)
    throw_type_error("callback is a function of the progress, not " + type_name_of(callback.ptr()));
  const std::shared_ptr<PyObject> kept = callback.is_none() ? nullptr : keep(callback);
  computed([&] {
    agent.train(steps, [&](const rl::Progress& now) {
      const Locked lock;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      const py::object made = kept ? called(kept, py::make_tuple(now)) : py::none();
      return made.is_none() || py::cast<bool>(py::bool_(made));
    });
  });
  return self;
}

/// The best action for one observation, or those of a batch of them, a list.
py::object predict(Held& self, const py::object& observation) {
  const rl::Environments& all = self.environments;
  const auto columns = static_cast<size_t>(all.observation_size());
  const Actions& actions = all.actions();
  const auto width = static_cast<size_t>(actions.width());
  // As many numbers as an observation has are one, in whatever shape; more are several.
  const auto numbers = py::hasattr(observation, "reshape") ? py::len(observation.attr("reshape")(-1)) : size_t{0};
  const bool has_rows = PySequence_Check(observation.ptr()) != 0 && py::len(observation) > 0 &&
                        PySequence_Check(py::object(observation[py::int_(0)]).ptr()) != 0;
  const bool is_batch = numbers > 0 ? numbers != columns && py::cast<int64_t>(observation.attr("ndim")) > 1 : has_rows;
  const size_t count = is_batch ? py::len(observation) : 1;
  std::vector<float> rows(count * columns), chosen(count * width);
  for (size_t i = 0; i < count; ++i)
    numbers_into(is_batch ? py::object(observation[py::int_(i)]) : observation,
                 std::span(rows).subspan(i * columns, columns), "an observation");
  computed([&] { self.agent->act(rows, chosen); });
  py::list made;
  for (size_t i = 0; i < count; ++i)
    made.append(as_action(std::span(chosen).subspan(i * width, width), actions, {static_cast<int64_t>(width)}));
  return is_batch ? py::object(made) : py::object(made[0]);
}

void load_state_dict(Held& self, const py::dict& state) {
  const rl::NamedTensors tensors = tensors_in(state);
  computed([&] { self.agent->load(tensors); });
}

py::object space_of(const Actions& actions) {
  const py::module_ rl = py::module_::import("tenon.rl");
  if (actions.is_discrete()) return rl.attr("Discrete")(actions.count);
  return rl.attr("Box")(actions.low, actions.high, py::make_tuple(actions.size));
}

py::object as_observation(const std::vector<float>& observed) {
  return tensor_of(observed, {static_cast<int64_t>(observed.size())});
}

/// Gymnasium's functions for an environment of the library.
template <typename E>
void bind_environment(Scope& m, const char* name, const char* help) {
  Class<E>(m, name, help)
      .init([] { return std::make_shared<E>(); })
      .def("reset(seed=None)", "Begins an episode: its first observation and a dict.",
           [](E& self, std::optional<uint64_t> seed) {
             std::vector<float> observed(static_cast<size_t>(self.observation_size()));
             self.reset(seed ? *seed : std::random_device()(), observed);
             return py::make_tuple(as_observation(observed), py::dict());
           })
      .def("step(action)", "An observation, the reward, whether the episode is terminated, or truncated, and a dict.",
           [](E& self, const py::object& action) {
             const auto columns = static_cast<size_t>(self.observation_size());
             std::vector<float> observed(columns), taken(static_cast<size_t>(self.actions().width()));
             numbers_into(action, taken, "an action");
             const Outcome made = self.step(taken, observed);
             return py::make_tuple(as_observation(observed), made.reward, made.terminated, made.truncated, py::dict());
           })
      .property("action_space", [](const E& self) { return space_of(self.actions()); })
      .property("observation_space", [](const E& self) {
        constexpr double kInfinite = std::numeric_limits<double>::infinity();
        return py::module_::import("tenon.rl")
            .attr("Box")(-kInfinite, kInfinite, py::make_tuple(self.observation_size()));
      });
}

/// Settings of an agent are keyword arguments.
template <typename Agent, typename Options>
void bind_agent(Scope& m, const char* name, const char* help, int64_t environments, const Setters<Options>& setters) {
  Class<AgentOf<Agent>, Held>(m, name, help)
      .init("environment, environments=None, seed=0, device=None",
            [setters, environments](const py::object& environment, std::optional<int64_t> count, uint64_t seed,
                                    const py::object& device, const py::kwargs& settings) {
              Options options;
              options.seed = seed;
              if (!device.is_none()) options.device = Convert<Device>::from(device.ptr());
              return std::make_shared<AgentOf<Agent>>(environments_of(environment, count, environments, seed),
                                                      config_of(std::move(options), settings, setters));
            });
}

}  // namespace

void bind_rl(Scope& m) {
  Scope rl = m.def_submodule("_rl");
  bind_environment<rl::CartPole>(rl, "CartPole", "A pole on a cart, to be balanced by pushing left (0) or right (1).");
  bind_environment<rl::Pendulum>(rl, "Pendulum", "A pendulum, to be swung up by a torque from -2 to 2.");
  Class<rl::Progress>(rl, "Progress", "How training goes.")
      .property("steps", &rl::Progress::steps)
      .property("episodes", &rl::Progress::episodes)
      .property("mean_return", &rl::Progress::mean_return)
      .property("loss", &rl::Progress::loss)
      .property("steps_per_second", &rl::Progress::steps_per_second);
  Class<Held>(rl, "Agent", "What learns to act in environments.")
      .def("learn(steps, callback=None)",
           "Plays and learns for so many steps of the environments; callback(progress) may end it by False.", &learn)
      .def("predict(observation)", "The best action for an observation, or a list of them for several.", &predict)
      .def("state_dict", "All that decides how it goes on, the environments of the library among it.",
           [](const Held& self) { return dict_of(self.agent->state()); })
      .def("load_state_dict(state)", "Goes on from a state.", &load_state_dict)
      .property("steps", [](const Held& self) { return self.agent->steps(); });
  using P = rl::PpoOptions;
  bind_agent<rl::Ppo, P>(
      rl, "PPO", "Proximal policy optimization: PPO(CartPole, lr=1e-3).learn(100_000).", 8,
      fields_of<P>("hidden", &P::hidden, "lr", &P::lr, "steps", &P::steps, "epochs", &P::epochs, "minibatches",
                   &P::minibatches, "discount", &P::discount, "trace", &P::trace, "clip", &P::clip, "entropy",
                   &P::entropy, "value", &P::value, "max_norm", &P::max_norm));
  using Q = rl::DeepQOptions;
  const auto set_exploration = [](Q& options, const py::handle& value) {  // from, to, and over how many steps
    const auto [from, to, over] = py::cast<std::tuple<double, double, int64_t>>(value);
    options.exploration = {.from = from, .to = to, .over = over};
  };
  bind_agent<rl::DeepQ, Q>(rl, "DQN", "Deep Q-learning: DQN(CartPole, epsilon=(1, 0.05, 8_000)).learn(70_000).", 1,
                           fields_of<Q>("hidden", &Q::hidden, "lr", &Q::lr, "discount", &Q::discount, "batch",
                                        &Q::batch, "replay", &Q::replay, "learn_from", &Q::learn_from, "learn_every",
                                        &Q::learn_every, "renew_target_every", &Q::renew_target_every, "double_q",
                                        &Q::double_q, "max_norm", &Q::max_norm, "epsilon", set_exploration));
}

}  // namespace tenon::python
