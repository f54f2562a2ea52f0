// What stands between modules of Python and those of the library.
//
// Every module of Python is an object of nn.Module of C++ as well: for state dicts, to(), freeze(), optimizers, errors
// that name the module, captured functions that notice train() and replaced parameters. Tensors that are attributes
// have a slot in `Extras`; the objects themselves lie in the object's __dict__. Modules inside of a model of C++ get an
// object when somebody asks for them.

#include <algorithm>
#include <unordered_set>

#include "bind.h"
#include "functions.h"

namespace tenon::python {
namespace {

using nn::Module;

PyTypeObject* parameter_type = nullptr;
PyObject* inside_type = nullptr;  // of Python, of modules inside of models of C++

/// Where tensors stand that Python has given a module.
struct Extras {
  std::map<std::string, std::unique_ptr<Tensor>> tensors;
  std::map<std::string, std::shared_ptr<Module>> modules;  // kept, whatever becomes of the attribute
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

constexpr std::string_view kMark = "_settings";

bool is_mark(std::string_view name) { return name == kMark || name.ends_with(std::string(".") + std::string(kMark)); }

/// A module that was made in Python knows the name of its class. A setting that a captured function may have read is no
/// tensor: when one is set, the module gets another tensor that nobody sees, which such functions notice.
class PythonModule : public Module {
 public:
  explicit PythonModule(std::string type) : type_(std::move(type)) {}
  std::string type_name() const override { return type_; }

  /// Tensors that are attributes. Nobody reaches them through the object's __dict__.
  Extras extras;

  void note_change() {
    constexpr size_t kMarks = 61;  // used one after the other: a freed one might come again at the same address
    if (marks_.empty()) register_buffer(std::string(kMark), mark_, false);
    if (marks_.size() < kMarks) marks_.push_back(zeros({}, Options(DType::f32, Device("cpu"))));
    mark_ = marks_[changes_++ % kMarks];
  }

 private:
  std::string type_;
  Tensor mark_;
  std::vector<Tensor> marks_;
  size_t changes_ = 0;
};

/// A Linear of Python: what attach_lora() gives a correction.
class PythonLinear : public PythonModule, public nn::Adaptable {
 public:
  using PythonModule::PythonModule;

  void adapt(const nn::LoraOptions& options) override {
    if (lora_) base::fail("lora", "{} has a correction already; merge() it first", scope_name());
    const Tensor w = weight();
    lora_ = std::make_unique<nn::Lora>(w.size(1), w.size(0), options, Options(w.dtype(), w.device()));
    lora_->train(is_training());
    register_module("lora", *lora_);
  }
  void merge() override {
    if (!lora_) return;
    const NoGrad merging;
    weight().add_(lora_->delta().transpose(0, 1));
    remove_module("lora");
    lora_.reset();
  }
  const nn::Lora* lora() const override { return lora_.get(); }

 private:
  Tensor weight() const {
    for (const nn::NamedTensor& one : named_parameters()) {
      if (one.name == "weight") return one.tensor;
    }
    base::fail("lora", "{} has no weight", scope_name());
  }

  std::unique_ptr<nn::Lora> lora_;
};

std::shared_ptr<Module> made_module(const std::string& type, std::string_view kind) {
  if (kind == "linear") return std::make_shared<PythonLinear>(type);
  auto made = std::make_shared<PythonModule>(type);
  if (kind == "list") ((*made).*(&Open::mark_as_list))();
  return made;
}

py::handle constructor;  // of bound modules, which takes the module itself; no program sees it

/// Gives an object its module.
void put_into(const py::object& object, std::shared_ptr<Module> module) { constructor(object, py::capsule(&module)); }

/// The module of an object; `used` says in what call.
std::shared_ptr<Module> module_in(PyObject* object, const char* used) {
  try {
    return py::cast<std::shared_ptr<Module>>(py::handle(object));
  } catch (const py::cast_error&) {
    throw_type_error(fmt::format("{} is {} before its __init__ was called", type_name_of(object), used));
  }
}

/// Modules are there before their __init__ runs: whoever forgets to call it, or calls __new__, has a module. Models of
/// C++ are made by their constructors.
PyObject* new_module(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static auto* native = reinterpret_cast<PyTypeObject*>(py::type::of<Module>().ptr());
    auto made = py::reinterpret_steal<py::object>(native->tp_base->tp_new(type, args, keywords));
    if (!made) return nullptr;
    const auto kind =
        py::reinterpret_steal<py::object>(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "_library_kind"));
    const char* text = kind ? PyUnicode_AsUTF8(kind.ptr()) : nullptr;
    if (!text) return nullptr;
    const std::string_view name = type->tp_name;
    if (std::string_view(text) != "cpp")
      put_into(made, made_module(std::string(name.substr(name.rfind('.') + 1)), text));
    return made.release().ptr();
  });
}

