// Threads, or one line that says why there are none.

#pragma once

#include <system_error>
#include <thread>
#include <utility>

namespace tenon::base {

/// Fails with the limits that are usually in the way.
[[noreturn]] void refuse_thread(const std::error_code& why);

/// A thread that runs f.
template <typename F>
std::thread start_thread(F&& f) {
  try {
    return std::thread(std::forward<F>(f));
  } catch (const std::system_error& error) {
    refuse_thread(error.code());
  }
}

}  // namespace tenon::base
