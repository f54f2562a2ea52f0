#include "tenon/base/environment.h"

#include <cstdlib>
#include <cstring>

namespace tenon::base::env {

std::optional<std::string> value(const Variable& variable) {
  const char* text = std::getenv(variable.name);
  return text && *text ? std::optional<std::string>(text) : std::nullopt;
}

bool is_set(const Variable& variable) { return std::getenv(variable.name) != nullptr; }

bool is(const Variable& variable, const char* text) {
  const char* found = std::getenv(variable.name);
  return found && std::strcmp(found, text) == 0;
}

}  // namespace tenon::base::env
