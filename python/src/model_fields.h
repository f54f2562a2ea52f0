// Configs of models from keyword arguments.

#pragma once

#include <functional>
#include <map>
#include <string>

#include "nn.h"

namespace tenon::python {

/// Fields of a config by their names, as keyword arguments.
template <typename Config>
using Setters = std::map<std::string, std::function<void(Config&, const py::handle&)>>;

template <typename Config, typename T>
std::function<void(Config&, const py::handle&)> setter(T Config::*field) {
  return [field](Config& config, const py::handle& value) { config.*field = py::cast<T>(value); };
}

template <typename Config>
Config config_of(Config config, const py::kwargs& keywords, const Setters<Config>& setters) {
  for (const auto& [key, value] : keywords) {
    const std::string name = py::cast<std::string>(key);
    const auto found = setters.find(name);
    if (found == setters.end()) {
      std::string known;
      for (const auto& [one, unused] : setters) known += (known.empty() ? "" : ", ") + one;
      throw_type_error("the config has no '" + name + "'; it has " + known);
    }
    found->second(config, value);
  }
  return config;
}

/// The classes of bert.cpp, which derive from `base`.
void bind_bert(Scope& m, const py::object& base);

}  // namespace tenon::python
