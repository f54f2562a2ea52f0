// Gradients, captured functions, numbers that vary, random streams: what has callbacks into Python or lasts for a
// block.

#include "bind.h"
#include "callbacks.h"
#include "functions.h"
#include "types.h"

namespace tenon::python {
namespace {

/// What acts while a `with` block lasts; blocks nest, and one object may be used by several.
template <typename Guard>
class Block {
 public:
  template <typename... Arguments>
  void enter(const Arguments&... arguments) {
    guards_.push_back(std::make_unique<Guard>(arguments...));
  }
  void leave() {
    if (guards_.empty()) throw std::runtime_error("a block is left that was not entered: __exit__ without __enter__");
    guards_.pop_back();
  }

 private:
  std::vector<std::unique_ptr<Guard>> guards_;
};

struct AutocastBlock {
  DType dtype = DType::bf16;
  bool enabled = true;
  Block<Autocast> blocks;
};

/// A hook on a tensor. The collector does not look into tensors: a hook that refers to its own tensor lasts until it is
/// removed, so that removing it lets go of the function at once.
struct PythonHook {
  HookHandle handle;
  std::shared_ptr<std::shared_ptr<PyObject>> function;
};

/// A captured function of Python's.
class CapturedFunction {
 public:
  CapturedFunction(const py::object& function, std::optional<size_t> verify_every)
      : function_(keep(function)),
        state_(std::make_shared<State>()),
        compiled_(
            [function = function_, state = state_](std::span<const Tensor> arguments) {
              const Locked locked;
              const py::object result = called(function, tuple_of_tensors(arguments));
              if (result.is_none()) {
                state->shape = Shape::none;
                return std::vector<Tensor>{};
              }
              state->shape = is_tensor(result.ptr()) ? Shape::one : Shape::several;
              return tensors_of(result, "a captured function");
            },
            CompileOptions{verify_every}) {}

  PyObject* call(PyObject* const* args, size_t count) {
    std::vector<Tensor> arguments;
    arguments.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      if (!is_tensor(args[i]))
        throw_type_error(
            fmt::format("a captured function takes tensors, and argument {} is {}; a number that changes is "
                        "a tenon.Scalar, one that does not belongs into the function",
                        i + 1, type_name_of(args[i])));
      arguments.push_back(tensor_in(args[i]));
    }
    if (state_->shape == Shape::one) {
      return wrap(computed([&] { return compiled_.call_for_one(arguments); }));
    }
    const std::vector<Tensor> results = computed([&] { return compiled_.call(arguments); });
    if (state_->shape == Shape::none) return Py_NewRef(Py_None);
    if (state_->shape == Shape::one) return wrap(results[0]);
    return tuple_of_tensors(results).release().ptr();
  }

  size_t recordings() const { return compiled_.recordings(); }
  py::object function() const { return py::reinterpret_borrow<py::object>(function_.get()); }