/// Models of C++ have theirs beside their attributes.
Extras& extras_of(const py::object& self) {
  if (auto* own = dynamic_cast<PythonModule*>(&py::cast<Module&>(self))) return own->extras;
  py::dict attributes = self.attr("__dict__");
  if (!attributes.contains("_extras")) attributes["_extras"] = py::cast(std::make_shared<Extras>());
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
    extras.modules.erase(name);
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
  extras.modules.erase(name);
  if (extras.tensors.find(name) == extras.tensors.end()) return place;
  (module.*(&Open::remove_tensor))(name);
  extras.tensors.erase(name);
  return place;
}

void set_module(const py::object& self, const std::string& name, const std::shared_ptr<Module>& child) {
  const size_t place = remove(self, name);
  (py::cast<Module&>(self).*(&Open::register_module))(name, *child, place);
  extras_of(self).modules[name] = child;
}

py::list named(const std::vector<nn::NamedTensor>& tensors, bool are_parameters) {
  py::list list;
  for (const nn::NamedTensor& one : tensors) {
    const py::object object = are_parameters ? parameter_object(one.tensor) : owned(wrap(one.tensor));
    list.append(py::make_tuple(one.name, object));
  }
  return list;
}

/// The object of a module: of one that Python has made, or of a model, there is one. One inside of a model gets one
/// that keeps the model; where its class is not bound, its owner keeps that object.
py::object module_object(const py::object& owner, Module& module) {
  const std::shared_ptr<Module> shared(py::cast<std::shared_ptr<Module>>(owner), &module);
  py::object known = py::cast(shared);
  if (!py::type::of(known).is(py::type::of<Module>())) return known;
  py::dict attributes = owner.attr("__dict__");
  if (!attributes.contains("_inside")) attributes["_inside"] = py::dict();
  py::dict kept = attributes["_inside"];
  const py::int_ key(reinterpret_cast<intptr_t>(&module));
  if (kept.contains(key)) return kept[key];
  py::object made = py::type::of<Module>().attr("__new__")(py::handle(inside_type));
  put_into(made, shared);
  kept[key] = made;
  return made;
}

py::list children_of(const py::object& self) {
  py::list list;
  for (const nn::NamedModule& one : py::cast<Module&>(self).children())
    list.append(py::make_tuple(one.name, module_object(self, *one.module)));
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
  for (const nn::NamedTensor& one : module.named_state()) dict[py::str(one.name)] = object_of(one.tensor.detach());
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

// ---- calls ----

PyObject* hook_runner = nullptr;  // calls forward() with a module's hooks around it

void collect(PyObject* value, std::vector<Tensor>& into) {
  if (is_tensor(value)) into.push_back(tensor_in(value));
  if (!PyTuple_Check(value)) return;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) collect(PyTuple_GET_ITEM(value, i), into);
}

PyObject* call_forward(PyObject* self, PyObject* args, PyObject* keywords) {
  static PyObject* const hooks = PyUnicode_InternFromString("_hooks");
  static PyObject* const forward = PyUnicode_InternFromString("forward");
  const auto attributes = py::reinterpret_steal<py::object>(PyObject_GenericGetDict(self, nullptr));
  if (PyObject* own = attributes ? PyDict_GetItemWithError(attributes.ptr(), hooks) : nullptr;
      own && PyList_GET_SIZE(own))
    return PyObject_CallFunctionObjArgs(hook_runner, self, own, args, keywords ? keywords : Py_None, nullptr);
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  if (keywords || count > 3) {
    const auto method = py::reinterpret_steal<py::object>(PyObject_GetAttr(self, forward));
    return method ? PyObject_Call(method.ptr(), args, keywords) : nullptr;
  }
  PyObject* given[4] = {self};
  for (Py_ssize_t i = 0; i < count; ++i) given[i + 1] = PyTuple_GET_ITEM(args, i);
  return PyObject_VectorcallMethod(forward, given, static_cast<size_t>(count + 1), nullptr);
}

PyObject* get_training(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(module_in(self, "used")->is_training()); });
}

