// A position or a dim that is not there, told apart from other errors: Python's loops end by its IndexError.

#pragma once

#include "tenon/base/error.h"

namespace tenon::base {

/// A position or a dim that is not there.
class OutOfRange : public Error {
 public:
  using Error::Error;
};

/// As fail().
template <typename... Args>
[[noreturn]] void fail_range(std::string_view op, fmt::format_string<Args...> format, Args&&... args) {
  try {
    fail(op, format, std::forward<Args>(args)...);
  } catch (const Error& error) {
    throw OutOfRange(error.what());
  }
}

}  // namespace tenon::base
