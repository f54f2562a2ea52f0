// A profile's part of a page, whoever makes the page: see profile_page.h.

#pragma once

#include <string>
#include <string_view>

#include "tenon/watch/profile_view.h"

namespace tenon::watch {

/// For a page that has report_style() and profile_style(), and profile_script() behind it.
std::string profile_section(const ProfileView& view);
std::string_view profile_style();
std::string_view profile_script();

}  // namespace tenon::watch
