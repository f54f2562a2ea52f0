// tenon.distributions.

#include "bind.h"
#include "functions.h"
#include "types.h"

namespace tenon::python {
namespace {

using namespace py::literals;
using namespace distributions;

Operand operand_in(const py::object& object) { return Convert<Operand>::from(object.ptr()); }

Dims sizes_in(const py::object& object) {
  if (PyLong_Check(object.ptr())) return {py::cast<int64_t>(object)};
  return Convert<Dims>::from(object.ptr());
}

/// What is given of probs and logits: exactly one.
std::pair<py::object, Given> one_of(const char* name, const py::object& probs, const py::object& logits) {
  if (probs.is_none() == logits.is_none())
    throw_value_error(fmt::format("{}() takes probs or logits, one of them", name));
  return probs.is_none() ? std::pair(logits, Given::logits) : std::pair(probs, Given::probs);
}

/// Computes at once, or looks at parameters that are there: other threads run meanwhile.
template <typename F>
auto meanwhile(F&& f) {
  const Released others_run;
  return f();
}

void bind_base(Scope& m) {
  using Draw = Tensor (Distribution::*)(const Dims&, Generator*) const;
  const auto draw = [](Draw method) {
    return [method](const Distribution& self, const py::object& shape, const py::object& generator) {
      const Dims sizes = sizes_in(shape);
      Generator* from = Convert<Generator*>::from(generator.ptr());
      return meanwhile([&] { return (self.*method)(sizes, from); });
    };
  };
  Class<Distribution>(m, "Distribution", "What all distributions have.")
      .def_property_readonly(
          "batch_shape", [](const Distribution& self) { return shape_object(self.batch_shape()); },
          "One distribution for each element of this shape.")
      .def_property_readonly(
          "event_shape", [](const Distribution& self) { return shape_object(self.event_shape()); },
          "The shape of one draw of one of them.")
      .def_property_readonly("has_rsample", &Distribution::has_rsample, "Whether draws may have gradients.")
      .def_property_readonly("mean", &Distribution::mean)
      .def_property_readonly("variance", &Distribution::variance)
      .def_property_readonly("stddev", &Distribution::stddev)
      .def("sample", draw(&Distribution::sample), "sample_shape"_a = py::tuple(), "generator"_a = py::none(),
           "Draws, without gradients.")
      .def("rsample", draw(&Distribution::rsample), "sample_shape"_a = py::tuple(), "generator"_a = py::none(),
           "Draws whose gradients lead to the parameters.")
      .def(
          "log_prob",
          [](const Distribution& self, const Tensor& value) { return meanwhile([&] { return self.log_prob(value); }); },
          "value"_a, "The logarithm of the density, or probability, at a value.")
      .def("entropy", &Distribution::entropy, "The mean of -log_prob.")
      .def("__repr__", [](const Distribution& self) {
        return fmt::format("{}(batch_shape={}, event_shape={})", self.name(),
                           py::cast<std::string>(py::repr(py::tuple(shape_object(self.batch_shape())))),
                           py::cast<std::string>(py::repr(py::tuple(shape_object(self.event_shape())))));
      });
}

template <typename Kind>
using Derived = Class<Kind, Distribution>;

/// Of two parameters.
template <typename Kind>
Derived<Kind> bind_two(Scope& m, const char* name, const char* first, const char* second, const char* help) {
  return Derived<Kind>(m, name, help)
      .init(
          [](const py::object& a, const py::object& b, const py::object&) {
            const Operand one = operand_in(a), other = operand_in(b);
            return meanwhile([&] { return Kind(one, other); });
          },
          py::arg(first), py::arg(second), "validate_args"_a = py::none());
}

/// Of probabilities or their logarithms.
template <typename Kind, typename Parameter>
void bind_choices(Scope& m, const char* name, const char* help) {
  Derived<Kind>(m, name, help)
      .init(
          [name](const py::object& probs, const py::object& logits, const py::object&) {
            const auto [object, given] = one_of(name, probs, logits);
            const auto parameter = Convert<Parameter>::from(object.ptr());
            return meanwhile([&, kind = given] { return Kind(parameter, kind); });
          },
          "probs"_a = py::none(), "logits"_a = py::none(), "validate_args"_a = py::none())
      .def_property_readonly("probs", &Kind::probs)
      .def_property_readonly("logits", &Kind::logits);
}

}  // namespace

void bind_distributions(Scope& m) {
  Scope made = m.def_submodule("_distributions");
  bind_base(made);
  bind_two<Normal>(made, "Normal", "loc", "scale", "The bell curve around loc with the deviation scale.")
      .def_property_readonly("loc", &Normal::loc)
      .def_property_readonly("scale", &Normal::scale);
  bind_two<Uniform>(made, "Uniform", "low", "high", "Every number from low to below high alike.")
      .def_property_readonly("low", &Uniform::low)
      .def_property_readonly("high", &Uniform::high);
  bind_two<Gamma>(made, "Gamma", "concentration", "rate",
                  "Positive numbers with the density x ** (concentration - 1) * exp(-rate * x), up to a factor.")
      .def_property_readonly("concentration", &Gamma::concentration)
      .def_property_readonly("rate", &Gamma::rate);
  bind_two<Beta>(made, "Beta", "concentration1", "concentration0",
                 "Numbers between 0 and 1 with the density x ** (a - 1) * (1 - x) ** (b - 1), up to a factor.")
      .def_property_readonly("concentration1", &Beta::concentration1)
      .def_property_readonly("concentration0", &Beta::concentration0);
  bind_choices<Bernoulli, Operand>(made, "Bernoulli", "1 with a probability, else 0; logits are log(p / (1 - p)).");
  bind_choices<Categorical, Tensor>(made, "Categorical",
                                    "One of 0, 1, ..., with the probabilities of the last dim, or their logarithms.");
  Derived<Dirichlet>(made, "Dirichlet", "Probabilities that sum to 1 along the last dim.")
      .init([](const Tensor& concentration,
               const py::object&) { return meanwhile([&] { return Dirichlet(concentration); }); },
            "concentration"_a, "validate_args"_a = py::none())
      .def_property_readonly("concentration", &Dirichlet::concentration);
  made.def("kl_divergence", &kl_divergence, "p"_a, "q"_a, "The mean of log p - log q over p, of two of one kind.");
}

}  // namespace tenon::python
