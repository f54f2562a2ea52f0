// Error texts and the thread's stack of module names.

#include "tenon/base/error.h"

#include <vector>

namespace tenon::base {
namespace {

std::vector<std::string>& scopes() {
  thread_local std::vector<std::string> stack;
  return stack;
}

}  // namespace

Scope::Scope(std::string_view name) { scopes().emplace_back(name); }
Scope::~Scope() { scopes().pop_back(); }

std::string scope_path() { return fmt::format("{}", fmt::join(scopes(), ".")); }

void throw_error(std::string_view op, const std::string& message) {
  const std::string path = scope_path();
  if (path.empty()) throw Error(fmt::format("[{}] {}", op, message));
  throw Error(fmt::format("[{}] {} (in {})", op, message, path));
}

}  // namespace tenon::base
