// What other people's compilers and validators say of source texts, many at once: a process for each takes long.

#pragma once

#include <string>
#include <vector>

namespace tenon::render {

bool has_glslang();
/// What glslang, and spirv-val where it is there, have to say of the first bad one, with its text; empty if all are
/// good.
std::string check_glsl(const std::vector<std::string>& sources);

/// Why no validator of WGSL is there; empty if there is one.
std::string why_no_wgsl();
std::string check_wgsl(const std::vector<std::string>& sources);

}  // namespace tenon::render