/// Sets the flag of this module alone, as assigning an attribute does: train() sets those below, too.
int set_training(PyObject* self, PyObject* value, void*) {
  return guarded([&] {
    const std::shared_ptr<Module> kept = module_in(self, "used");
    if (!value) throw_type_error("the attribute training cannot be deleted");
    Module& module = *kept;
    std::vector<std::pair<Module*, bool>> below;
    for (const nn::NamedModule& one : module.named_modules()) {
      if (one.module != &module) below.emplace_back(one.module, one.module->is_training());
    }
    module.train(Convert<bool>::from(value));
    for (const auto& [one, was_training] : below) {
      if (one->is_training() != was_training) one->train(was_training);
    }
    return 0;
  });
}

/// A function that changes a module and gives its object.
template <auto F, typename... Arguments>
py::object returning_self(py::object self, Arguments... arguments) {
  (py::cast<Module&>(self).*F)(arguments...);
  return self;
}

/// The correction that attach_lora() has given a layer, or null.
const nn::Lora* lora_of(const Module& module) {
  const auto* adapted = dynamic_cast<const nn::Adaptable*>(&module);
  return adapted ? adapted->lora() : nullptr;
}

/// Gradients become zeros, where there are any.
void zero_gradients(const std::vector<nn::NamedTensor>& parameters) {
  const NoGrad changing;
  for (const nn::NamedTensor& one : parameters) {
    if (Tensor gradient = one.tensor.grad(); gradient.defined()) gradient.zero_();
  }
}

/// module(...): forward() under the module's name, and under the eyes of an observer where there is one.
PyObject* call_module(PyObject* self, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    const std::shared_ptr<const Module> kept = module_in(self, "called");
    const Module& module = *kept;
    const nn::CallScope scope(module);
    nn::CallObserver* observer = nn::CallObserver::current();
    if (!observer) return call_forward(self, args, keywords);
    std::vector<Tensor> given, made;
    collect(args, given);
    observer->enter(module, given);
    PyObject* result = call_forward(self, args, keywords);
    if (!result) return nullptr;
    collect(result, made);
    observer->leave(module, made);
    return result;
  });
}

}  // namespace

py::object parameter_object(const Tensor& tensor) {
  py::object object = owned(wrap(tensor));
  if (!parameter_type || Py_TYPE(object.ptr()) != tensor_type || !tensor.requires_grad()) return object;
  object = owned(wrap_as(parameter_type, tensor));
  make_known(object.ptr());
  return object;
}

/// The object, where it is a module.
const py::object& required_module(const py::object& object) {
  if (!py::isinstance<Module>(object)) throw_type_error("a module is needed, not " + type_name_of(object.ptr()));
  (void)module_in(object.ptr(), "used");
  return object;
}

/// What module.py calls for every attribute that is a tensor or a module.
void note_members() {
  define<"_set_parameter", "module, name, tensor",
         [](const py::object& module, const std::string& name, const Tensor& tensor) -> py::object {
           set_tensor(required_module(module), name, tensor, true, true);
           return py::none();
         }>("A parameter under a name.", kFunction);
  define<"_set_buffer", "module, name, tensor, persistent",
         [](const py::object& module, const std::string& name, const std::optional<Tensor>& tensor,
            bool persistent) -> py::object {
           set_tensor(required_module(module), name, tensor.value_or(Tensor()), false, persistent);
           return py::none();
         }>("A buffer under a name.", kFunction);
  define<"_set_module", "module, name, child",
         [](const py::object& module, const std::string& name, const py::object& child) -> py::object {
           set_module(required_module(module), name, py::cast<std::shared_ptr<Module>>(required_module(child)));
           return py::none();
         }>("A module under a name.", kFunction);
  define<"_remove_member", "module, name", [](const py::object& module, const std::string& name) -> py::object {
    remove(required_module(module), name);
    return py::none();
  }>("Forgets what has a name.", kFunction);
  define<"_as_parameter", "tensor", [](Tensor tensor) -> py::object {
    tensor.requires_grad_();
    return parameter_object(tensor);
  }>("A tensor that nobody else has, as a parameter.", kFunction);
}

