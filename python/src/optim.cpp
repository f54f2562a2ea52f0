// Optimizers, schedules and loss scaling.

#include <cmath>

#include "bind.h"
#include "functions.h"

namespace tenon::python {
namespace {

using optim::ParamGroup;

/// The tensors of anything that can be iterated over.
std::vector<Tensor> list_of(const py::object& tensors) {
  return Convert<std::vector<Tensor>>::from(py::list(tensors).ptr());
}

/// Tensors, or groups {"params": [...], "lr": ..., "weight_decay": ...}, as PyTorch takes them. Each of several groups
/// has a rate of its own, which can be set.
std::vector<ParamGroup> groups_of(const py::object& parameters, double lr) {
  const auto tensors = [](const py::object& list) {
    return is_tensor(list.ptr()) ? std::vector<Tensor>{tensor_in(list.ptr())} : list_of(list);
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

/// The scaler of an argument, or none: one that is not enabled is none.
optim::GradScaler* scaler_in(const py::object& object) {
  if (object.is_none()) return nullptr;
  const std::shared_ptr<optim::GradScaler> scaler = held<optim::GradScaler>(object);
  return py::cast<bool>(object.attr("is_enabled")()) ? scaler.get() : nullptr;
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
  explicit On(std::shared_ptr<optim::Optimizer> of, Arguments&&... arguments)
      : S(*of, std::forward<Arguments>(arguments)...), optimizer(std::move(of)) {}
  std::vector<double> last_lr() const {
    std::vector<double> rates;
    for (size_t group = 0; group < optimizer->groups(); ++group) rates.push_back(optimizer->lr(group));
    return rates;
  }
  std::shared_ptr<optim::Optimizer> optimizer;
};

/// The settings of a rule in the order of its options, which Python has completed; a pair is two of them.
class Settings {
 public:
  struct One {
    const char *rule, *name;
    PyObject* value;
    template <typename T>
    requires std::same_as<T, double> || std::same_as<T, bool>
    operator T() const {  // NOLINT: what the option is decides
      try {
        return Convert<T>::from(value);
      } catch (const py::builtin_exception& error) {
        rethrow_naming(error, rule, name);
      }
    }
  };

  Settings(const std::string& rule, const py::dict& given) : rule_(rule) {
    for (const auto& [name, value] : given) {
      const char* text = PyUnicode_AsUTF8(name.ptr());
      if (!py::isinstance<py::tuple>(value) && !py::isinstance<py::list>(value)) {
        all_.push_back({rule_.c_str(), text, value.ptr()});
        continue;
      }
      for (const py::handle part : value) all_.push_back({rule_.c_str(), text, part.ptr()});
    }
  }
  const One& next() { return all_.at(next_++); }

 private:
  std::string rule_;
  std::vector<One> all_;
  size_t next_ = 0;
};

using Made = std::shared_ptr<optim::Optimizer>;

template <typename Rule, typename Options, size_t... I>
Made made_of(std::vector<ParamGroup> groups, Settings& settings, std::index_sequence<I...>) {
  return std::make_shared<Rule>(std::move(groups), Options{(void(I), settings.next())...});
}

/// A rule whose options are so many settings.
template <typename Rule, typename Options, size_t kCount>
Made made(std::vector<ParamGroup> groups, Settings& settings) {
  return made_of<Rule, Options>(std::move(groups), settings, std::make_index_sequence<kCount>());
}

Made make_rule(const std::string& rule, const py::object& parameters, const py::dict& given) {
  using namespace optim;
  static const std::map<std::string, Made (*)(std::vector<ParamGroup>, Settings&)> rules{
      {"SGD", made<SGD, SgdOptions, 5>},
      {"Adam", made<Adam, AdamOptions, 6>},
      {"AdamW", made<AdamW, AdamWOptions, 6>},
      {"RMSprop", made<RMSprop, RmspropOptions, 6>},
      {"Adagrad", made<Adagrad, AdagradOptions, 5>},
      {"Lion", made<Lion, LionOptions, 4>},
      {"Adadelta", made<Adadelta, AdadeltaOptions, 4>},
      {"Adamax", made<Adamax, AdamaxOptions, 5>},
      {"NAdam", made<NAdam, NAdamOptions, 7>},
      {"RAdam", made<RAdam, RAdamOptions, 6>},
      {"Rprop", made<Rprop, RpropOptions, 5>}};
  Settings settings(rule, given);
  const double lr = Settings(rule, given).next();
  return rules.at(rule)(groups_of(parameters, lr), settings);
}

void bind_optimizers(Scope& m) {
  using optim::Optimizer;
  Class<Optimizer>(m, "Optimizer", "Behind the optimizers of Python.")
      .def("step", &step)
      .def("zero_grad", &Optimizer::zero_grad)
      .def("clip_grad_norm(max_norm, scaler=None)",
           "The norm of all gradients; the next step() shrinks them to at most max_norm.",
           [](Optimizer& self, double most, const py::object& scaler) {
             return self.clip_grad_norm(most, scaler_in(scaler));
           })
      .def("keep_gradients", &Optimizer::keep_gradients)
      .def("accumulate", "Adds the gradients to those kept.", &Optimizer::accumulate)
      .def("gather", "Takes parameters that were given other memory back into one stretch.", &Optimizer::gather)
      .def("keep_shadow(dtype=tenon.bfloat16)", "Updates also write the parameters in a lower type, for autocast.",
           &Optimizer::keep_shadow)
      .def("keep_average(decay=0.999)", "Every step also moves an average of the weights.", &Optimizer::keep_average)
      .def("swap_average", "Puts the averages in the place of the weights, and back.", &Optimizer::swap_average)
      .def("_moments", [](const Optimizer& self) { return dict_of(self.state_dict()); })
      .def("_load_moments", [](Optimizer& self, const py::dict& state) { self.load_state_dict(tensors_in(state)); })
      .def("steps", "Updates so far.", &Optimizer::steps)
      .property(
          "lr", "The learning rate; set, it is that of all groups that had it.",
          [](const Optimizer& self) { return self.lr(); }, &set_common_lr)
      .def("group_lr(group)", [](const Optimizer& self, size_t group) { return self.lr(group); })
      .def("set_group_lr(group, lr)", &set_rate)
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
      .property("groups", &Optimizer::groups);
  m.def("_make(rule, params, settings)", &make_rule);
  // tenon.optim.GradScaler derives from it.
  Class<optim::GradScaler>(m, "_GradScaler", "Dynamic loss scaling for float16.")
      .init("init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, device=None",
            [](double initial, double growth, double backoff, int64_t interval, const Device& device) {
              return std::make_unique<optim::GradScaler>(optim::GradScalerOptions{initial, growth, backoff, interval},
                                                         device);
            })
      .def("_scale", &optim::GradScaler::scale)
      .def("_unscale", released(&optim::GradScaler::unscale))
      .def("_update",
           [](optim::GradScaler& self, const std::vector<Tensor>& good) {  // of several optimizers
             const Released others_run;
             Tensor finite = good.at(0);
             for (size_t i = 1; i < good.size(); ++i) finite = logical_and(finite, good[i]);
             self.update(finite);
           })
      .def("factor", "The factor now; reads it from the device.", &optim::GradScaler::factor)
      .def("_numbers", [](const optim::GradScaler& self) { return dict_of(self.state_dict()); })
      .def("_load_numbers",
           [](optim::GradScaler& self, const py::dict& state) { self.load_state_dict(tensors_in(state)); });
  m.def("clip_grad_norm_(parameters, max_norm)",
        "Scales all gradients so that their norm together is at most max_norm.",
        [](const py::object& parameters, double most) { return optim::clip_grad_norm_(list_of(parameters), most); });
  m.def("_log", [](double value) { return std::log(value); });  // of NAdam's state
  m.def("_total_norm", &optim::total_norm);
  m.def("_clip_grads_with_norm", &optim::clip_grads_with_norm_);
  m.def("decay_matrices_only(parameters)", "Two groups: matrices and larger with weight decay, vectors without.",
        [](const py::object& parameters) {
          py::list groups;
          for (const ParamGroup& group : optim::decay_matrices_only(list_of(parameters))) {
            py::dict made;
            made["params"] = py::cast(group.parameters);
            if (group.weight_decay) made["weight_decay"] = *group.weight_decay;
            groups.append(made);
          }
          return groups;
        });
}

/// A schedule of Python's or C++'s, set on an optimizer that it keeps.
void bind_schedules(Scope& m) {
  m.def("constant(warmup=0)", &optim::constant);
  m.def("linear(total, warmup=0, last=0.0)", "Falls evenly from 1 to last.",
        [](int64_t total, int64_t warmup, double last) {
          return optim::linear(total, {warmup, last});
        });
  m.def("cosine(total, warmup=0, last=0.0, cycles=1, longer=1.0)", "Half a cosine from 1 to last.",
        [](int64_t total, int64_t warmup, double last, int64_t cycles, double longer) {
          return optim::cosine(total, {warmup, last}, cycles, longer);
        });
  m.def("one_cycle(total, rise=0.3, start=25.0, end=1e4)", &optim::one_cycle);
  m.def("stepwise(every, factor=0.1, warmup=0)", &optim::stepwise);
  m.def("exponential(factor, warmup=0)", &optim::exponential);
  using Scheduler = On<optim::Scheduler>;
  using Plateau = On<optim::Plateau>;
  Class<Scheduler>(m, "Scheduler", "Sets the rates of an optimizer: base rate times a factor of the step.")
      .init_of<std::shared_ptr<optim::Optimizer>, optim::Schedule>("optimizer, schedule")
      .def("step", "After an update: sets the rate of the next.", &Scheduler::step)
      .def("set(step)", &Scheduler::set)
      .def("steps", &Scheduler::steps)
      .def("get_last_lr", "The rate of each group.", &Scheduler::last_lr)
      .def("state_dict", "The step it stands at.",
           [](const Scheduler& self) { return py::dict(py::arg("last_epoch") = self.steps()); })
      .def("load_state_dict(state)", "Goes to the step of a state.",
           [](Scheduler& self, const py::dict& state) { self.set(py::cast<int64_t>(state["last_epoch"])); });
  Class<Plateau>(m, "Plateau", "Lowers the rate when an observed loss stops falling.")
      .def("get_last_lr", "The rate of each group.", &Plateau::last_lr)
      .init("optimizer, factor=0.1, patience=10, threshold=1e-4, cooldown=0, min_lr=0.0, warmup=0",
            [](std::shared_ptr<optim::Optimizer> optimizer, double factor, int64_t patience, double threshold,
               int64_t cooldown, double least, int64_t warmup) {
              return std::make_unique<Plateau>(
                  std::move(optimizer), optim::PlateauOptions{factor, patience, threshold, cooldown, least, warmup});
            })
      .def("step(loss=None)", [](Plateau& self, std::optional<double> loss) {
        if (loss)
          self.observe(*loss);
        else
          self.step();
      });
}

/// What tenon.optim.lr_scheduler computes with.
void bind_courses(Scope& m) {
  using optim::Course;
  Class<Course>(m, "_Course")
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
  m.def("StepLR(step_size, gamma)", &optim::step_lr);
  m.def("MultiStepLR(milestones, gamma)", &optim::multi_step_lr);
  m.def("ConstantLR(factor, total_iters)", &optim::constant_lr);
  m.def("LinearLR(start_factor, end_factor, total_iters)", &optim::linear_lr);
  m.def("ExponentialLR(gamma)", &optim::exponential_lr);
  m.def("PolynomialLR(total_iters, power)", &optim::polynomial_lr);
  m.def("CosineAnnealingLR(T_max, eta_min)", &optim::cosine_annealing_lr);
  const auto pair_of = [](const optim::Restart& now) { return std::pair(now.at, now.length); };
  m.def("_restart_at", [pair_of](double step, double first, double longer) {
    return pair_of(optim::restart_at(step, first, longer));
  });
  m.def("_next_restart", [pair_of](double at, double length, double longer) {
    return pair_of(optim::next_restart({at, length}, longer));
  });
  m.def("_half_cosine", [](double from, double to, double at, double length) {
    return optim::between(optim::Annealing::cosine, from, to, at / length);
  });
  m.def("_one_cycle_ends", [](double top, double start, double end) {  // the first rate and the last
    return std::pair(top / start, top / start / end);
  });
  m.def("_one_cycle", [](double total, double rise, bool three_phases, const std::string& how, double step,
                         double first, double top, double last) {
    const auto annealing = how == "linear" ? optim::Annealing::linear : optim::Annealing::cosine;
    return optim::one_cycle_at({total, rise, three_phases, annealing}, step, first, top, last);
  });
  m.def("_cycle_sizes", [](double up, std::optional<double> down) {  // of a cycle, and the share of it that rises
    const double length = up + down.value_or(up);
    return std::pair(length, up / length);
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
  m.def("_observe", [](double best, int64_t bad, int64_t cooling, double value, int64_t patience, double threshold,
                       int64_t cooldown, bool rises, bool absolute) {
    optim::Observed seen{best, bad, cooling};
    const optim::PlateauOptions options{
        .patience = patience, .threshold = threshold, .cooldown = cooldown, .rises = rises, .absolute = absolute};
    const bool falls = observe(seen, options, value);
    return std::tuple(seen.best, seen.bad, seen.cooling, falls);
  });
  m.def("_lowered", [](double rate, double factor, double least, double eps) {
    return optim::lowered(rate, {.factor = factor, .least = least, .eps = eps});
  });
}

}  // namespace

void bind_optim(Scope& m) {
  Scope optim = m.def_submodule("_optim");
  bind_optimizers(optim);
  bind_schedules(optim);
  bind_courses(optim);
}

}  // namespace tenon::python
