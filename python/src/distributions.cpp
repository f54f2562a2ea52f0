// tenon.distributions.

#include "bind.h"
#include "functions.h"
#include "types.h"

namespace tenon::python {
namespace {

using namespace distributions;

void bind_base(Scope& m) {
  using Draw = Tensor (Distribution::*)(const Dims&, Generator*) const;
  const auto draw = [](Draw method) {
    return [method](const Distribution& self, const Dims& shape, Generator* generator) {
      return computed([&] { return (self.*method)(shape, generator); });
    };
  };
  Class<Distribution>(m, "Distribution", "What all distributions have.")
      .property("batch_shape", "One distribution for each element of this shape.",
                [](const Distribution& self) { return shape_object(self.batch_shape()); })
      .property("event_shape", "The shape of one draw of one of them.",
                [](const Distribution& self) { return shape_object(self.event_shape()); })
      .property("has_rsample", "Whether draws may have gradients.", &Distribution::has_rsample)
      .property("mean", &Distribution::mean)
      .property("variance", &Distribution::variance)
      .property("stddev", &Distribution::stddev)
      .def("sample(sample_shape=(), generator=None)", "Draws, without gradients.", draw(&Distribution::sample))
      .def("rsample(sample_shape=(), generator=None)", "Draws whose gradients lead to the parameters.",
           draw(&Distribution::rsample))
      .def("log_prob(value)", "The logarithm of the density, or probability, at a value.",
           [](const Distribution& self, const Tensor& value) { return computed([&] { return self.log_prob(value); }); })
      .def("entropy", "The mean of -log_prob.", &Distribution::entropy)
      .def("__repr__", [](const Distribution& self) {
        return fmt::format("{}(batch_shape={}, event_shape={})", self.name(),
                           py::cast<std::string>(py::repr(py::tuple(shape_object(self.batch_shape())))),
                           py::cast<std::string>(py::repr(py::tuple(shape_object(self.event_shape())))));
      });
}

template <typename Kind>
using Derived = Class<Kind, Distribution>;

/// Of two parameters.
template <typename Kind, typename Get>
void bind_two(Scope& m, const char* name, const char* first, Get first_of, const char* second, Get second_of,
              const char* help) {
  Derived<Kind>(m, name, help)
      .init(fmt::format("{}, {}, validate_args=None", first, second),
            [](const Operand& a, const Operand& b, const py::object&) { return computed([&] { return Kind(a, b); }); })
      .property(first, first_of)
      .property(second, second_of);
}

/// Of probabilities or their logarithms, one of them.
template <typename Kind, typename Parameter>
void bind_choices(Scope& m, const char* name, const char* help) {
  using Maybe = std::optional<Parameter>;
  Derived<Kind>(m, name, help)
      .init("probs=None, logits=None, validate_args=None",
            [name](const Maybe& probs, const Maybe& logits, const py::object&) {
              if (probs.has_value() == logits.has_value())
                throw_value_error(fmt::format("{}() takes probs or logits, one of them", name));
              return computed([&] { return probs ? Kind(*probs, Given::probs) : Kind(*logits, Given::logits); });
            })
      .property("probs", &Kind::probs)
      .property("logits", &Kind::logits);
}

}  // namespace

void bind_distributions(Scope& m) {
  Scope made = m.def_submodule("_distributions");
  bind_base(made);
  bind_two<Normal>(made, "Normal", "loc", &Normal::loc, "scale", &Normal::scale,
                   "The bell curve around loc with the deviation scale.");
  bind_two<Uniform>(made, "Uniform", "low", &Uniform::low, "high", &Uniform::high,
                    "Every number from low to below high alike.");
  bind_two<Gamma>(made, "Gamma", "concentration", &Gamma::concentration, "rate", &Gamma::rate,
                  "Positive numbers with the density x ** (concentration - 1) * exp(-rate * x), up to a factor.");
  bind_two<Beta>(made, "Beta", "concentration1", &Beta::concentration1, "concentration0", &Beta::concentration0,
                 "Numbers between 0 and 1 with the density x ** (a - 1) * (1 - x) ** (b - 1), up to a factor.");
  bind_choices<Bernoulli, Operand>(made, "Bernoulli", "1 with a probability, else 0; logits are log(p / (1 - p)).");
  bind_choices<Categorical, Tensor>(made, "Categorical",
                                    "One of 0, 1, ..., with the probabilities of the last dim, or their logarithms.");
  Derived<Dirichlet>(made, "Dirichlet", "Probabilities that sum to 1 along the last dim.")
      .init("concentration, validate_args=None",
            [](const Tensor& concentration, const py::object&) {
              return computed([&] { return Dirichlet(concentration); });
            })
      .property("concentration", &Dirichlet::concentration);
  made.def("kl_divergence(p, q)", "The mean of log p - log q over p, of two of one kind.", &kl_divergence);
}

}  // namespace tenon::python