void bind_module(Scope& m) {
  Class<Extras>(m, "_Extras");
  static PyGetSetDef getters[] = {
      {"training", get_training, set_training, "Whether dropout and the like are on.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  const auto calls = py::custom_type_setup([](PyHeapTypeObject* type) {
    type->ht_type.tp_new = new_module;
    type->ht_type.tp_call = call_module;
    type->ht_type.tp_getset = getters;
  });
  Class<Module> bound(m, "_Module", calls);
  static_cast<py::class_<Module, std::shared_ptr<Module>>&>(bound).def(
      py::init([](const py::capsule& module) { return *module.get_pointer<std::shared_ptr<Module>>(); }));
  constructor = py::object(bound.attr("__init__")).release();
  py::delattr(bound, "__init__");
  bound.def("_named_parameters", [](const Module& self) { return named(self.named_parameters(), true); })
      .def("_parameters",
           [](const Module& self) {
             py::list list;
             for (const Tensor& one : self.parameters()) list.append(parameter_object(one));
             return list;
           })
      .def("_named_buffers",
           [](const Module& self) {
             std::vector<nn::NamedTensor> buffers = self.named_buffers();
             std::erase_if(buffers, [](const nn::NamedTensor& one) { return is_mark(one.name); });
             return named(buffers, false);
           })
      .def("_note_change",
           [](Module& self) {
             if (auto* mine = dynamic_cast<PythonModule*>(&self)) mine->note_change();
           })
      .def("_has_lora", [](const Module& self) { return lora_of(self) != nullptr; })
      .def("_with_lora",
           [](const Module& self, const Tensor& y, const Tensor& x) {
             const nn::Lora* lora = lora_of(self);
             return lora ? y + (*lora)(x) : y;
           })
      .def("_forward_of_library(input)",
           [](const Module& self, const Tensor& x) {
             if (const auto* layer = dynamic_cast<const nn::Layer*>(&self)) return layer->forward(x);
             PyErr_SetString(PyExc_NotImplementedError, (self.type_name() + " cannot be called from Python").c_str());
             throw py::error_already_set();
           })
      .def("_named_children", &children_of)
      .def("train(mode=True)", "Switches dropout and the like on, here and below.",
           returning_self<&Module::train, bool>)
      .def("eval", "Switches dropout and the like off.", returning_self<&Module::eval>)
      .def("zero_grad(set_to_none=True)", "Lets go of all gradients, or with set_to_none=False makes them zeros.",
           [](Module& self, bool set_to_none) {
             if (set_to_none)
               self.zero_grad();
             else
               zero_gradients(self.named_parameters());
           })
      .def("requires_grad_(requires_grad=True)", "Freezes all parameters, or thaws them.",
           returning_self<&Module::requires_grad_, bool>)
      .def("freeze(pattern='*')", "Freezes the parameters whose dotted names match: * stands for any letters.",
           returning_self<&Module::freeze, std::string>)
      .def("unfreeze(pattern='*')", "Thaws the parameters whose dotted names match.",
           returning_self<&Module::unfreeze, std::string>)
      .def("_to",
           [](Module& self, const py::object& device, std::optional<DType> dtype) {
             const Device where = Convert<Device>::from(device.ptr());
             if (!device.is_none() && dtype)
               self.to(where, *dtype);
             else if (!device.is_none())
               self.to(where);
             else if (dtype)
               self.to(*dtype);
           })
      .def("state_dict", "All parameters and persistent buffers by their dotted names; they share the module's memory.",
           &state_dict_of)
      .def("_load_state_dict(state_dict, strict=True, assign=False)",
           [](Module& self, const py::dict& state, bool strict, bool assign) {
             without_circles(self);
             const nn::LoadReport report = self.load_state_dict(state_of(state), strict, assign);
             return py::make_tuple(report.missing, report.unexpected);
           })
      .def("_summary_of_call",
           [](const Module& self, const py::function& call) { return nn::summary_of_call(self, [&] { call(); }); })
      .def("summary", "A table of all modules with their parameters, and the totals.",
           [](const Module& self) { return self.summary(); })
      .def("count_parameters(trainable=False)", "Elements of all parameters.", &Module::count_parameters)
      .def("set_name(name)", "Names a module without a parent, for error messages.", &Module::set_name)
      .property("_type_name", &Module::type_name);
  m.def("_set_parameter_type",
        [](py::object type) { parameter_type = reinterpret_cast<PyTypeObject*>(type.release().ptr()); });
  m.def("_set_inside_type", [](py::object type) { inside_type = type.release().ptr(); });
  m.def("_set_hook_runner", [](py::object runner) { hook_runner = runner.release().ptr(); });
  m.def("_make_known", [](py::object tensor) {
    Convert<Tensor>::from(tensor.ptr());
    make_known(tensor.ptr());
  });
  m.def("save_module(path, module)", "Writes all parameters and buffers as safetensors.",
        [](const std::filesystem::path& path, const Module& module) {
          models::save_module(path, without_circles(module));
        });
  m.def("load_module(path, module, strict=True)", "Copies a file's tensors in by name.",
        [](const std::filesystem::path& path, Module& module, bool strict) {
          without_circles(module);
          const nn::LoadReport report = models::load_module(path, module, strict);
          return py::make_tuple(report.missing, report.unexpected);
        });
}

}  // namespace tenon::python
