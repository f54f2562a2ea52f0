// In place of png_reader.cpp where the build found no libpng.

#include "tenon/data/image_codec.h"

namespace tenon::data {

void decode_png(const io::Input& input, uint64_t, Planes&) {
  io::fail(input, "is PNG, and Tenon was built without libpng: install libpng-dev and build it again");
}

}  // namespace tenon::data
