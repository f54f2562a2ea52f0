// Optimizers, schedules and loss scaling.

#include "nn.h"

namespace tenon::python {
namespace {

using namespace py::literals;
using optim::ParamGroup;

/// Tensors, or groups {"params": [...], "lr": ..., "weight_decay": ...}, as PyTorch takes them. Each of several groups
/// has a rate of its own, which can be set.
std::vector<ParamGroup> groups_of(const py::object& parameters, double lr) {
  const auto tensors = [](const py::object& list) {
    if (is_tensor(list.ptr())) return std::vector<Tensor>{tensor_in(list.ptr())};
    return Convert<std::vector<Tensor>>::from(py::list(list).ptr());
  };
  if (is_tensor(parameters.ptr())) throw_type_error("a list of parameters is needed, not one tensor");
  const py::list all(parameters);
  if (all.empty()) throw_value_error("an optimizer needs at least one parameter");
  if (!py::isinstance<py::dict>(all[0])) return {ParamGroup{tensors(all), {}, {}}};
  std::vector<ParamGroup> groups;
  for (const py::handle one : all) {
    if (!py::isinstance<py::dict>(one)) throw_type_error("groups of parameters are dicts with 'params'");
    ParamGroup group;
    if (all.size() > 1) group.lr = lr;
    for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(one)) {
      const std::string name = py::cast<std::string>(key);
      if (name == "params")
        group.parameters = tensors(py::reinterpret_borrow<py::object>(value));
      else if (name == "lr")
        group.lr = py::cast<double>(value);
      else if (name == "weight_decay")
        group.weight_decay = py::cast<double>(value);
      else
        throw_value_error("a group of parameters has 'params', 'lr' and 'weight_decay', not '" + name + "'");
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

py::dict dict_of(const std::map<std::string, Tensor>& state) {
  py::dict dict;
  for (const auto& [name, tensor] : state) dict[py::str(name)] = py::reinterpret_steal<py::object>(wrap_new(tensor));
  return dict;
}
std::map<std::string, Tensor> state_of(const py::dict& dict) {
  std::map<std::string, Tensor> state;
  for (const auto& [name, tensor] : dict) state[py::cast<std::string>(name)] = Convert<Tensor>::from(tensor.ptr());
  return state;
}

/// The scaler of an argument, or none: one that is not enabled is none.
optim::GradScaler* scaler_in(const py::object& object) {
  if (object.is_none()) return nullptr;
  if (!py::isinstance<optim::GradScaler>(object))
    throw_type_error("a GradScaler is needed, not " + type_name_of(object.ptr()));
  if (!py::cast<bool>(object.attr("is_enabled")())) return nullptr;
  return py::cast<optim::GradScaler*>(object);
}

/// `first` is a closure, which is what PyTorch has there, or a scaler.
py::object step(optim::Optimizer& self, const py::object& first, const std::optional<Tensor>& when,
                const py::object& with_scaler) {
  optim::GradScaler* scaler = scaler_in(with_scaler);
  py::object loss = py::none();
  if (py::isinstance<optim::GradScaler>(first)) {
    if (!with_scaler.is_none()) throw_type_error("step() got two scalers");
    scaler = scaler_in(first);
  } else if (!first.is_none()) {
    if (!PyCallable_Check(first.ptr()))
      throw_type_error("step() takes a closure or a GradScaler, not " + type_name_of(first.ptr()));
    const EnableGrad recording;
    loss = first();
  }
  const Released others_run;
  try {
    self.step(scaler, when.value_or(Tensor()));
  } catch (const Error& error) {
    // PyTorch's does nothing then.
    if (!std::string_view(error.what()).starts_with("[optimizer] no parameter has a gradient")) throw;
  }
  return loss;
}

/// Sets the rate of one group, also where it is that of all.
void set_rate(optim::Optimizer& optimizer, size_t group, double lr) {
  if (group < optimizer.groups() && !optimizer.has_own_lr(group))
    optimizer.set_lr(lr);
  else
    optimizer.set_lr(group, lr);
}

void set_common_lr(optim::Optimizer& optimizer, double lr) {
  const double before = optimizer.lr();
  optimizer.set_lr(lr);
  for (size_t group = 0; group < optimizer.groups(); ++group) {
    if (optimizer.has_own_lr(group) && optimizer.lr(group) == before) optimizer.set_lr(group, lr);
  }
}

/// What a schedule sets the rates of.
template <typename S>
struct On : S {
  template <typename... Arguments>
  explicit On(optim::Optimizer& of, Arguments&&... arguments)
      : S(of, std::forward<Arguments>(arguments)...), optimizer(of) {}
  std::vector<double> last_lr() const {
    std::vector<double> rates;
    for (size_t group = 0; group < optimizer.groups(); ++group) rates.push_back(optimizer.lr(group));
    return rates;
  }
  optim::Optimizer& optimizer;
};

/// A rule that is written in Python, of ops; everything around it, arenas, moments, captured steps, is the library's.
class PythonRule : public optim::Optimizer {
 public:
  PythonRule(std::vector<ParamGroup> groups, double lr, double decay, std::vector<std::string> moments,
             const py::object& rule)
      : Optimizer(std::move(groups), Common{lr, decay}, std::move(moments)), rule_(keep(rule)) {}

 protected:
  /// The rule takes weights, gradient, step, lr, weight_decay and moments, and gives the new weights and moments.
  Tensor update(const Update& now, std::vector<Tensor>& moments) const override {
    const Locked locked;
    const py::object decay = now.weight_decay.is_tensor()
                                 ? py::reinterpret_steal<py::object>(wrap(now.weight_decay.tensor()))
                                 : py::object(py::float_(now.weight_decay.number().as_double()));
    const py::tuple made =
        py::reinterpret_borrow<py::object>(rule_.get())(now.weights, now.gradient, now.step, now.lr, decay, moments);
    moments = Convert<std::vector<Tensor>>::from(py::object(made[1]).ptr());
    return Convert<Tensor>::from(py::object(made[0]).ptr());
  }

 private:
  std::shared_ptr<PyObject> rule_;
};

void bind_optimizers(py::module_& m) {
  using optim::Optimizer;
  py::class_<Optimizer, std::shared_ptr<Optimizer>>(m, "Optimizer", "What all optimizers have.", py::dynamic_attr())
      .def(py::init([] {  // for classes of Python's, whose parameters and steps are their own
        return std::shared_ptr<Optimizer>(
            std::make_shared<PythonRule>(std::vector<ParamGroup>{{{zeros({1}, Options(DType::f32, Device("cpu")))}}},
                                         0.0, 0.0, std::vector<std::string>(), py::none()));
      }))
      .def("step", &step, "closure"_a = py::none(), "when"_a = py::none(), "scaler"_a = py::none(),
           "Updates every parameter that has a gradient; with a closure, calls it first and returns its loss.")
      .def(
          "zero_grad", [](Optimizer& self, bool) { self.zero_grad(); }, "set_to_none"_a = true,
          "Lets go of all gradients.")
      .def(
          "clip_grad_norm",
          [](Optimizer& self, double most, const py::object& scaler) {
            return self.clip_grad_norm(most, scaler_in(scaler));
          },
          "max_norm"_a, "scaler"_a = py::none(),
          "The norm of all gradients; the next step() shrinks them to at most max_norm.")
      .def(
          "keep_gradients",
          [](const py::object& self) {
            py::cast<Optimizer&>(self).keep_gradients();
            self.attr("_keeps_gradients") = true;
          },
          "Keeps gradients between calls, to collect them.")
      .def("accumulate", &Optimizer::accumulate, "Adds the gradients to those kept.")
      .def("gather", &Optimizer::gather, "Takes parameters that were given other memory back into one stretch.")
      .def("keep_shadow", &Optimizer::keep_shadow, "dtype"_a = DType::bf16,
           "Updates also write the parameters in a lower type, for autocast.")
      .def("keep_average", &Optimizer::keep_average, "decay"_a = 0.999,
           "Every step also moves an average of the weights.")
      .def("swap_average", &Optimizer::swap_average, "Puts the averages in the place of the weights, and back.")
      .def("_moments", [](const Optimizer& self) { return dict_of(self.state_dict()); })
      .def("_load_moments", [](Optimizer& self, const py::dict& state) { self.load_state_dict(state_of(state)); })
      .def("steps", &Optimizer::steps, "Updates so far.")
      .def_property(
          "lr", [](const Optimizer& self) { return self.lr(); }, &set_common_lr,
          "The learning rate; set, it is that of all groups that had it.")
      .def(
          "group_lr", [](const Optimizer& self, size_t group) { return self.lr(group); }, "group"_a)
      .def("set_group_lr", &set_rate, "group"_a, "lr"_a)
      .def("_momentum", &Optimizer::momentum)
      .def("_set_momentum", &Optimizer::set_momentum)
      .def("_momentum_varies", &Optimizer::momentum_varies)
      .def("_give_way", &Optimizer::give_way)
      .def("_group_decay", &Optimizer::weight_decay)
      .def("_group_parameters",
           [](const Optimizer& self, size_t group) {
             py::list list;
             for (const Tensor& one : self.parameters(group)) list.append(parameter_object(one));
             return list;
           })
      .def_property_readonly("groups", &Optimizer::groups);
  py::class_<optim::SGD, Optimizer, std::shared_ptr<optim::SGD>>(m, "SGD", "Gradient descent, with momentum if wanted.")
      .def(py::init([](const py::object& parameters, double lr, double momentum, double dampening, double decay,
                       bool nesterov) {
             return std::make_shared<optim::SGD>(groups_of(parameters, lr),
                                                 optim::SgdOptions{lr, momentum, dampening, decay, nesterov});
           }),
           "params"_a, "lr"_a = 1e-3, "momentum"_a = 0.0, "dampening"_a = 0.0, "weight_decay"_a = 0.0,
           "nesterov"_a = false);
  using Betas = std::pair<double, double>;
  py::class_<optim::Adam, Optimizer, std::shared_ptr<optim::Adam>>(m, "Adam", "Kingma and Ba, 2014.")
      .def(py::init([](const py::object& parameters, double lr, Betas betas, double eps, double decay, bool amsgrad) {
             return std::make_shared<optim::Adam>(
                 groups_of(parameters, lr), optim::AdamOptions{lr, betas.first, betas.second, eps, decay, amsgrad});
           }),
           "params"_a, "lr"_a = 1e-3, "betas"_a = Betas(0.9, 0.999), "eps"_a = 1e-8, "weight_decay"_a = 0.0,
           "amsgrad"_a = false);
  py::class_<optim::AdamW, optim::Adam, std::shared_ptr<optim::AdamW>>(m, "AdamW", "Adam with decoupled weight decay.")
      .def(py::init([](const py::object& parameters, double lr, Betas betas, double eps, double decay, bool amsgrad) {
             return std::make_shared<optim::AdamW>(
                 groups_of(parameters, lr), optim::AdamWOptions{lr, betas.first, betas.second, eps, decay, amsgrad});
           }),
           "params"_a, "lr"_a = 1e-3, "betas"_a = Betas(0.9, 0.999), "eps"_a = 1e-8, "weight_decay"_a = 0.01,
           "amsgrad"_a = false);
  py::class_<optim::RMSprop, Optimizer, std::shared_ptr<optim::RMSprop>>(m, "RMSprop", "Divides by a mean of squares.")
      .def(py::init([](const py::object& parameters, double lr, double alpha, double eps, double decay, double momentum,
                       bool centered) {
             return std::make_shared<optim::RMSprop>(groups_of(parameters, lr),
                                                     optim::RmspropOptions{lr, alpha, eps, decay, momentum, centered});
           }),
           "params"_a, "lr"_a = 1e-2, "alpha"_a = 0.99, "eps"_a = 1e-8, "weight_decay"_a = 0.0, "momentum"_a = 0.0,
           "centered"_a = false);
  py::class_<optim::Adagrad, Optimizer, std::shared_ptr<optim::Adagrad>>(m, "Adagrad", "Divides by all squares so far.")
      .def(py::init(
               [](const py::object& parameters, double lr, double lr_decay, double decay, double initial, double eps) {
                 return std::make_shared<optim::Adagrad>(groups_of(parameters, lr),
                                                         optim::AdagradOptions{lr, lr_decay, decay, initial, eps});
               }),
           "params"_a, "lr"_a = 1e-2, "lr_decay"_a = 0.0, "weight_decay"_a = 0.0, "initial_accumulator_value"_a = 0.0,
           "eps"_a = 1e-10);
  py::class_<optim::Lion, Optimizer, std::shared_ptr<optim::Lion>>(m, "Lion", "Chen et al., 2023.")
      .def(py::init([](const py::object& parameters, double lr, Betas betas, double decay) {
             return std::make_shared<optim::Lion>(groups_of(parameters, lr),
                                                  optim::LionOptions{lr, betas.first, betas.second, decay});
           }),
           "params"_a, "lr"_a = 1e-4, "betas"_a = Betas(0.9, 0.99), "weight_decay"_a = 0.0);
  // tenon.optim.NAdam and others derive from it.
  py::class_<PythonRule, Optimizer, std::shared_ptr<PythonRule>>(m, "_Rule")
      .def(py::init([](const py::object& parameters, double lr, double decay, const std::vector<std::string>& moments,
                       const py::object& rule) {
        return std::make_shared<PythonRule>(groups_of(parameters, lr), lr, decay, moments, rule);
      }));
  // tenon.optim.GradScaler derives from it.
  py::class_<optim::GradScaler>(m, "_GradScaler", "Dynamic loss scaling for float16.")
      .def(py::init([](double initial, double growth, double backoff, int64_t interval, const py::object& device) {
             return std::make_unique<optim::GradScaler>(optim::GradScalerOptions{initial, growth, backoff, interval},
                                                        Convert<Device>::from(device.ptr()));
           }),
           "init_scale"_a = 65536.0, "growth_factor"_a = 2.0, "backoff_factor"_a = 0.5, "growth_interval"_a = 2000,
           "device"_a = py::none())
      .def("_scale", &optim::GradScaler::scale)
      .def("_unscale",
           [](const optim::GradScaler& self, const std::vector<Tensor>& parameters) {
             const Released others_run;
             return self.unscale(parameters);
           })
      .def("_update",
           [](optim::GradScaler& self, const Tensor& finite) {
             const Released others_run;
             self.update(finite);
           })
      .def("factor", &optim::GradScaler::factor, "The factor now; reads it from the device.")
      .def("_numbers", [](const optim::GradScaler& self) { return dict_of(self.state_dict()); })
      .def("_load_numbers",
           [](optim::GradScaler& self, const py::dict& state) { self.load_state_dict(state_of(state)); });
  m.def(
      "clip_grad_norm_",
      [](const py::object& parameters, double most) {
        return optim::clip_grad_norm_(Convert<std::vector<Tensor>>::from(py::list(parameters).ptr()), most);
      },
      "parameters"_a, "max_norm"_a, "Scales all gradients so that their norm together is at most max_norm.");
  m.def(
      "decay_matrices_only",
      [](const py::object& parameters) {
        py::list groups;
        for (const ParamGroup& group :
             optim::decay_matrices_only(Convert<std::vector<Tensor>>::from(py::list(parameters).ptr()))) {
          py::dict made;
          made["params"] = py::cast(group.parameters);
          if (group.weight_decay) made["weight_decay"] = *group.weight_decay;
          groups.append(made);
        }
        return groups;
      },
      "parameters"_a, "Two groups: matrices and larger with weight decay, vectors without.");
}

/// A schedule of Python's or C++'s, set on an optimizer that it keeps.
void bind_schedules(py::module_& m) {
  m.def(
      "constant", [](int64_t warmup) { return optim::constant(warmup); }, "warmup"_a = 0);
  m.def(
      "linear",
      [](int64_t total, int64_t warmup, double last) {
        return optim::linear(total, {warmup, last});
      },
      "total"_a, "warmup"_a = 0, "last"_a = 0.0, "Falls evenly from 1 to last.");
  m.def(
      "cosine",
      [](int64_t total, int64_t warmup, double last, int64_t cycles, double longer) {
        return optim::cosine(total, {warmup, last}, cycles, longer);
      },
      "total"_a, "warmup"_a = 0, "last"_a = 0.0, "cycles"_a = 1, "longer"_a = 1.0, "Half a cosine from 1 to last.");
  m.def(
      "one_cycle",
      [](int64_t total, double rise, double start, double end) { return optim::one_cycle(total, rise, start, end); },
      "total"_a, "rise"_a = 0.3, "start"_a = 25.0, "end"_a = 1e4);
  m.def(
      "stepwise", [](int64_t every, double factor, int64_t warmup) { return optim::stepwise(every, factor, warmup); },
      "every"_a, "factor"_a = 0.1, "warmup"_a = 0);
  m.def(
      "exponential", [](double factor, int64_t warmup) { return optim::exponential(factor, warmup); }, "factor"_a,
      "warmup"_a = 0);
  using Scheduler = On<optim::Scheduler>;
  using Plateau = On<optim::Plateau>;
  py::class_<Scheduler>(m, "Scheduler", "Sets the rates of an optimizer: base rate times a factor of the step.")
      .def(py::init<optim::Optimizer&, optim::Schedule>(), py::keep_alive<1, 2>(), "optimizer"_a, "schedule"_a)
      .def(
          "step", [](Scheduler& self) { self.step(); }, "After an update: sets the rate of the next.")
      .def(
          "set", [](Scheduler& self, int64_t step) { self.set(step); }, "step"_a)
      .def("steps", [](const Scheduler& self) { return self.steps(); })
      .def("get_last_lr", &Scheduler::last_lr, "The rate of each group.")
      .def(
          "state_dict",
          [](const Scheduler& self) {
            py::dict state;
            state["last_epoch"] = self.steps();
            return state;
          },
          "The step it stands at.")
      .def(
          "load_state_dict",
          [](Scheduler& self, const py::dict& state) { self.set(py::cast<int64_t>(state["last_epoch"])); }, "state"_a,
          "Goes to the step of a state.");
  py::class_<Plateau>(m, "Plateau", "Lowers the rate when an observed loss stops falling.")
      .def("get_last_lr", &Plateau::last_lr, "The rate of each group.")
      .def(py::init([](optim::Optimizer& optimizer, double factor, int64_t patience, double threshold, int64_t cooldown,
                       double least, int64_t warmup) {
             return std::make_unique<Plateau>(
                 optimizer, optim::PlateauOptions{factor, patience, threshold, cooldown, least, warmup});
           }),
           py::keep_alive<1, 2>(), "optimizer"_a, "factor"_a = 0.1, "patience"_a = 10, "threshold"_a = 1e-4,
           "cooldown"_a = 0, "min_lr"_a = 0.0, "warmup"_a = 0)
      .def(
          "step",
          [](Plateau& self, std::optional<double> loss) {
            if (loss)
              self.observe(*loss);
            else
              self.step();
          },
          "loss"_a = py::none());
}

}  // namespace

void bind_optim(py::module_& m) {
  py::module_ optim = m.def_submodule("_optim");
  bind_optimizers(optim);
  bind_schedules(optim);
}

}  // namespace tenon::python
