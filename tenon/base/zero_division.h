// Integers divided by the number 0, a type of its own among the errors: it is Python's ZeroDivisionError, too.

#pragma once

#include "tenon/base/error.h"

namespace tenon::base {

/// Integers divided by the number 0.
class ZeroDivision : public Error {
 public:
  using Error::Error;
};

/// As fail().
template <typename... Args>
[[noreturn]] void fail_zero_division(std::string_view op, fmt::format_string<Args...> format, Args&&... args) {
  try {
    fail(op, format, std::forward<Args>(args)...);
  } catch (const Error& error) {
    throw ZeroDivision(error.what());
  }
}

}  // namespace tenon::base
