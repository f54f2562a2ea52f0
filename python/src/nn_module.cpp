// nn.Module: the C++ class itself, whose members of Python's are found by their attributes.
//
// A class of Python's that derives from it is a module of C++ for everything else: state dicts, to(), freeze(),
// optimizers, errors that name the module, captured functions that notice train() and replaced parameters. Tensors that
// are attributes have a slot in `Extras`, which lies in the object's __dict__; the objects themselves lie beside it.

#include <algorithm>
#include <unordered_set>

#include "nn.h"

namespace tenon::python {
namespace {

using namespace py::literals;
using nn::Module;

PyObject* parameter_type = nullptr;

/// Where tensors stand that Python has given a module.
struct Extras {
  std::map<std::string, std::unique_ptr<Tensor>> tensors;
};

// The protected functions of a module, for its bindings.
struct Open : Module {
  using Module::kLast;
  using Module::mark_as_list;
  using Module::register_buffer;
  using Module::register_module;
  using Module::register_parameter;
  using Module::remove_module;
  using Module::remove_tensor;
};

/// A module that was made in Python knows the name of its class.
class PythonModule : public Module {
 public:
  explicit PythonModule(std::string type) : type_(std::move(type)) {}
  std::string type_name() const override { return type_; }

 private:
  std::string type_;
};

Extras& extras_of(const py::object& self) {
  py::dict attributes = self.attr("__dict__");
  if (!attributes.contains("_extras")) attributes["_extras"] = py::cast(std::make_unique<Extras>());
  return py::cast<Extras&>(py::object(attributes["_extras"]));
}

void set_tensor(const py::object& self, const std::string& name, const Tensor& tensor, bool is_parameter,
                bool persistent) {
  auto& module = py::cast<Module&>(self);
  Extras& extras = extras_of(self);
  size_t place = Open::kLast;
  if (const auto known = extras.tensors.find(name); known != extras.tensors.end()) {
    place = (module.*(&Open::remove_tensor))(name);
    *known->second = tensor;
  } else {
    (module.*(&Open::remove_module))(name);
    extras.tensors.emplace(name, std::make_unique<Tensor>(tensor));
  }
  Tensor& slot = *extras.tensors.at(name);
  if (is_parameter) {
    const bool is_trained = !tensor.defined() || tensor.requires_grad();
    (module.*(&Open::register_parameter))(name, slot, place);
    if (!is_trained) slot.requires_grad_(false);
  } else {
    (module.*(&Open::register_buffer))(name, slot, persistent, place);
  }
}

/// The place of a module that was there.
size_t remove(const py::object& self, const std::string& name) {
  auto& module = py::cast<Module&>(self);
  const size_t place = (module.*(&Open::remove_module))(name);
  Extras& extras = extras_of(self);
  if (extras.tensors.find(name) == extras.tensors.end()) return place;
  (module.*(&Open::remove_tensor))(name);
  extras.tensors.erase(name);
  return place;
}

py::list named(const std::vector<nn::NamedTensor>& tensors, bool are_parameters) {
  py::list list;
  for (const nn::NamedTensor& one : tensors) {
    const py::object object =
        are_parameters ? parameter_object(one.tensor) : py::reinterpret_steal<py::object>(wrap(one.tensor));
    list.append(py::make_tuple(one.name, object));
  }
  return list;
}

/// Modules that are members of one of C++'s live as long as that: they keep the object that they were asked of.
template <typename Modules>
py::list named_modules(const py::object& owner, const Modules& modules) {
  py::list list;
  for (const nn::NamedModule& one : modules)
    list.append(py::make_tuple(one.name, py::cast(one.module, py::return_value_policy::reference_internal, owner)));
  return list;
}

/// Names of state dicts are those of all ways to a tensor: modules that hold each other have no end of them.
const Module& without_circles(const Module& module) {
  constexpr size_t kMostNested = 5000;
  struct Step {
    const Module* module;
    size_t next = 0;  // child to go on with
  };
  std::vector<Step> way{{&module}};
  std::unordered_set<const Module*> on_way{&module}, done;
  const auto refuse = [](const std::string& text) {
    PyErr_SetString(PyExc_RecursionError, text.c_str());
    throw py::error_already_set();
  };
  while (!way.empty()) {
    Step& last = way.back();
    if (last.next == last.module->children().size()) {
      done.insert(last.module);
      on_way.erase(last.module);
      way.pop_back();
      continue;
    }
    const nn::NamedModule& child = last.module->children()[last.next++];
    if (on_way.contains(child.module))
      refuse("the module " + child.name +
             " holds itself; keep the one above as an attribute that is no module, in a list say");
    if (done.contains(child.module)) continue;
    if (way.size() == kMostNested) refuse(fmt::format("modules are nested more than {} deep", kMostNested));
    on_way.insert(child.module);
    way.push_back({child.module});
  }
  return module;
}

/// In the order of the modules, without histories.
py::dict state_dict_of(const Module& module) {
  without_circles(module);
  py::dict dict;
  for (const nn::NamedTensor& one : module.named_state())
    dict[py::str(one.name)] = py::reinterpret_steal<py::object>(wrap_new(one.tensor.detach()));
  return dict;
}

nn::StateDict state_of(const py::dict& dict) {
  nn::StateDict state;
  for (const auto& [name, tensor] : dict) {
    const std::string key = Convert<std::string>::from(name.ptr());
    state[key] = is_tensor(tensor.ptr()) ? tensor_in(tensor.ptr()) : tensor_of_object(tensor.ptr());
  }
  return state;
}

// ---- garbage ----

// pybind11's function shows the collector the __dict__ of an object. For a class of Python's that derives from such a
// type, some versions of Python show it as well, and what is shown twice is never collected.
bool python_shows_dicts = false;

int traverse_module(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const bool is_shown = python_shows_dicts && Py_TYPE(self)->tp_traverse != &traverse_module;
  PyObject** dict = is_shown ? nullptr : _PyObject_GetDictPtr(self);
  if (dict) Py_VISIT(*dict);
  if (reinterpret_cast<py::detail::instance*>(self)->has_patients) {  // what it keeps alive
    const auto& kept = py::detail::get_internals().patients;
    if (const auto found = kept.find(self); found != kept.end()) {
      for (PyObject* one : found->second) Py_VISIT(one);
    }
  }
  return 0;
}

py::object call_forward(const py::object& self, const py::args& args, const py::kwargs& keywords) {
  const nn::CallScope scope(py::cast<const Module&>(self));
  return self.attr("forward")(*args, **keywords);
}

}  // namespace

py::object parameter_object(const Tensor& tensor) {
  py::object object = py::reinterpret_steal<py::object>(wrap(tensor));
  if (!parameter_type || Py_TYPE(object.ptr()) != tensor_type || !tensor.requires_grad()) return object;
  object = py::reinterpret_steal<py::object>(
      PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(parameter_type), Py_None, Py_None, nullptr));
  if (!object) throw py::error_already_set();
  tensor_in(object.ptr()) = tensor;
  make_known(object.ptr());
  return object;
}

