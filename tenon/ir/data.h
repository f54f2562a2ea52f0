// What an evaluated value points at.
//
// The IR only needs to know that a value has been computed and to keep its bytes alive; what the bytes are is the
// business of `device`, whose Storage derives from this.

#pragma once

#include <memory>

namespace tenon::ir {

class Data {
 public:
  virtual ~Data() = default;
};

using DataRef = std::shared_ptr<Data>;

}  // namespace tenon::ir
