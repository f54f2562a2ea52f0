// Whether a GPU can be on this machine at all, as its device files tell: loading the drivers to ask them takes tenths
// of a second, threads and memory.

#pragma once

#include <filesystem>

namespace tenon::device {

/// Whether there is a device file of a GPU. True on systems that have no such files.
bool may_have_gpu(const std::filesystem::path& folder = "/dev");

}  // namespace tenon::device
