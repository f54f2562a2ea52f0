// A profile as plain data, whether it was just taken or stands in a file that an earlier process wrote: what advice and
// pages are made of.

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/tensor/profile.h"

namespace tenon::watch {

/// Events, memory and devices of a profile.
///   Profile profile;
///   profile.stop();
///   watch::ProfileView view = watch::view_of(profile);
struct ProfileView {
  std::vector<ProfileEvent> events;    // in the order in which they began
  std::vector<ProfileMemory> memory;   // in order
  std::vector<ProfileDevice> devices;  // that ran something, or hold memory
  uint64_t wall_ns = 0;                // that was profiled
  uint64_t dropped = 0;                // events that there was no room for
};

/// What a profile has measured.
///   Profile profile;
///   watch::view_of(profile).dropped;  // 0
ProfileView view_of(const Profile& profile);

/// The same from a file of Profile::chrome_trace(), which `tenon train --profile` and export_chrome_trace() of Python
/// write too, or from the folder of a run that has one. Fails with one line where the file is none.
///   watch::ProfileView view = watch::read_profile("runs/demo");
ProfileView read_profile(const std::filesystem::path& file_or_run);
/// The same from the text; `name` is what errors call it.
///   Profile profile;
///   watch::ProfileView view = watch::parse_profile(profile.chrome_trace(), "a profile");
ProfileView parse_profile(std::string_view text, const std::string& name);

}  // namespace tenon::watch
