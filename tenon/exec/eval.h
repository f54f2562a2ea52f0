// Evaluation: from recorded values to bytes on their device, and from there to the host.

#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "tenon/device/storage.h"
#include "tenon/exec/stats.h"
#include "tenon/ir/node.h"

namespace tenon::exec {

/// Starts computing these values; afterwards reading them launches nothing and waits for what is under way. All outputs
/// of one device share one plan. A caller that will wait at once says so: then a thread hop may be spared. Of
/// `pending`, stores that nobody has asked for yet, those that share work with the values are carried out too; where
/// they cannot be, the values are computed without them. If those fail as well, `joined`, if given, names the stores.
/// Where states are replaced, the values that `unread` gives and that would keep their old content in memory are
/// computed too; so are those that are made of a state that a loop carries from step to step. It is given the memory of
/// the old content, and called with the executor's lock held.
using Unread = std::function<std::vector<ir::Value>(std::span<const ir::DataRef> replaced)>;
void eval(std::span<const ir::Value> values, bool caller_waits = false, std::span<const ir::Value> pending = {},
          std::vector<ir::Value>* joined = nullptr, const Unread& unread = {});

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
/// The memory of an evaluated value; null where it is not evaluated.
ir::DataRef memory_of(const ir::Value& value);

/// Whether a value is a small part of a huge one that is not there yet: reading it computes that part alone.
bool reads_a_part(const ir::Value& value);

/// Copies the elements of a value in row-major order, if it is computed and lies where the host reads it; else gives
/// false.
bool read_at_once(const ir::Value& value, std::span<std::byte> to);

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

}  // namespace tenon::exec
