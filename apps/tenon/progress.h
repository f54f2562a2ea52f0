// Progress of long work on stderr: a bar that redraws itself on a terminal, a line now and then everywhere else.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tenon::cli {

/// "12.3 MB", "4.56 GB".
std::string bytes_text(double bytes);
/// "1,234,567".
std::string count_text(int64_t count);
/// "1:05", "2:03:04".
std::string time_text(double seconds);

class ByteProgress {
 public:
  explicit ByteProgress(std::string label);
  /// Removes the bar, if one stands there.
  ~ByteProgress();
  ByteProgress(const ByteProgress&) = delete;
  ByteProgress& operator=(const ByteProgress&) = delete;

  void show(int64_t done, int64_t total);

 private:
  std::string label_;
  bool is_terminal_;
  bool is_drawn_ = false;
  int64_t first_ = -1;  // bytes that were done when the work began, so that the rate is of this run
  std::chrono::steady_clock::time_point begun_, shown_;
};

}  // namespace tenon::cli
