// What is thrown where a device has no memory for what is asked of it: a program may go on with less, or elsewhere.

#pragma once

#include "tenon/base/error.h"

namespace tenon::device {

/// A device has no memory for what is asked of it.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// As base::fail().
template <typename... Args>
[[noreturn]] void fail_out_of_memory(fmt::format_string<Args...> format, Args&&... args) {
  try {
    base::fail("memory", format, std::forward<Args>(args)...);
  } catch (const Error& error) {
    throw OutOfMemory(error.what());
  }
}

}  // namespace tenon::device
