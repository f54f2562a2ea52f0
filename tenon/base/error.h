// The one exception type of Tenon and the one helper that throws it.
//
// Every message has the same form on every device: `[op] what is wrong (in module.path)`. The path comes from the Scope
// objects alive on this thread, so that a shape error deep in a model names the module that made it.

#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace tenon {

/// Everything Tenon throws. The text is one line: what, where, what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace base {

/// Names the module whose ops are being recorded; nests to a dotted path.
class Scope {
 public:
  explicit Scope(std::string_view name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

/// The dotted path of all Scopes alive on this thread; empty outside of any.
std::string scope_path();
/// The same as a number, 0 outside of any, and back. Paths are never forgotten: a program has few.
uint32_t scope_number();
std::string scope_path(uint32_t number);

[[noreturn]] void throw_error(std::string_view op, const std::string& message);

/// Throws Error("[op] message (in path)").
template <typename... Args>
[[noreturn]] void fail(std::string_view op, fmt::format_string<Args...> format, Args&&... args) {
  throw_error(op, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace base
}  // namespace tenon
