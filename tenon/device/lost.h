// What everything throws that meets a device which is gone: a program may go on with the others.

#pragma once

#include <string_view>

#include "tenon/base/error.h"

namespace tenon::device {

/// The device is gone, and what lay on it.
///   try {
///     x.to_vector<float>();
///   } catch (const device::Lost& error) {
///     std::cerr << error.what() << "\n";
///   }
class Lost : public Error {
 public:
  Lost(std::string_view device, std::string_view why);
};

}  // namespace tenon::device
