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

/// Stands below classes of Python's, which have parameters and steps of their own; see own.py.
class OfPython : public optim::Optimizer {
 public:
  OfPython()
      : Optimizer(std::vector<ParamGroup>{{{zeros({1}, Options(DType::f32, Device("cpu")))}}}, Common{0, 0},
                  std::vector<std::string>()) {}

 private:
  Tensor update(const Update& now, std::vector<Tensor>&) const override { return now.weights; }
};

void bind_optimizers(py::module_& m) {
  using optim::Optimizer;
  py::class_<Optimizer, std::shared_ptr<Optimizer>>(m, "Optimizer", "What all optimizers have.", py::dynamic_attr())
      .def(py::init([] { return std::shared_ptr<Optimizer>(std::make_shared<OfPython>()); }))
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
      .def("_maximize", &Optimizer::maximize)
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
  py::class_<optim::Adadelta, Optimizer, std::shared_ptr<optim::Adadelta>>(m, "Adadelta", "Zeiler, 2012.")
      .def(py::init([](const py::object& parameters, double lr, double rho, double eps, double decay) {
             return std::make_shared<optim::Adadelta>(groups_of(parameters, lr),
                                                      optim::AdadeltaOptions{lr, rho, eps, decay});
           }),
           "params"_a, "lr"_a = 1.0, "rho"_a = 0.9, "eps"_a = 1e-6, "weight_decay"_a = 0.0);
  py::class_<optim::Adamax, Optimizer, std::shared_ptr<optim::Adamax>>(
      m, "Adamax", "Adam with the largest gradient in the place of the mean square; Kingma and Ba, 2014.")
      .def(py::init([](const py::object& parameters, double lr, Betas betas, double eps, double decay) {
             return std::make_shared<optim::Adamax>(groups_of(parameters, lr),
                                                    optim::AdamaxOptions{lr, betas.first, betas.second, eps, decay});
           }),
           "params"_a, "lr"_a = 2e-3, "betas"_a = Betas(0.9, 0.999), "eps"_a = 1e-8, "weight_decay"_a = 0.0);
  py::class_<optim::NAdam, Optimizer, std::shared_ptr<optim::NAdam>>(m, "NAdam",
                                                                     "Adam with Nesterov's momentum; Dozat, 2016.")
      .def(py::init([](const py::object& parameters, double lr, Betas betas, double eps, double decay, double slowing,
                       bool decoupled) {
             return std::make_shared<optim::NAdam>(
                 groups_of(parameters, lr),
                 optim::NAdamOptions{lr, betas.first, betas.second, eps, decay, slowing, decoupled});
           }),
           "params"_a, "lr"_a = 2e-3, "betas"_a = Betas(0.9, 0.999), "eps"_a = 1e-8, "weight_decay"_a = 0.0,
           "momentum_decay"_a = 4e-3, "decoupled_weight_decay"_a = false);
  py::class_<optim::RAdam, Optimizer, std::shared_ptr<optim::RAdam>>(
      m, "RAdam", "Adam whose first steps are shortened; Liu et al., 2019.")
      .def(py::init([](const py::object& parameters, double lr, Betas betas, double eps, double decay, bool decoupled) {
             return std::make_shared<optim::RAdam>(
                 groups_of(parameters, lr), optim::RAdamOptions{lr, betas.first, betas.second, eps, decay, decoupled});
           }),
           "params"_a, "lr"_a = 1e-3, "betas"_a = Betas(0.9, 0.999), "eps"_a = 1e-8, "weight_decay"_a = 0.0,
           "decoupled_weight_decay"_a = false);
  py::class_<optim::Rprop, Optimizer, std::shared_ptr<optim::Rprop>>(
      m, "Rprop",
      "Steps that grow while a gradient keeps its sign and shrink when it turns, whatever its size; Riedmiller and "
      "Braun, 1993.")
      .def(py::init([](const py::object& parameters, double lr, Betas etas, Betas sizes) {
             return std::make_shared<optim::Rprop>(
                 groups_of(parameters, lr),
                 optim::RpropOptions{lr, etas.first, etas.second, sizes.first, sizes.second});
           }),
           "params"_a, "lr"_a = 1e-2, "etas"_a = Betas(0.5, 1.2), "step_sizes"_a = Betas(1e-6, 50.0));
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
           [](optim::GradScaler& self, const std::vector<Tensor>& good) {  // of several optimizers
             const Released others_run;
             Tensor finite = good.at(0);
             for (size_t i = 1; i < good.size(); ++i) finite = logical_and(finite, good[i]);
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
  m.def("_total_norm", &optim::total_norm);
  m.def("_clip_grads_with_norm", &optim::clip_grads_with_norm_);
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

/// What tenon.optim.lr_scheduler computes with.
void bind_courses(py::module_& m) {
  using optim::Course;
  py::class_<Course>(m, "_Course")
      .def("at",
           [](const Course& self, double step, const std::vector<double>& bases) {
             std::vector<double> rates;
             for (const double base : bases) rates.push_back(self.at(step, base));
             return rates;
           })
      .def("next", [](const Course& self, double step, const std::vector<double>& rates,
                      const std::vector<double>& bases, bool begins) {
        std::vector<double> made;
        for (size_t i = 0; i < std::min(rates.size(), bases.size()); ++i)
          made.push_back(self.next(step, rates[i], bases[i], begins));
        return made;
      });
  // Named as the schedules that take these arguments, for errors.
  m.def("StepLR", &optim::step_lr, "step_size"_a, "gamma"_a);
  m.def("MultiStepLR", &optim::multi_step_lr, "milestones"_a, "gamma"_a);
  m.def("ConstantLR", &optim::constant_lr, "factor"_a, "total_iters"_a);
  m.def("LinearLR", &optim::linear_lr, "start_factor"_a, "end_factor"_a, "total_iters"_a);
  m.def("ExponentialLR", &optim::exponential_lr, "gamma"_a);
  m.def("PolynomialLR", &optim::polynomial_lr, "total_iters"_a, "power"_a);
  m.def("CosineAnnealingLR", &optim::cosine_annealing_lr, "T_max"_a, "eta_min"_a);
  const auto pair_of = [](const optim::Restart& now) { return std::pair(now.at, now.length); };
  m.def("_restart_at", [pair_of](double step, double first, double longer) {
    return pair_of(optim::restart_at(step, first, longer));
  });
  m.def("_next_restart", [pair_of](double at, double length, double longer) {
    return pair_of(optim::next_restart({at, length}, longer));
  });
  const auto annealing = [](const std::string& name) {
    return name == "linear" ? optim::Annealing::linear : optim::Annealing::cosine;
  };
  m.def("_between", [annealing](const std::string& how, double from, double to, double share) {
    return optim::between(annealing(how), from, to, share);
  });
  m.def("_phase_at", [](const std::vector<double>& ends, double step) {  // which, and how far in it
    std::vector<optim::Phase> phases;
    for (const double end : ends) phases.push_back({end, 0, 1});
    size_t at = 0;
    while (at + 1 < ends.size() && step > ends[at]) ++at;
    return std::pair(at, optim::along(phases, optim::Annealing::linear, step));
  });
  m.def("_cycle_at", [](double step, double length, double rising) {
    const optim::Cycle now = optim::cycle_at(step, length, rising);
    return std::pair(now.number, now.share);
  });
  m.def("_cycle_height", [](const std::string& mode, double gamma, double number_or_step) {
    using optim::CycleHeight;
    const auto height = mode == "triangular2" ? CycleHeight::halved
                        : mode == "exp_range" ? CycleHeight::powers
                                              : CycleHeight::same;
    return optim::height_of({.height = height, .gamma = gamma}, number_or_step, number_or_step);
  });
  m.def("_cyclic", [](double base, double most, double share, double height) {
    return optim::between(optim::Annealing::linear, base, most, share * height);
  });
  m.def("_times", [](std::vector<double> rates, const std::vector<double>& factors) {
    for (size_t i = 0; i < std::min(rates.size(), factors.size()); ++i) rates[i] *= factors[i];
    return rates;
  });
  const auto plateau = [](double factor, int64_t patience, double threshold, int64_t cooldown, double least, bool rises,
                          bool absolute, double eps) {
    return optim::PlateauOptions{.factor = factor,
                                 .patience = patience,
                                 .threshold = threshold,
                                 .cooldown = cooldown,
                                 .least = least,
                                 .rises = rises,
                                 .absolute = absolute,
                                 .eps = eps};
  };
  m.def("_observe", [plateau](double best, int64_t bad, int64_t cooling, double value, int64_t patience,
                              double threshold, int64_t cooldown, bool rises, bool absolute) {
    optim::Observed seen{best, bad, cooling};
    const bool falls = observe(seen, plateau(0.5, patience, threshold, cooldown, 0, rises, absolute, 0), value);
    return std::tuple(seen.best, seen.bad, seen.cooling, falls);
  });
  m.def("_lowered", [plateau](double rate, double factor, double least, double eps) {
    return optim::lowered(rate, plateau(factor, 0, 0, 0, least, false, false, eps));
  });
}

}  // namespace

void bind_optim(py::module_& m) {
  py::module_ optim = m.def_submodule("_optim");
  bind_optimizers(optim);
  bind_schedules(optim);
  bind_courses(optim);
}

}  // namespace tenon::python
