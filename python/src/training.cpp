// Runs from a config.

#include "bind.h"
#include "functions.h"

namespace tenon::python {
namespace {

using namespace py::literals;

py::dict metrics_of(const watch::StepMetrics& metrics) {
  py::dict made("step"_a = metrics.step, "loss"_a = metrics.loss, "lr"_a = metrics.lr,
                "gradient_norm"_a = metrics.gradient_norm, "items_per_second"_a = metrics.items_per_second,
                "seconds"_a = metrics.seconds);
  if (metrics.validation_loss) made["validation_loss"] = *metrics.validation_loss;
  for (const auto& [name, value] : metrics.validation_metrics) made[py::str("validation_" + name)] = value;
  return made;
}

py::dict result_of(const train::TrainResult& result) {
  py::dict made("step"_a = result.step, "loss"_a = result.loss, "validation_loss"_a = result.validation_loss,
                "best_validation_loss"_a = result.best_validation_loss, "seconds"_a = result.seconds,
                "items_per_second"_a = result.items_per_second, "stopped"_a = result.stopped, "model"_a = result.model,
                "report"_a = result.report,
                // A model that has learned little writes bytes that are no text.
                "last_sample"_a = text_object(result.last_sample));
  for (const auto& [name, value] : result.validation_metrics) made[py::str("validation_" + name)] = value;
  return made;
}

/// A preset, a file, or a dict of sections, with changes.
train::Config config_of(const py::object& config, const py::dict& changes) {
  train::Config made;
  if (PyDict_Check(config.ptr()))
    made = train::parse_config(py::cast<std::string>(py::module_::import("json").attr("dumps")(config)), "config");
  else
    made = train::load_config(PyUnicode_Check(config.ptr()) ? py::cast<std::string>(config)
                                                            : py::cast<std::filesystem::path>(config).string());
  std::vector<std::string> assignments;
  for (const auto& [key, value] : changes) {
    std::string text =
        PyBool_Check(value.ptr()) ? (value.ptr() == Py_True ? "true" : "false") : py::cast<std::string>(py::str(value));
    assignments.push_back(py::cast<std::string>(key) + "=" + text);
  }
  const train::Config before = made;
  train::set_all(made, assignments);
  train::make_fit(made, before, assignments);
  return made;
}

}  // namespace

void bind_training(Scope& m) {
  Scope t = m.def_submodule("_training");
  t.def(
      "train(config, folder, resume=False, quiet=False, stop_after=None, on_metrics=None, set={})",
      "Trains what a config says, a preset, a file or a dict, into a folder. Ctrl-C ends the run after its step, with "
      "a "
      "checkpoint.",
      [](const py::object& config, const std::filesystem::path& folder, bool resume, bool quiet,
         std::optional<int64_t> stop_after, const py::object& on_metrics, const py::dict& changes) {
        const train::Config run = config_of(config, changes);
        train::TrainOptions options{.folder = folder, .resume = resume, .stop_after = stop_after};
        if (quiet) options.out = nullptr;
        if (!on_metrics.is_none()) {
          options.on_metrics = [function = keep(on_metrics)](const watch::StepMetrics& metrics) {
            const Locked locked;
            py::reinterpret_borrow<py::object>(function.get())(metrics_of(metrics));
          };
        }
        return result_of(computed_aside([&] { return train::train(run, options); }));
      });
  t.def("load_config(config, set={})", "All keys of a config with their values.",
        [](const py::object& config, const py::dict& changes) {
          return py::module_::import("json").attr("loads")(train::to_json(config_of(config, changes)));
        });
  t.def("presets", "The configs that are part of the library.", [] {
    std::vector<std::string> names;
    for (const train::Preset& one : train::presets()) names.emplace_back(one.name);
    return names;
  });
  t.def("read_metrics(file)", "All steps of a metrics.jsonl.", [](const std::filesystem::path& file) {
    py::list list;
    for (const watch::StepMetrics& one : watch::read_metrics(file)) list.append(metrics_of(one));
    return list;
  });
}

}  // namespace tenon::python
