// Memory of the host as devices take it, and how much of it is left.
//
// A system that overcommits grants ten terabytes without a word and ends the process when they are touched. So what may
// be taken is decided by what the machine has, less what was granted and is not touched yet.

#pragma once

#include <cstddef>
#include <optional>

namespace tenon::device {

/// `bytes` of the host, aligned; null when the system refuses.
std::byte* take_host_memory(size_t bytes, size_t alignment);
void give_back_host_memory(std::byte* memory, size_t bytes, size_t alignment);

/// Bytes that can still be taken and written; nothing where the system does not say.
std::optional<size_t> host_memory_left();
/// Bytes of the machine, used or not; nothing where the system does not say.
std::optional<size_t> host_memory_in_all();

}  // namespace tenon::device
