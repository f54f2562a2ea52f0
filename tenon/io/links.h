// Symbolic links in the place of files that are written.

#pragma once

#include <filesystem>
#include <string_view>

namespace tenon::io {

/// Where a file is to be written that has this name: behind links, where numpy's and PyTorch's files are written, too,
/// so that a link stays what it is and what it leads to is replaced; what is no link, as it is. Fails with one line for
/// links in a circle, and for those that somebody else has put into a folder where everybody may write, as Linux does.
std::filesystem::path behind_links(std::string_view format, const std::filesystem::path& path);

}  // namespace tenon::io
