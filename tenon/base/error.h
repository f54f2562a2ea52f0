// The one exception type of Tenon and the one helper that throws it.
//
// Every message has the same form on every device: `[op] what is wrong (in module.path)`. The path comes from the Scope
// objects alive on this thread, so that a shape error deep in a model names the module that made it.

#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
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

/// The parts of a training step. What is recorded outside of a gradient and of an update belongs to the forward pass.
enum class Pass : uint8_t { forward, backward, optimizer };
std::string_view pass_name(Pass pass);

/// Where something was recorded, module and pass, as one number that nodes, launches and spans of a profile carry; 0 is
/// the forward pass outside of any module. Paths are never forgotten: a program has few.
using Label = uint32_t;
/// That of this thread now.
Label label();
std::string path_of(Label label);
Pass pass_of(Label label);
/// As errors name it: the path, "gradient of" it in the backward pass, and nothing outside of any module.
std::string describe_label(Label label);

/// Names the module whose ops are being recorded; nests to a dotted path.
class Scope {
 public:
  explicit Scope(std::string_view name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

/// While alive, what this thread records belongs to the module of a label, whatever module is around, and to this pass:
/// a gradient has the path of what it is the gradient of.
class LabelScope {
 public:
  LabelScope(Label label, Pass pass);
  explicit LabelScope(Label label) : LabelScope(label, pass_of(label)) {}
  ~LabelScope();
  LabelScope(const LabelScope&) = delete;
  LabelScope& operator=(const LabelScope&) = delete;

 private:
  Pass before_;
};

/// While alive, what this thread records belongs to this pass.
class PassScope {
 public:
  explicit PassScope(Pass pass);
  ~PassScope();
  PassScope(const PassScope&) = delete;
  PassScope& operator=(const PassScope&) = delete;

 private:
  Pass before_;
};

/// The dotted path of all Scopes alive on this thread; empty outside of any.
std::string scope_path();

[[noreturn]] void throw_error(std::string_view op, const std::string& message);

/// Throws Error("[op] message (in path)").
template <typename... Args>
[[noreturn]] void fail(std::string_view op, fmt::format_string<Args...> format, Args&&... args) {
  throw_error(op, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace base
}  // namespace tenon
