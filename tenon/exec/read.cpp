// Values on the host: copied where they lie before us, downloaded where they do not.

#include <algorithm>
#include <cstring>

#include "tenon/base/error.h"
#include "tenon/base/mapped.h"
#include "tenon/device/host_memory.h"
#include "tenon/device/pool.h"
#include "tenon/exec/engine.h"
#include "tenon/exec/eval.h"
#include "tenon/exec/log.h"
#include "tenon/ir/build.h"
#include "tenon/ir/decompose.h"
#include "tenon/ir/walk.h"

namespace tenon::exec {
namespace {

using device::StorageRef;
using device::Ticket;
using ir::bytes_of;
using ir::Op;
using ir::Value;

// Room for a value on the host, made when the value is there: until then nobody knows that there is room for it at all.
std::vector<std::byte> host_copy_of(const ir::Type& type) {
  constexpr size_t kLarge = size_t{64} << 20;
  const size_t bytes = bytes_of(type);
  const std::optional<size_t> left = bytes >= kLarge ? device::host_memory_left() : std::nullopt;
  if (left && bytes > *left)
    base::fail("memory", "{} bytes are to be read, but the host has {} available", bytes, *left);
  return std::vector<std::byte>(bytes);
}

void copy_elements(const ir::IndexMap& map, const std::byte* from, size_t size, std::byte* to) {
  map.for_each([&](int64_t position, int64_t where) {
    std::byte* element = to + static_cast<size_t>(position) * size;
    if (where == ir::IndexMap::kPadding)
      std::memset(element, 0, size);
    else
      std::memcpy(element, from + static_cast<size_t>(where) * size, size);
  });
}

}  // namespace

bool read_at_once(const Value& value, std::span<std::byte> to) {
  // While it is held nobody overwrites the value. Who has it may wait for a lock of this caller's.
  const std::unique_lock lock(engine().mutex, std::try_to_lock);
  if (!lock || to.size() != bytes_of(value.type())) return false;
  const Value& base = ir::base_of(value);
  if (!base.node->evaluated()) return false;
  auto* storage = static_cast<device::Storage*>(base.node->data(base.index).get());
  const std::byte* from = storage->buffer().host;
  if (!from || !storage->is_there()) return false;
  storage->wait();  // which returns or throws at once
  const bool is_whole = base == value;
  const ir::IndexMap map = is_whole ? ir::IndexMap() : ir::look_through(value).map;
  if (is_whole || map.is_contiguous())
    std::copy_n(from, to.size(), to.data());  // also where there are none
  else
    copy_elements(map, from, size_of(value.dtype()), to.data());
  base::require_whole_maps();  // after the copy: what a file that was cut gives is zeros
  engine().stats.bytes_downloaded += to.size();
  log_read(to);
  return true;
}

bool reads_a_part(const Value& value) {
  constexpr size_t kHuge = size_t{1} << 30, kSmallPart = 8;
  const Value base = ir::base_of(value);
  const size_t whole = bytes_of(base.type());
  return !base.node->evaluated() && whole >= kHuge && bytes_of(value.type()) <= whole / kSmallPart;
}

std::vector<std::byte> read(const Value& whole) {
  const Value value = reads_a_part(whole) ? ir::decompose(Op::contiguous, {&whole, 1}, ir::NoAttrs())[0] : whole;
  eval({&value, 1}, true);
  constexpr size_t kSmall = 4096;  // bytes that are worth no command
  if (bytes_of(value.type()) <= kSmall) {
    std::vector<std::byte> bytes(bytes_of(value.type()));
    if (read_at_once(value, bytes)) return bytes;
  }
  StorageRef storage;
  uint64_t version = 0;
  {
    std::lock_guard lock(engine().mutex);
    ir::Seen seen = ir::look_through(value);
    if (!seen.map.is_contiguous()) {
      const Value packed = ir::contiguous(value);
      eval({&packed, 1}, true);
      seen = ir::look_through(packed);
    }
    storage = device::storage_of(seen.base.node->data(seen.base.index));
    version = storage->version();
    engine().stats.bytes_downloaded += bytes_of(value.type());
  }
  const device::HostSpan span(device::HostWork::wait);
  storage->wait();  // outside of the lock: others may go on
  std::vector<std::byte> bytes = host_copy_of(value.type());
  device::Device& source = storage->device();
  std::unique_lock lock(engine().mutex);
  const device::Command command =  // it may have moved meanwhile
      device::Download{{storage->buffer(), 0, bytes.size(), version}, bytes};
  const Ticket ticket = source.send({&command, 1}, true);
  lock.unlock();
  source.wait(ticket);
  base::require_whole_maps();  // weights may lie in a file that somebody has cut meanwhile
  log_read(bytes);
  return bytes;
}

}  // namespace tenon::exec
