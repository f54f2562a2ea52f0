// Evaluation: from recorded values to bytes on their device, and from there to the host.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tenon/device/storage.h"
#include "tenon/ir/node.h"

namespace tenon::exec {

/// Starts computing these values; afterwards reading them launches nothing and waits for what is under way. All outputs
/// of one device share one plan. A caller that will wait at once says so: then a thread hop may be spared. Of
/// `pending`, stores that nobody has asked for yet, those that share work with the values are carried out too.
void eval(std::span<const ir::Value> values, bool caller_waits = false, std::span<const ir::Value> pending = {});

/// Computes these values and returns when they are there. Throws what went wrong with them.
void wait(std::span<const ir::Value> values);

/// Waits for a value that is evaluated.
void wait_for(const ir::Value& value);

/// Waits for everything that was submitted to a device; throws its fault.
void synchronize(ir::DeviceId device);
/// The same for all devices that are open: waits for all of them, then throws what went wrong first.
void synchronize();

/// True when reading the value needs no computation.
bool is_evaluated(const ir::Value& value);

/// Whether a value is a small part of a huge one that is not there yet: reading it computes that part alone.
bool reads_a_part(const ir::Value& value);

/// The bytes of a value in row-major order, computing it first if need be.
std::vector<std::byte> read(const ir::Value& value);

/// A leaf that holds a copy of these bytes.
ir::Value upload(std::span<const std::byte> bytes, const ir::Type& type, ir::DeviceId device);

/// A leaf over these bytes themselves, which `owner` keeps, if the device can work on them; else over a copy. They may
/// be overwritten when nobody reads the leaf any more.
ir::Value upload_or_adopt(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const ir::Type& type,
                          ir::DeviceId device);

/// One number as a device stores it: size_of(dtype) bytes.
void write_number(double value, DType dtype, std::byte* to);

/// How often anything was evaluated in this process; free of the lock.
uint64_t evaluations();

/// The same value without its history, once it is evaluated: views of a buffer leaf. Values that need gradients keep
/// theirs, and values that are not evaluated come back as they are.
ir::Value settle(const ir::Value& value);

/// Totals since the process began.
struct Stats {
  size_t evaluations = 0;  // plans run, replays included
  size_t replays = 0;
  size_t launches = 0;
  size_t submits = 0;
  size_t bytes_uploaded = 0;
  size_t bytes_downloaded = 0;
  size_t programs_compiled = 0;  // made, and of these the ones that came from a file
  size_t programs_loaded = 0;
  size_t plan_hits = 0;  // plans found in the cache, and made
  size_t plan_misses = 0;
  size_t device_allocations = 0;  // buffers asked for, and of these served by the pool
  size_t pool_hits = 0;
  uint64_t plan_ns = 0;     // planning
  uint64_t compile_ns = 0;  // compiling kernels
  uint64_t host_ns = 0;     // all that evaluating costs the host before anything runs, planning and compiling included
};
Stats stats();

}  // namespace tenon::exec
