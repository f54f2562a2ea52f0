// Keeps forks and workers apart: a fork waits until no worker is in the middle of something, and no worker begins
// anything meanwhile.
//
// Preparing a sample takes locks of the engine. A child that was forked in that moment would have them locked for ever,
// by threads that it does not have.

#pragma once

namespace tenon::data {

/// While alive, this thread may take locks of the engine, and no other forks.
class NoForkMeanwhile {
 public:
  NoForkMeanwhile();
  ~NoForkMeanwhile();
  NoForkMeanwhile(const NoForkMeanwhile&) = delete;
  NoForkMeanwhile& operator=(const NoForkMeanwhile&) = delete;
};

}  // namespace tenon::data
