// Python's pickle format, as far as PyTorch state dicts use it, read without running anything.
//
// A pickle is a program for a small stack machine, and Python's own reader calls whatever functions it names. Here the
// machine only builds a tree of plain objects. A named function is remembered as a name and its arguments; only the few
// names on a list are accepted at all, and each of them is a description of data.

#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/io/input.h"

namespace tenon::io {

using ObjectId = uint32_t;

struct Object {
  enum class Kind : uint8_t {
    none,
    boolean,     // number
    integer,     // number
    real,        // real
    text,        // text
    tuple,       // items
    list,        // items
    dict,        // items: key, value, key, value ...
    name,        // text: "module name"
    call,        // items: the name that is called, and the tuple of its arguments
    persistent,  // items: the tuple by which PyTorch names a storage
  };
  Kind kind = Kind::none;
  int64_t number = 0;
  double real = 0;
  std::string_view text;  // into the bytes of the pickle, or into `names`
  std::vector<ObjectId> items;
};

/// Objects refer to each other by number, also in circles: a walk over them has to watch its depth and its length.
struct Pickle {
  std::deque<Object> objects;
  std::deque<std::string> names;
  ObjectId root = 0;
  size_t bytes = 0;  // of the input, up to the end of the pickle
  const Object& operator[](ObjectId id) const { return objects[id]; }
};

struct PickleLimits {
  /// An object takes some 80 bytes of memory and as little as one in the file.
  size_t most_objects = size_t{1} << 20;
  /// Whether other bytes may follow the pickle.
  bool may_go_on = false;
};

/// Reads a pickle of the protocols 2 to 5. `is_accepted` is asked for every "module name". Fails with one line on
/// anything that a state dict has no use for.
Pickle parse_pickle(const Input& input, bool (*is_accepted)(std::string_view name), const PickleLimits& limits = {});

}  // namespace tenon::io
