// Names of tests that are made of what they are given, e.g. of a device.

#pragma once

#include <cctype>
#include <string>

namespace tenon {

/// The text as GoogleTest takes it: "opencl:1" is opencl_1.
inline std::string test_name(std::string text) {
  for (char& c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return text;
}

}  // namespace tenon
