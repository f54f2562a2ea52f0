// A JSON document that is kept as text: config.json, whose fields belong to whoever builds the model.

#pragma once

#include "tenon/io/input.h"

namespace tenon::io {

/// Fails with one line unless the bytes are one valid JSON object.
void check_json_object(const Input& input);

}  // namespace tenon::io
