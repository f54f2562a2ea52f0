// The helpers of one thread, for parallel work.
//
// They stay between pieces of work, awake for a moment and then asleep: a piece of work that follows soon begins within
// a microsecond, where starting threads would take ten times that. Helpers that have not begun when all is done are not
// waited for, so a core that is busy elsewhere delays nobody. A helper that cannot be started is done without, which
// OpenMP cannot: it ends the process.

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace tenon::base {

class Team {
 public:
  static constexpr int kMost = 256;

  Team();
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Starts what is missing for so many workers, the calling thread among them. Gives how many there are: fewer where
  /// threads cannot be started.
  int gather(int workers);
  /// Calls work(0) here and work(1), ... work(workers - 1) on those helpers that come before it has returned; returns
  /// when all that were called have. One piece of work at a time, of no more workers than were gathered; it throws
  /// nothing.
  void run(int workers, const std::function<void(int)>& work);

  /// Whether this thread is in a piece of work now.
  static bool is_at_work();

 private:
  struct Helper;
  void serve(Helper& helper, int number);

  std::vector<std::unique_ptr<Helper>> helpers_;
  const std::function<void(int)>* work_ = nullptr;
  std::chrono::steady_clock::time_point tries_again_;
};

}  // namespace tenon::base
