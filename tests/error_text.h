// What an action says when it fails.

#pragma once

#include <string>

#include "tenon/base/error.h"

namespace tenon {

/// The text of the Error that an action throws.
std::string text_of(auto&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace tenon
