// A cuda device whose driver is the stand-in of tests/cuda_stand_in. The environment says so before anybody looks.

#pragma once

#include <gtest/gtest.h>

#include "tenon/device/device.h"
#include "tests/cuda_stand_in/stand_in.h"

namespace tenon {

const StandInControls& stand_in();
/// A device of its own, which ends with its owner.
std::unique_ptr<device::Device> open_cuda();

/// A device for each test; whatever is done wrong with the driver is a failure.
class OnStandIn : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  device::Buffer make(size_t bytes) { return device_->allocate(bytes); }
  void run(const std::vector<device::Command>& commands) { device_->wait(device_->send(commands, true)); }
  std::vector<uint8_t> read(const device::Buffer& buffer, size_t offset, size_t bytes);
  static device::Upload upload(std::span<const uint8_t> from, const device::Buffer& to, size_t offset = 0) {
    return {std::as_bytes(from), {to, offset, from.size()}};
  }

  std::unique_ptr<device::Device> device_;
};

}  // namespace tenon
