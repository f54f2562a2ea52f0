// Runs from a config.

#include "bind.h"
#include "functions.h"

namespace tenon::python {
namespace {

using namespace py::literals;

py::dict metrics_of(const watch::StepMetrics& metrics) {
  py::dict made;
  made["step"] = metrics.step;
  made["loss"] = metrics.loss;
  made["lr"] = metrics.lr;
  made["gradient_norm"] = metrics.gradient_norm;
  made["items_per_second"] = metrics.items_per_second;
  made["seconds"] = metrics.seconds;
  if (metrics.validation_loss) made["validation_loss"] = *metrics.validation_loss;
  for (const auto& [name, value] : metrics.validation_metrics) made[py::str("validation_" + name)] = value;
  return made;
}

py::dict result_of(const train::TrainResult& result) {
  py::dict made;
  made["step"] = result.step;
  made["loss"] = result.loss;
  made["validation_loss"] = result.validation_loss;
  made["best_validation_loss"] = result.best_validation_loss;
  for (const auto& [name, value] : result.validation_metrics) made[py::str("validation_" + name)] = value;
  made["seconds"] = result.seconds;
  made["items_per_second"] = result.items_per_second;
  made["stopped"] = result.stopped;
  made["model"] = result.model;
  made["report"] = result.report;
  // A model that has learned little writes bytes that are no text.
  PyObject* sample =
      PyUnicode_DecodeUTF8(result.last_sample.data(), static_cast<Py_ssize_t>(result.last_sample.size()), "replace");
  if (!sample) throw py::error_already_set();
  made["last_sample"] = py::reinterpret_steal<py::object>(sample);
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
      "train",
      [](const py::object& config, const std::filesystem::path& folder, bool resume, bool quiet,
         std::optional<int64_t> stop_after, const py::object& on_metrics, const py::dict& changes) {
        const train::Config run = config_of(config, changes);
        train::TrainOptions options;
        options.folder = folder;
        options.resume = resume;
        options.stop_after = stop_after;
        if (quiet) options.out = nullptr;
        if (!on_metrics.is_none()) {
          options.on_metrics = [function = keep(on_metrics)](const watch::StepMetrics& metrics) {
            const Locked locked;
            py::reinterpret_borrow<py::object>(function.get())(metrics_of(metrics));
          };
        }
        train::TrainResult result;
        {
          const ReleasedAside others_run;
          result = train::train(run, options);
        }
        return result_of(result);
      },
      "config"_a, "folder"_a, "resume"_a = false, "quiet"_a = false, "stop_after"_a = py::none(),
      "on_metrics"_a = py::none(), "set"_a = py::dict(),
      "Trains what a config says, a preset, a file or a dict, into a folder. Ctrl-C ends the run after its step, with "
      "a "
      "checkpoint.");
  t.def(
      "load_config",
      [](const py::object& config, const py::dict& changes) {
        return py::module_::import("json").attr("loads")(train::to_json(config_of(config, changes)));
      },
      "config"_a, "set"_a = py::dict(), "All keys of a config with their values.");
  t.def(
      "presets",
      [] {
        std::vector<std::string> names;
        for (const train::Preset& one : train::presets()) names.emplace_back(one.name);
        return names;
      },
      "The configs that are part of the library.");
  t.def(
      "read_metrics",
      [](const std::filesystem::path& file) {
        py::list list;
        for (const watch::StepMetrics& one : watch::read_metrics(file)) list.append(metrics_of(one));
        return list;
      },
      "file"_a, "All steps of a metrics.jsonl.");
}

}  // namespace tenon::python
