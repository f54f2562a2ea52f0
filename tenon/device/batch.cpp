// All uploads of one call share a block.

#include "tenon/device/batch.h"

#include <cstring>

namespace tenon::device {

void Batch::add(std::span<const Command> commands) {
  size_t bytes = 0;
  for (const Command& command : commands) {
    if (const auto* upload = std::get_if<Upload>(&command)) bytes += upload->from.size();
  }
  std::unique_ptr<std::byte[]> block;
  if (bytes > 0) block = std::make_unique_for_overwrite<std::byte[]>(bytes);
  commands_.reserve(commands_.size() + commands.size());
  std::byte* to = block.get();
  for (const Command& command : commands) {
    commands_.push_back(command);
    auto* upload = std::get_if<Upload>(&commands_.back());
    if (!upload || upload->from.empty()) continue;
    std::memcpy(to, upload->from.data(), upload->from.size());
    upload->from = {to, upload->from.size()};
    to += upload->from.size();
  }
  if (block) uploaded_.push_back(std::move(block));
}

}  // namespace tenon::device
