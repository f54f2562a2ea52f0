// Ranges of tickets; the last one is open until somebody is told.

#include "tenon/device/faults.h"

#include <algorithm>

namespace tenon::device {

void Faults::set(uint64_t serial, std::exception_ptr error) {
  if (has_failed(serial)) return;
  if (failures_.size() == kMost) failures_.pop_front();
  failures_.push_back({std::move(error), serial, ~uint64_t{0}});
  is_told_ = false;
}

void Faults::raise(uint64_t serial, uint64_t submitted) {
  const Failure* failure = failure_of(serial);
  if (!failure) return;
  if (!is_told_ && failure == &failures_.back()) {
    failures_.back().last = submitted;
    is_told_ = true;
  }
  std::rethrow_exception(failure->error);
}

bool Faults::is_known_to_fail(uint64_t serial) const {
  const Failure* failure = failure_of(serial);
  return failure && (is_told_ || failure != &failures_.back());
}

const Faults::Failure* Faults::failure_of(uint64_t serial) const {
  if (failures_.empty()) return nullptr;
  const auto behind = std::upper_bound(failures_.begin(), failures_.end(), serial,
                                       [](uint64_t wanted, const Failure& failure) { return wanted < failure.first; });
  if (behind == failures_.begin()) return nullptr;
  const Failure& last = *std::prev(behind);
  return serial <= last.last ? &last : nullptr;
}

}  // namespace tenon::device
