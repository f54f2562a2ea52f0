// In place of jpeg_reader.cpp where the build found no libjpeg.

#include "tenon/data/image_codec.h"

namespace tenon::data {

void decode_jpeg(const io::Input& input, uint64_t, Planes&) {
  io::fail(input, "is JPEG, and Tenon was built without libjpeg: install libjpeg62-turbo-dev and build it again");
}

}  // namespace tenon::data
