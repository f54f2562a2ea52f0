// A graph recorded with fixed memory: replaying it launches everything again, on what lies in its leaves then.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tenon/device/storage.h"
#include "tenon/ir/node.h"

namespace tenon::exec {

class Capture {
 public:
  /// What a state becomes, and the leaf in whose memory it lies before and after.
  struct State {
    ir::Value next, home;
  };
  /// Where a replay leaves an output: in this memory, seen through these moves.
  struct Output {
    device::Pin memory;
    ir::Type type;
    std::vector<ir::Move> moves;
  };

  /// All values are on one device. Nobody else may read the memory of a home while a replay runs: see
  /// move_holders_to_own_memory.
  Capture(const std::vector<ir::Value>& outputs, const std::vector<State>& states);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// Runs `before`, then everything. Returns what to wait for.
  device::Ticket replay(std::span<const device::Command> before, bool caller_waits);

  const std::vector<Output>& outputs() const { return outputs_; }
  size_t launches() const { return launches_; }
  device::Device& device() const { return device_; }
  ir::DeviceId device_id() const { return device_id_; }

 private:
  ir::DeviceId device_id_;
  device::Device& device_;
  std::vector<Output> outputs_;
  std::vector<device::Pin> memory_;  // all that is read or written: it stays where it is
  std::unique_ptr<device::Recording> recording_;
  std::string taken_apart_;  // as in Executable
  size_t launches_ = 0;
};

/// Whoever holds this memory keeps its content, which moves to other memory with them. What is returned has the
/// address, and so have all pins.
device::StorageRef move_holders_to_own_memory(const device::StorageRef& memory);

/// Puts these bytes into the memory of a leaf that nobody reads yet.
void refill(const ir::Value& leaf, std::span<const std::byte> bytes);

/// Gives a leaf that nobody else reads memory of its own, with the same content.
device::StorageRef move_to_own_memory(const ir::Value& leaf);

/// Fills memory that nobody reads with what lies in other memory.
void copy_into(const device::StorageRef& to, const device::StorageRef& from);

/// A leaf for what lies in this memory now.
ir::Value leaf_of(const device::StorageRef& memory, const ir::Type& type, ir::DeviceId device);

}  // namespace tenon::exec