bool is_parameter_object(const py::object& object) {
  return parameter_type && PyObject_IsInstance(object.ptr(), parameter_type) == 1;
}

bool is_parameter_of(const Module& module, const Tensor& tensor) {
  if (!tensor.defined()) return false;
  const auto named = module.named_parameters();
  return std::any_of(named.begin(), named.end(),
                     [&](const nn::NamedTensor& one) { return one.tensor.identity() == tensor.identity(); });
}

void bind_module(py::module_& m) {
  py::class_<Extras>(m, "_Extras");
  const auto traverses = [](PyHeapTypeObject* type) { type->ht_type.tp_traverse = traverse_module; };
  py::class_<Module, std::shared_ptr<Module>>(m, "Module", py::dynamic_attr(), py::custom_type_setup(traverses))
      .def(py::init([](const std::string& type) { return std::shared_ptr<Module>(new PythonModule(type)); }))
      .def("_set_parameter", [](py::object self, const std::string& name,
                                const Tensor& tensor) { set_tensor(self, name, tensor, true, true); })
      .def("_set_buffer", [](py::object self, const std::string& name, const Tensor& tensor,
                             bool persistent) { set_tensor(self, name, tensor, false, persistent); })
      .def("_set_module",
           [](py::object self, const std::string& name, Module& child) {
             const size_t place = remove(self, name);
             (py::cast<Module&>(self).*(&Open::register_module))(name, child, place);
           })
      .def("_remove", [](py::object self, const std::string& name) { remove(self, name); })
      .def("_mark_as_list", [](Module& self) { (self.*(&Open::mark_as_list))(); })
      .def("__call__", &call_forward)
      .def(
          "named_parameters", [](const Module& self) { return named(self.named_parameters(), true); },
          "Dotted names and parameters, own ones before those of modules below.")
      .def(
          "parameters",
          [](const Module& self) {
            py::list list;
            for (const Tensor& one : self.parameters()) list.append(parameter_object(one));
            return list;
          },
          "All parameters.")
      .def(
          "named_buffers", [](const Module& self) { return named(self.named_buffers(), false); },
          "Dotted names and buffers.")
      .def("buffers", &Module::buffers, "All buffers.")
      .def("_named_modules",
           [](py::object self) { return named_modules(self, py::cast<Module&>(self).named_modules()); })
      .def("_named_children", [](py::object self) { return named_modules(self, py::cast<Module&>(self).children()); })
      .def(
          "train",
          [](py::object self, bool mode) {
            py::cast<Module&>(self).train(mode);
            return self;
          },
          "mode"_a = true, "Switches dropout and the like on, here and below.")
      .def(
          "eval",
          [](py::object self) {
            py::cast<Module&>(self).eval();
            return self;
          },
          "Switches dropout and the like off.")
      .def_property_readonly("training", &Module::is_training)
      .def(
          "zero_grad", [](Module& self, bool) { self.zero_grad(); }, "set_to_none"_a = true,
          "Lets go of all gradients; of set_to_none=False, too: what is added to nothing is as if added to zeros.")
      .def(
          "requires_grad_",
          [](py::object self, bool on) {
            py::cast<Module&>(self).requires_grad_(on);
            return self;
          },
          "requires_grad"_a = true, "Freezes all parameters, or thaws them.")
      .def(
          "freeze",
          [](py::object self, const std::string& pattern) {
            py::cast<Module&>(self).freeze(pattern);
            return self;
          },
          "pattern"_a = "*", "Freezes the parameters whose dotted names match: * stands for any letters.")
      .def(
          "unfreeze",
          [](py::object self, const std::string& pattern) {
            py::cast<Module&>(self).unfreeze(pattern);
            return self;
          },
          "pattern"_a = "*", "Thaws the parameters whose dotted names match.")
      .def("_to",
           [](Module& self, const py::object& device, std::optional<DType> dtype) {
             if (!device.is_none() && dtype)
               self.to(Convert<Device>::from(device.ptr()), *dtype);
             else if (!device.is_none())
               self.to(Convert<Device>::from(device.ptr()));
             else if (dtype)
               self.to(*dtype);
           })
      .def("state_dict", &state_dict_of,
           "All parameters and persistent buffers by their dotted names; they share the module's memory.")
      .def(
          "load_state_dict",
          [](Module& self, const py::dict& state, bool strict, bool assign) {
            without_circles(self);
            const nn::LoadReport report = self.load_state_dict(state_of(state), strict, assign);
            return py::make_tuple(report.missing, report.unexpected);
          },
          "state_dict"_a, "strict"_a = true, "assign"_a = false,
          "Copies values in by name; returns the names that were missing and those that were unexpected.")
      .def("_summary_of_call",
           [](const Module& self, const py::function& call) { return nn::summary_of_call(self, [&] { call(); }); })
      .def(
          "summary", [](const Module& self) { return self.summary(); },
          "A table of all modules with their parameters, and the totals.")
      .def("count_parameters", &Module::count_parameters, "trainable"_a = false, "Elements of all parameters.")
      .def("set_name", &Module::set_name, "name"_a, "Names a module without a parent, for error messages.")
      .def_property_readonly("_type_name", &Module::type_name);
  m.def("_set_parameter_type", [](py::object type) { parameter_type = type.release().ptr(); });
  m.def("_set_python_shows_dicts", [](bool shows) { python_shows_dicts = shows; });
  m.def("_is_made", [](py::handle module) {
    if (!py::isinstance<Module>(module)) throw_type_error("a module is needed, not " + type_name_of(module.ptr()));
    return reinterpret_cast<py::detail::instance*>(module.ptr())->get_value_and_holder().holder_constructed();
  });
  m.def("_make_known", [](py::object tensor) {
    Convert<Tensor>::from(tensor.ptr());
    make_known(tensor.ptr());
  });
  m.def(
      "save_module",
      [](const std::filesystem::path& path, const Module& module) {
        models::save_module(path, without_circles(module));
      },
      "path"_a, "module"_a, "Writes all parameters and buffers as safetensors.");
  m.def(
      "load_module",
      [](const std::filesystem::path& path, Module& module, bool strict) {
        without_circles(module);
        const nn::LoadReport report = models::load_module(path, module, strict);
        return py::make_tuple(report.missing, report.unexpected);
      },
      "path"_a, "module"_a, "strict"_a = true, "Copies a file's tensors in by name.");
}

}  // namespace tenon::python
