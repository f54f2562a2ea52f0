// What to change in a program or a run so that it takes less time or memory, read from a profile of it.

#pragma once

#include <string>
#include <vector>

#include "tenon/watch/profile_view.h"

namespace tenon::watch {

/// One thing to change.
///   watch::Advice one = {.about = watch::Advice::About::small, .text = "raise the batch", .share = 0.3};
struct Advice {
  enum class About : uint8_t {
    data,          // the device waits for batches
    not_captured,  // steps are recorded and planned every time
    replanned,     // plans are made anew: shapes change
    own_code,      // the device waits for code of the program's own
    host,          // the device waits for the host to start its kernels
    small,         // kernels are too short to fill it
    precision,     // products in f32 where bf16 is quicker
    memory,        // next to none is left
    fallback,      // the device has no kernel for an op
    library,       // products are not computed by the library that is quickest at them
    transfers,     // bytes move between host and device for much of the time
  };
  About about = About::data;  // its rule
  std::string text;           // what to change
  std::string figure;         // what of the profile says so
  double share = 0;           // of the time, or of the memory, that it is about: 0 to 1
};
/// "data", "not captured": what an advice is about, in a word or two.
///   watch::about_name(watch::Advice::About::small);  // "short kernels"
std::string_view about_name(Advice::About about);

/// The most important first; none where nothing stands out.
///   Profile profile;
///   profile.stop();
///   for (const watch::Advice& one : watch::advice(watch::view_of(profile))) std::cout << one.text << "\n";
std::vector<Advice> advice(const ProfileView& view);

/// How long what was profiled took and how busy each device was, then the advice, as lines for a terminal.
///   std::cout << watch::advice_text(watch::read_profile("runs/demo"));
std::string advice_text(const ProfileView& view);

}  // namespace tenon::watch
