// A profile for a browser: advice, a time line to zoom into, memory, a flame graph of modules, kernels in a table.
//
// One file that needs nothing else, or a part of the page of a run. Advice, flame graph and table are there without
// scripts too.

#pragma once

#include <filesystem>
#include <string>

#include "tenon/watch/profile_view.h"

namespace tenon::watch {

/// A page of its own. What is too much for a page, events beyond the 20,000 longest, is left out and counted.
///   const std::string page = watch::profile_html(watch::read_profile("runs/demo"), "demo");
std::string profile_html(const ProfileView& view, const std::string& title);
/// Writes that page.
///   Profile profile;
///   watch::save_profile_page(watch::view_of(profile), "profile.html");
void save_profile_page(const ProfileView& view, const std::filesystem::path& file, const std::string& title = {});

}  // namespace tenon::watch
