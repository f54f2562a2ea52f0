#include "tenon/exec/read_ahead.h"

#include "tenon/device/registry.h"
#include "tenon/exec/engine.h"
#include "tenon/exec/log.h"
#include "tenon/ir/walk.h"

namespace tenon::exec {

ReadAhead::ReadAhead(ir::DeviceId device, size_t bytes)
    : device_(device::open(device)), bytes_(bytes), landing_(device_.landing(bytes)) {}

ReadAhead::~ReadAhead() {
  if (!is_under_way_) return;
  try {
    device_.wait(ticket_);
  } catch (const std::exception&) {  // whoever reads the value is told
  }
}

bool ReadAhead::start(const ir::Value& value) {
  if (!landing_ || bytes_of(value.type()) != bytes_) return false;
  std::lock_guard lock(engine().mutex);
  const ir::Seen seen = ir::look_through(value);
  if (!seen.base.node->evaluated() || !seen.map.is_contiguous()) return false;
  read_ = device::storage_of(seen.base.node->data(seen.base.index));
  engine().stats.bytes_downloaded += bytes_;
  const device::Command command =
      device::Download{{read_->buffer(), 0, bytes_, read_->version()}, {landing_.get(), bytes_}};
  ticket_ = device_.send({&command, 1}, false);
  is_under_way_ = true;
  return true;
}

std::vector<std::byte> ReadAhead::finish() {
  const device::StorageRef read = std::exchange(read_, nullptr);
  read->wait();
  device_.wait_interruptibly(ticket_);
  is_under_way_ = false;
  std::vector<std::byte> bytes(landing_.get(), landing_.get() + bytes_);
  log_read(bytes);
  return bytes;
}

}  // namespace tenon::exec
