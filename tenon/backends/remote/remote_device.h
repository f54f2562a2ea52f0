// A device for tests: another one behind a queue that runs late, at moments nobody knows, in memory without an address.
//
// It keeps the contract of device.h to the letter and no more, as a GPU does. Buffers are numbers; fresh memory, and
// memory that was let go of, is full of garbage; a batch runs on a thread of the device some time after it was
// submitted, or when somebody waits for it; after a fault everything runs on but what writes state. Whoever passes on
// the cpu device by luck fails here.

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "tenon/device/device.h"

namespace tenon::backends::remote {

struct Behaviour {
  std::string name = "remote";
  uint64_t seed = 1;
  std::chrono::microseconds latest{1000};  // a batch that nobody waits for starts at the latest so much later
  std::function<void()> before = {};       // is called as each batch begins, and may hold it up
};

/// Kernels run on `inner`, whose limits and compiler these are too.
std::unique_ptr<device::Device> open(std::unique_ptr<device::Device> inner, const Behaviour& behaviour = {});

/// What a driver does that is reset: everything under way, and all memory, is gone.
void lose(device::Device& remote, const std::string& why);

}  // namespace tenon::backends::remote
