// The time that steps take: without evaluations, samples and checkpoints.

#pragma once

#include <chrono>
#include <optional>

namespace tenon::train {

class StepClock {
 public:
  using Clock = std::chrono::steady_clock;

  void start() { running_since_ = Clock::now(); }
  void pause() {
    seconds_ = seconds();
    running_since_.reset();
  }
  double seconds() const {
    return seconds_ + (running_since_ ? std::chrono::duration<double>(Clock::now() - *running_since_).count() : 0);
  }
  void set(double seconds) { seconds_ = seconds; }

 private:
  double seconds_ = 0;
  std::optional<Clock::time_point> running_since_;
};

}  // namespace tenon::train
