// What the bindings of modules share.

#pragma once

#include "functions.h"

namespace tenon::python {

/// A parameter as an object of tenon.nn.Parameter; the same one while somebody holds it.
py::object parameter_object(const Tensor& tensor);

/// Whether an object is of that class.
bool is_parameter_object(const py::object& object);
/// Whether a tensor is one of a module's own parameters.
bool is_parameter_of(const nn::Module& module, const Tensor& tensor);

/// Dtype and device of a layer's parameters.
inline Options layer_options(std::optional<DType> dtype, const py::object& device) {
  Options options(Convert<Device>::from(device.ptr()));
  options.dtype = dtype;
  return options;
}

/// A tensor that is a member of a layer, as an attribute that stays the same object.
template <typename Class, typename M>
void define_member(Class& layer, const char* name, Tensor M::*member) {
  layer.def_property(
      name,
      [name, member](py::object self) -> py::object {
        const Tensor& tensor = py::cast<M&>(self).*member;
        if (!tensor.defined()) return py::none();
        py::object object =
            tensor.requires_grad() ? parameter_object(tensor) : py::reinterpret_steal<py::object>(wrap(tensor));
        py::dict kept = self.attr("__dict__");
        const py::str key = py::str(std::string("_kept_") + name);
        if (!kept.contains(key) || !py::object(kept[key]).is(object)) {
          make_known(object.ptr());
          kept[key] = object;
        }
        return object;
      },
      [name, member](py::object self, const py::object& value) {
        Tensor next = value.is_none() ? Tensor() : Convert<Tensor>::from(value.ptr());
        Tensor& now = py::cast<M&>(self).*member;
        if (next.defined() && !is_parameter_object(value) && is_parameter_of(py::cast<const nn::Module&>(self), now))
          throw_type_error(std::string("the parameter ") + name +
                           " can be replaced by a Parameter or None, not by a plain tensor");
        now = std::move(next);
      });
}

}  // namespace tenon::python
