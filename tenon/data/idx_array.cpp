#include "tenon/data/idx_array.h"

#include <array>
#include <optional>

#include "tenon/base/error.h"
#include "tenon/data/unpacked.h"
#include "tenon/io/input.h"

namespace tenon::data {
namespace {

std::optional<io::Element> element_of(unsigned char code) {
  switch (code) {
    case 0x08: return io::Element::u8;
    case 0x09: return io::Element::i8;
    case 0x0B: return io::Element::i16;
    case 0x0C: return io::Element::i32;
    case 0x0D: return io::Element::f32;
    case 0x0E: return io::Element::f64;
    default: return std::nullopt;
  }
}

template <typename... Args>
[[noreturn]] void refuse(const ByteStream& stream, fmt::format_string<Args...> format, Args&&... args) {
  base::fail("idx", "{}: {}", stream.name(), fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace

IdxArray read_idx(ByteStream& stream, uint64_t most_bytes) {
  std::array<unsigned char, 4> head{};
  const auto read_head = [&](std::string_view what) {
    if (read_fully(stream, {reinterpret_cast<char*>(head.data()), head.size()}) < head.size()) {
      refuse(stream, "ends inside {}: fetch the file again", what);
    }
  };
  read_head("its first four bytes");
  const std::optional<io::Element> element = element_of(head[2]);
  if (head[0] != 0 || head[1] != 0 || !element) {
    refuse(stream,
           "begins with {:02x} {:02x} {:02x} {:02x}; an IDX file begins with 00 00, a type from 08 to 0e and the "
           "number of dims",
           head[0], head[1], head[2], head[3]);
  }
  const int rank = head[3];
  if (rank < 1 || rank > static_cast<int>(io::kMaxRank)) {
    refuse(stream, "says that it has {} dims; there are 1 to {}", rank, io::kMaxRank);
  }

  IdxArray array{*element, {}, {}};
  for (int i = 0; i < rank; ++i) {
    read_head("its shape");
    array.shape.push_back(uint64_t{head[0]} << 24 | uint64_t{head[1]} << 16 | uint64_t{head[2]} << 8 | head[3]);
  }
  const std::optional<uint64_t> bytes = io::bytes_of(array.shape, io::size_of(*element));
  if (!bytes || *bytes > most_bytes) {
    refuse(stream, "says that its shape is {}, which is far more than the file holds", io::shape_text(array.shape));
  }
  array.bytes = read_up_to(stream, *bytes);
  if (array.bytes.size() < *bytes) {
    refuse(stream, "ends after {} of the {} bytes that the shape {} takes: fetch the file again", array.bytes.size(),
           *bytes, io::shape_text(array.shape));
  }
  char further;
  if (stream.read({&further, 1}) > 0) {
    refuse(stream, "goes on after the {} bytes that the shape {} takes", *bytes, io::shape_text(array.shape));
  }
  if (io::size_of(*element) > 1) array.bytes = io::swapped(io::size_of(*element), array.bytes);
  if (!io::is_held_as_stored(*element)) array.bytes = io::widened(*element, array.bytes);
  return array;
}

}  // namespace tenon::data
