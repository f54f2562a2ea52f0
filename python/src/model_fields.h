// Configs of models from keyword arguments.

#pragma once

#include <functional>
#include <map>
#include <string>

#include "creation.h"
#include "functions.h"

namespace tenon::python {

/// Fields of a config by their names, as keyword arguments.
template <typename Config>
using Setters = std::map<std::string, std::function<void(Config&, const py::handle&)>>;

template <typename Config, typename Field, typename... Rest>
void add_fields(Setters<Config>& fields, const char* name, Field field, Rest... rest) {
  if constexpr (std::is_member_object_pointer_v<Field>)
    fields[name] = [field](Config& config, const py::handle& value) {
      config.*field = py::cast<std::remove_cvref_t<decltype(config.*field)>>(value);
    };
  else
    fields[name] = field;
  if constexpr (sizeof...(rest) > 0) add_fields(fields, rest...);
}

/// "width", &Config::width, ...; or functions that set one.
template <typename Config, typename... Rest>
Setters<Config> fields_of(Rest... rest) {
  Setters<Config> fields;
  add_fields(fields, rest...);
  return fields;
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

/// A model from a folder.
template <typename Model>
auto load(const std::filesystem::path& folder, const Device& device) {
  return Model::load(folder, options_of({}, device));
}

/// The classes of bert.cpp, which derive from `base`.
void bind_bert(Scope& m, const py::object& base);

}  // namespace tenon::python