 private:
  enum class Shape : uint8_t { unknown, none, one, several };
  struct State {
    Shape shape = Shape::unknown;
  };
  std::shared_ptr<PyObject> function_;
  std::shared_ptr<State> state_;
  CompiledFunction compiled_;
};

template <typename Guard>
void bind_block(Scope& m, const char* name) {
  using Blocks = Block<Guard>;
  Class<Blocks>(m, name)
      .template init_of<>()
      .def("enter", [](Blocks& self) { self.enter(); })
      .def("leave", &Blocks::leave);
}

void bind_blocks(Scope& m) {
  bind_block<NoGrad>(m, "_NoGrad");
  bind_block<EnableGrad>(m, "_EnableGrad");
  Class<AutocastBlock>(m, "_Autocast")
      .init("dtype, enabled",
            [](DType dtype, bool enabled) {
              return AutocastBlock{dtype, enabled, {}};
            })
      .def("enter", [](AutocastBlock& self) { self.blocks.enter(self.dtype, self.enabled); })
      .def("leave", [](AutocastBlock& self) { self.blocks.leave(); });
  m.def("_set_grad_enabled", [](bool on) {
    struct Lasting {
      std::optional<NoGrad> off;
      std::optional<EnableGrad> on;
    };
    thread_local Lasting lasting;
    lasting.off.reset();
    lasting.on.reset();
    if (grad_enabled() == on) return;
    if (on)
      lasting.on.emplace();
    else
      lasting.off.emplace();
  });
  m.def("is_grad_enabled", "Whether ops record gradients now.", &grad_enabled);
}

PythonHook hooked(Tensor x, const py::object& hook) {
  const auto function = std::make_shared<std::shared_ptr<PyObject>>(keep(hook));
  HookHandle handle = x.register_hook([function](const Tensor& gradient) -> Tensor {
    const Locked locked;
    const std::shared_ptr<PyObject> now = *function;  // which may take itself away
    if (!now) return Tensor();
    const py::object result = called(now, tuple_of_tensors({&gradient, 1}));
    return result.is_none() ? Tensor() : Convert<Tensor>::from(result.ptr());
  });
  return {std::move(handle), function};
}

void bind_gradients(Scope& m) {
  m.def(
      "grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, "
      "allow_unused=None, is_grads_batched=False, materialize_grads=False)",
      "The gradients of the outputs' sum with respect to the inputs. The graph is always kept, as with retain_graph.",
      [](const py::object& outputs, const py::object& inputs, const py::object& grad_outputs, const py::object&,
         bool create_graph, bool, std::optional<bool> allow_unused, bool is_grads_batched, bool materialize_grads) {
        if (is_grads_batched) throw_value_error("gradients are taken one at a time: call grad() for each of the batch");
        const auto list = [](const py::object& object) {
          return is_tensor(object.ptr()) ? std::vector<Tensor>{tensor_in(object.ptr())}
                                         : Convert<std::vector<Tensor>>::from(object.ptr());
        };
        const std::vector<Tensor> of = list(outputs), to = list(inputs);
        GradOptions options;
        if (!grad_outputs.is_none()) options.grad_outputs = list(grad_outputs);
        options.create_graph = create_graph;
        options.allow_unused = allow_unused.value_or(materialize_grads);
        std::vector<Tensor> found = computed([&] { return grad(of, to, options); });
        for (size_t i = 0; materialize_grads && i < found.size(); ++i) {
          if (!found[i].defined()) found[i] = zeros(to[i].shape(), Options(to[i].dtype(), to[i].device()));
        }
        return tuple_of_tensors(found);
      });
  m.def("_backward", [](const std::vector<Tensor>& tensors, const py::list& given, bool retain, bool create) {
    std::vector<Tensor> gradients;
    for (const py::handle& gradient : given)
      gradients.push_back(Convert<std::optional<Tensor>>::from(gradient.ptr()).value_or(Tensor()));
    const Released others_run;
    backward(tensors, gradients, retain, create);
  });
  m.def("_apply", [](const std::string& name, const py::object& forward, const py::object& backward,
                     const std::vector<Tensor>& inputs) {
    const SavingFunction function{
        name,
        [forward = keep(forward)](FunctionContext& context, std::span<const Tensor> given) {
          const Locked locked;
          const py::tuple both = called(forward, tuple_of_tensors(given));  // results, saved tensors
          context.save_for_backward(Convert<std::vector<Tensor>>::from(py::object(both[1]).ptr()));
          return tensors_of(both[0], "forward()");
        },
        [backward = keep(backward)](const FunctionContext& context, std::span<const Tensor> grads) {
          const Locked locked;
          return tensors_of(
              called(backward, py::make_tuple(tuple_of_tensors(context.saved_tensors()), tuple_of_tensors(grads))),
              "backward()");
        }};
    return tuple_of_tensors(apply(function, std::span<const Tensor>(inputs)));
  });
  Class<PythonHook>(m, "HookHandle", "What register_hook() returns.")
      .def("remove", "Takes the hook away again, and lets go of the function.", [](PythonHook& self) {
        self.handle.remove();
        const auto gone = std::exchange(*self.function, nullptr);
      });
  m.def("gradcheck(f, inputs, eps=1e-6, atol=1e-5, rtol=1e-3)",
        "Compares the gradients of f with differences, at inputs of float64.",
        [](const py::object& f, const std::vector<Tensor>& inputs, double eps, double atol, double rtol) {
          const auto function = keep(f);
          const Released others_run;
          return gradcheck(
              [&](std::span<const Tensor> given) {
                const Locked locked;
                return Convert<Tensor>::from(called(function, tuple_of_tensors(given)).ptr());
              },
              inputs, eps, atol, rtol);
        });
}

/// Python's garbage collector looks through it: a model whose attribute is the captured step of the model is a cycle.
struct PyCaptured {
  PyObject ob_base;
  vectorcallfunc call;
  CapturedFunction* function;  // null once it was collected
};
CapturedFunction*& function_in(PyObject* object) { return reinterpret_cast<PyCaptured*>(object)->function; }

int clear_captured(PyObject* self) {
  delete std::exchange(function_in(self), nullptr);
  return 0;
}
int traverse_captured(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (const CapturedFunction* function = function_in(self)) Py_VISIT(function->function().ptr());
  return 0;
}

PyObject* call_captured(PyObject* self, PyObject* const* args, size_t flags, PyObject* keywords) {
  return guarded([&] {
    if (keywords && PyTuple_GET_SIZE(keywords) > 0)
      throw_type_error("a captured function takes its tensors by position");
    return function_in(self)->call(args, static_cast<size_t>(PyVectorcall_NARGS(flags)));
  });
}

PyTypeObject* captured_type = nullptr;

void prepare_captured_type(Scope& m) {
  static PyGetSetDef attributes[] = {
      {"recordings",
       [](PyObject* self, void*) -> PyObject* {
         return guarded([&] { return PyLong_FromSize_t(function_in(self)->recordings()); });
       },
       nullptr, "Recordings that are kept.", nullptr},
      {"__wrapped__", [](PyObject* self, void*) -> PyObject* { return function_in(self)->function().release().ptr(); },
       nullptr, "The function itself.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(PyCaptured, call), READONLY, nullptr},
                                  {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("A captured function, as tenon.compile() gives it.")},
      {Py_tp_dealloc, reinterpret_cast<void*>(+[](PyObject* self) {
         PyTypeObject* type = Py_TYPE(self);
         PyObject_GC_UnTrack(self);
         clear_captured(self);
         type->tp_free(self);
         Py_DECREF(type);
       })},
      {Py_tp_traverse, reinterpret_cast<void*>(&traverse_captured)},
      {Py_tp_clear, reinterpret_cast<void*>(&clear_captured)},
      {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
      // As a function in a class body, it is a method of the objects.
      {Py_tp_descr_get, reinterpret_cast<void*>(+[](PyObject* self, PyObject* instance, PyObject*) -> PyObject* {
         return instance && instance != Py_None ? PyMethod_New(self, instance) : Py_NewRef(self);
       })},
      {Py_tp_getset, attributes},
      {Py_tp_members, members},
      {0, nullptr}};
  static PyType_Spec spec = {
      "tenon.Captured", sizeof(PyCaptured), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  captured_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!captured_type) throw py::error_already_set();
  m.add_object("Captured", py::handle(reinterpret_cast<PyObject*>(captured_type)));
  m.def("_capture(function, verify_every=None)", [](const py::object& function, std::optional<size_t> verify_every) {
    PyObject* made = captured_type->tp_alloc(captured_type, 0);
    const py::object captured = owned(made);
    reinterpret_cast<PyCaptured*>(made)->call = call_captured;
    reinterpret_cast<PyCaptured*>(made)->function = new CapturedFunction(function, verify_every);
    return captured;
  });
}

}  // namespace

void note_hooks() {
  define<"register_hook", "x, hook", [](const Tensor& x, const py::object& hook) { return py::cast(hooked(x, hook)); }>(
      "Calls hook(gradient) in every backward pass; what it returns takes the gradient's place.", kMethod);
}

void bind_autograd(Scope& m) {
  bind_blocks(m);
  bind_gradients(m);
  prepare_captured_type(m);

  Class<Scalar>(m, "Scalar", "A number that may change between calls of a captured function.")
      .init("value, dtype=tenon.float32, device=None",
            [](double value, DType dtype, const Device& device) { return Scalar(value, dtype, device); })
      .def("set(value)", &Scalar::set)
      .def("get", &Scalar::get)
      .def("tensor", &Scalar::tensor)
      .def("__float__", &Scalar::get)
      .def("__mul__", [](const Scalar& a, const Operand& b) { return mul(a, b); })
      .def("__rmul__", [](const Scalar& a, const Operand& b) { return mul(b, a); })
      .def("__add__", [](const Scalar& a, const Operand& b) { return add(a, b); })
      .def("__radd__", [](const Scalar& a, const Operand& b) { return add(b, a); })
      .def("__neg__", [](const Scalar& a) { return neg(a.tensor()); })
      .def("__repr__", [](const Scalar& a) { return fmt::format("Scalar({})", a.get()); });

  Class<Generator>(m, "Generator", "A stream of random numbers: the same seed gives the same numbers everywhere.")
      .init("seed=0, device=None", "A stream of random numbers; one stream serves all devices.",
            [](const py::object& seed, const py::object&) {  // a device in its place, as PyTorch's may be given
              return std::make_unique<Generator>(PyLong_Check(seed.ptr()) ? py::cast<uint64_t>(seed) : 0);
            })
      .property("device", "Where it is kept.", [](const Generator&) { return DeviceObject{Device("cpu")}; })
      .def("manual_seed",
           [](py::object self, uint64_t seed) {
             held<Generator>(self)->manual_seed(seed);
             return self;
           })
      .def("seed", &Generator::seed)
      .def("position", &Generator::position)
      .def("get_state", [](const Generator& self) { return py::make_tuple(self.seed(), self.position()); })
      .def("set_state",
           [](Generator& self, std::pair<uint64_t, uint64_t> state) { self.set(state.first, state.second); });
  m.def("manual_seed(seed)", "Seeds the default generator.", [](uint64_t seed) { manual_seed(seed); });
  m.def("default_generator", "The generator used when none is given.",
        [] { return std::shared_ptr<Generator>(std::shared_ptr<void>(), &default_generator()); });

  m.def("eval", "Starts computing all of these in one plan.", [](const py::args& tensors) {
    const std::vector<Tensor> all = Convert<std::vector<Tensor>>::from(tensors.ptr());
    const Released others_run;
    eval(all);
  });
  m.def("wait", "Computes all of these and returns when they are there.", [](const py::args& tensors) {
    const std::vector<Tensor> all = Convert<std::vector<Tensor>>::from(tensors.ptr());
    const Released others_run;
    eval(all);
    const turn::GivenWhileWaiting others_go_on;
    wait(all);
  });
  m.def("synchronize(device=None)", "Returns when everything that was started has run.", [](const py::object& device) {
    const std::optional<Device> one =
        device.is_none() ? std::nullopt : std::optional(Convert<Device>::from(device.ptr()));
    const Released others_run;
    const turn::GivenWhileWaiting others_go_on;
    if (one)
      synchronize(*one);
    else
      synchronize();
  });
  m.def("devices", "The devices that are there: [device(\"cpu\"), ...].", &devices);
  m.def("get_num_threads", "Threads that work on the cpu may use.", &base::num_threads);
  m.def("set_num_threads(threads)", "Changes it for all work that starts from now on.", &base::set_num_threads);
  m.def("memory_allocated", "Bytes that tensors hold on all devices.", [] { return memory_stats().live_bytes; });
  m.def("_memory_of(device)",
        "Bytes that tensors hold on a device, the most that they have held, and bytes kept for reuse.",
        [](const Device& device) {
          const MemoryStats found = memory_stats(device);
          return py::make_tuple(found.live_bytes, found.peak_bytes, found.cached_bytes);
        });
  m.def("_available_memory(device)", "Bytes that a device can still allocate, or None.", &available_memory);
  m.def("_reset_peak", "The most bytes that were held are counted anew.", &device::reset_peak);
  m.def("_set_tf32_allowed(allowed)",
        "Whether products of float32 may take their operands as tf32 where a device multiplies quicker so.",
        &set_tf32_allowed);
  m.def("_tf32_allowed", "Whether they may.", &tf32_allowed);
  m.def("is_autocast_enabled(device_type=None)", "Whether this runs inside of autocast.",
        [](const py::object&) { return autocast_dtype().has_value(); });
}

}  // namespace tenon::python
