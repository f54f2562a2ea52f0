// The channels that a picture is read with.

#pragma once

namespace tenon::data {

/// Those of the file, or others: gray as Pillow computes it, alpha dropped, or 255 where there is none.
enum class ImageMode { kUnchanged, kGray, kRgb, kRgba };

}  // namespace tenon::data
