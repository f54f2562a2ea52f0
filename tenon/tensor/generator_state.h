// The state of a random number generator; for the files of this room only.

#pragma once

#include <mutex>
#include <vector>

#include "tenon/ir/node.h"
#include "tenon/tensor/creation.h"

namespace tenon {

struct Generator::State {
  struct OnDevice {
    ir::DeviceId device;
    ir::Value leaf;      // (seed, counter)
    uint64_t counter;    // words drawn before it
    uint64_t evaluated;  // exec::evaluations() when it was made
  };
  std::mutex mutex;
  uint64_t made_in = 0;  // the trace, if any
  uint64_t seed = 0;
  uint64_t position = 0;  // words drawn so far
  std::vector<OnDevice> on_device;
};

}  // namespace tenon
