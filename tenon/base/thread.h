// Threads, or one line that says why there are none.

#pragma once

#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace tenon::base {

/// Fails with the limits that are usually in the way.
[[noreturn]] void refuse_thread(const std::error_code& why);
/// Says the same on stderr, once a process: the work goes on with fewer threads.
void warn_of_missing_thread(const std::error_code& why);

/// A thread that runs f.
template <typename F>
std::thread start_thread(F&& f) {
  try {
    return std::thread(std::forward<F>(f));
  } catch (const std::system_error& error) {
    refuse_thread(error.code());
  }
}

/// The same, or none, where the caller can do without.
template <typename F>
std::optional<std::thread> try_start_thread(F&& f) {
  try {
    return std::thread(std::forward<F>(f));
  } catch (const std::system_error& error) {
    warn_of_missing_thread(error.code());
    return std::nullopt;
  }
}

}  // namespace tenon::base
