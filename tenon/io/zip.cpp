// Reading and writing zip archives after PKWARE's APPNOTE, as far as .npz and .pt files go.
//
// What is left out is refused by name: encryption, archives in several parts, methods other than "stored" and
// "deflated". Overlapping files are refused as well: it is what makes the worst zip bombs, and no writer makes them.

#include "tenon/io/zip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace tenon::io {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr size_t kMostCommentBytes = 0xFFFF;
constexpr uint16_t kExtra64 = 1, kEncrypted = 1, kStored = 0, kDeflated = 8;
constexpr uint32_t kIn64 = 0xFFFFFFFF;  // the number stands in the 64-bit field
constexpr uint64_t kMostRatio = 1032;   // of deflate: 258 bytes for two bits

uint32_t crc_of(std::span<const std::byte> bytes, uint32_t before = 0) {
  if (bytes.empty()) return before;  // zlib takes a null pointer for a fresh start
  return static_cast<uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

/// The part [at, at + bytes) of the archive, if it lies inside.
std::span<const std::byte> part(const Input& input, uint64_t at, uint64_t bytes, std::string_view what) {
  if (at > input.bytes.size() || bytes > input.bytes.size() - at) {
    fail(input, "{} lies outside of the {} bytes of the archive", what, input.bytes.size());
  }
  return input.bytes.subspan(at, bytes);
}

struct Directory {
  uint64_t at, bytes, files;
};

size_t find_end(const Input& input) {
  const std::span<const std::byte> bytes = input.bytes;
  if (bytes.size() >= kEndBytes) {
    const size_t last = bytes.size() - kEndBytes, first = last - std::min(last, kMostCommentBytes);
    for (size_t at = last + 1; at-- > first;) {
      const bool ends_here = number_at<uint32_t>(bytes, at) == kEnd && number_at<uint16_t>(bytes, at + 20) == last - at;
      if (ends_here) return at;
    }
  }
  fail(input, "is no zip archive, or its end is missing");
}

/// The 64-bit end of the directory at `at`, to which the locator behind it points. All that it says is looked at: a
/// reader that passes over a damaged one would take the archive for something else.
Directory read_end_64(const Input& input, uint64_t at, uint64_t locator_at) {
  const auto record = part(input, at, kEnd64Bytes, "the 64-bit end of the directory");
  const std::span<const std::byte> locator = input.bytes.subspan(locator_at, kLocator64Bytes);
  if (number_at<uint32_t>(record, 0) != kEnd64) fail(input, "the 64-bit end of the directory is missing");
  constexpr uint64_t kSizeEnds = 12;  // what the size of the record does not count
  const auto size = number_at<uint64_t>(record, 4);
  if (at > locator_at || size != locator_at - at - kSizeEnds)
    fail(input, "the 64-bit end of the directory is damaged: it has {} bytes where {} are", size,
         locator_at - std::min(at + kSizeEnds, locator_at));
  const Directory found{number_at<uint64_t>(record, 48), number_at<uint64_t>(record, 40),
                        number_at<uint64_t>(record, 32)};
  const bool is_one_part = number_at<uint64_t>(record, 16) == 0 && number_at<uint64_t>(record, 24) == found.files &&
                           number_at<uint32_t>(locator, 4) == 0 && number_at<uint32_t>(locator, 16) <= 1;
  if (!is_one_part) fail(input, "is one part of an archive in several parts, or the end of its directory is damaged");
  return found;
}

Directory find_directory(const Input& input) {
  const std::span<const std::byte> bytes = input.bytes;
  const size_t end = find_end(input);
  const auto disks = number_at<uint32_t>(bytes, end + 4);
  Directory found{number_at<uint32_t>(bytes, end + 16), number_at<uint32_t>(bytes, end + 12),
                  number_at<uint16_t>(bytes, end + 10)};
  uint64_t directory_end = end;
  if (end >= kLocator64Bytes && number_at<uint32_t>(bytes, end - kLocator64Bytes) == kLocator64) {
    const Directory narrow = found;
    directory_end = number_at<uint64_t>(bytes, end - kLocator64Bytes + 8);
    found = read_end_64(input, directory_end, end - kLocator64Bytes);
    const bool is_same = (narrow.files == 0xFFFF || narrow.files == found.files) &&
                         (narrow.bytes == kIn64 || narrow.bytes == found.bytes) &&
                         (narrow.at == kIn64 || narrow.at == found.at);
    if (!is_same) fail(input, "both ends of the directory differ");
  } else if (disks != 0) {
    fail(input, "is one part of an archive in several parts");
  }
  part(input, found.at, found.bytes, "the directory");
  if (found.at + found.bytes > directory_end) fail(input, "the directory overlaps the end of the archive");
  if (found.files > found.bytes / kCentralBytes) {
    fail(input, "a directory of {} bytes cannot list {} files", found.bytes, found.files);
  }
  return found;
}

/// A line of the directory with its numbers, 64-bit ones put into place.
struct Listed {
  ZipEntry entry;
  uint16_t method, flags;
  uint64_t packed_bytes, local_at;
};

void read_extra_64(const Input& input, std::span<const std::byte> extra, Listed& listed) {
  while (extra.size() >= 4) {
    const auto id = number_at<uint16_t>(extra, 0), bytes = number_at<uint16_t>(extra, 2);
    if (bytes > extra.size() - 4) fail(input, "an extra field of {} is cut off", in_quotes(listed.entry.name));
    std::span<const std::byte> field = extra.subspan(4, bytes);
    extra = extra.subspan(4 + bytes);
    if (id != kExtra64) continue;
    for (uint64_t* number : {&listed.entry.size, &listed.packed_bytes, &listed.local_at}) {
      if (*number != kIn64) continue;
      if (field.size() < 8) fail(input, "the 64-bit sizes of {} are cut off", in_quotes(listed.entry.name));
      *number = number_at<uint64_t>(field, 0);
      field = field.subspan(8);
    }
    return;
  }
}

/// Reads the line at `at` and moves on behind it.
Listed read_line(const Input& input, std::span<const std::byte> directory, size_t& at) {
  const auto refuse_cut = [&] { fail(input, "the directory is cut off at byte {} of it", at); };
  if (directory.size() - at < kCentralBytes) refuse_cut();
  const std::span<const std::byte> line = directory.subspan(at);
  if (number_at<uint32_t>(line, 0) != kCentral) fail(input, "the directory is broken at byte {} of it", at);
  const size_t name_bytes = number_at<uint16_t>(line, 28), extra_bytes = number_at<uint16_t>(line, 30),
               comment_bytes = number_at<uint16_t>(line, 32);
  const size_t bytes = kCentralBytes + name_bytes + extra_bytes + comment_bytes;
  if (bytes > line.size()) refuse_cut();
  Listed listed{};
  listed.entry.name = as_text(line.subspan(kCentralBytes, name_bytes));
  listed.entry.crc = number_at<uint32_t>(line, 16);
  listed.entry.size = number_at<uint32_t>(line, 24);
  listed.flags = number_at<uint16_t>(line, 8);
  listed.method = number_at<uint16_t>(line, 10);
  listed.packed_bytes = number_at<uint32_t>(line, 20);
  listed.local_at = number_at<uint32_t>(line, 42);
  read_extra_64(input, line.subspan(kCentralBytes + name_bytes, extra_bytes), listed);
  at += bytes;
  return listed;
}

ZipEntry locate(const Input& input, Listed listed, uint64_t directory_at) {
  ZipEntry& entry = listed.entry;
  const std::string shown = in_quotes(entry.name);
  if (listed.flags & kEncrypted) fail(input, "{} is encrypted", shown);
  if (listed.method != kStored && listed.method != kDeflated) {
    fail(input, "{} is packed by method {}; only stored (0) and deflated (8) files are read", shown, listed.method);
  }
  entry.deflated = listed.method == kDeflated;
  const auto local = part(input, listed.local_at, kLocalBytes, shown);
  if (number_at<uint32_t>(local, 0) != kLocal) fail(input, "{} is not where the directory says", shown);
  const uint64_t name_at = listed.local_at + kLocalBytes;
  const uint64_t name_bytes = number_at<uint16_t>(local, 26),
                 begin = name_at + name_bytes + number_at<uint16_t>(local, 28);
  entry.has_its_name = as_text(part(input, name_at, name_bytes, shown)) == entry.name;
  entry.packed = part(input, begin, listed.packed_bytes, shown);
  if (begin + listed.packed_bytes > directory_at) fail(input, "{} overlaps the directory", shown);
  if (!entry.deflated && entry.size != listed.packed_bytes) {
    fail(input, "{} is stored in {} bytes but said to have {}", shown, listed.packed_bytes, entry.size);
  }
  if (entry.deflated && entry.size / kMostRatio > listed.packed_bytes) {
    fail(input, "{} claims {} bytes, more than its {} packed ones can hold", shown, entry.size, listed.packed_bytes);
  }
  return std::move(entry);
}

void check_apart(const Input& input, const std::vector<ZipEntry>& in_order) {
  std::unordered_set<std::string_view> names;
  const std::byte* covered = input.bytes.data();
  for (const ZipEntry& entry : in_order) {
    if (!names.insert(entry.name).second) fail(input, "{} occurs twice", in_quotes(entry.name));
    if (entry.packed.data() < covered) fail(input, "{} overlaps another file", in_quotes(entry.name));
    covered = entry.packed.data() + entry.packed.size();
  }
}

}  // namespace

std::vector<ZipEntry> parse_zip(const Input& input) {
  const Directory directory = find_directory(input);
  const std::span<const std::byte> lines = input.bytes.subspan(directory.at, directory.bytes);
  std::vector<ZipEntry> entries;
  entries.reserve(directory.files);
  size_t at = 0;
  for (uint64_t i = 0; i < directory.files; ++i) {
    entries.push_back(locate(input, read_line(input, lines, at), directory.at));
  }
  if (at != lines.size()) fail(input, "the directory lists more than {} files", directory.files);
  std::ranges::stable_sort(entries, {}, [](const ZipEntry& entry) { return entry.packed.data(); });
  check_apart(input, entries);
  return entries;
}

Unpacked unpack(const Input& input, const ZipEntry& entry) {
  if (!entry.deflated) return {{}, entry.packed};
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) fail(input, "no memory to unpack {}", in_quotes(entry.name));
  struct End {
    z_stream* stream;
    ~End() { inflateEnd(stream); }
  } const end{&stream};

  constexpr size_t kFirst = size_t{1} << 16, kMostAtOnce = size_t{1} << 30;
  Unpacked result;
  std::span<const std::byte> rest = entry.packed;
  size_t filled = 0;
  int state = Z_OK;
  while (state == Z_OK) {
    if (filled == result.own.size()) {
      if (filled == entry.size && filled > 0) break;
      const uint64_t next = std::max<uint64_t>(kFirst, 2 * filled);
      result.own.resize(std::min<uint64_t>(std::max<uint64_t>(entry.size, 1), next));
    }
    if (stream.avail_in == 0) {
      const size_t bytes = std::min(rest.size(), kMostAtOnce);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest.data()));  // zlib only reads there
      stream.avail_in = static_cast<uInt>(bytes);
      rest = rest.subspan(bytes);
    }
    const size_t room = std::min(result.own.size() - filled, kMostAtOnce);
    stream.next_out = reinterpret_cast<Bytef*>(result.own.data() + filled);
    stream.avail_out = static_cast<uInt>(room);
    state = inflate(&stream, Z_NO_FLUSH);
    filled += room - stream.avail_out;
  }
  if (state == Z_OK) {  // all bytes are there; one more would be too many
    std::byte beyond{};
    stream.next_out = reinterpret_cast<Bytef*>(&beyond);
    stream.avail_out = 1;
    state = inflate(&stream, Z_NO_FLUSH);
    filled += 1 - stream.avail_out;
  }
  if (state != Z_STREAM_END || filled != entry.size) {
    fail(input, "{} does not unpack to the {} bytes that it should have", in_quotes(entry.name), entry.size);
  }
  result.own.resize(filled);
  result.bytes = result.own;
  return result;
}

void check_crc(const Input& input, const ZipEntry& entry, std::span<const std::byte> bytes) {
  if (crc_of(bytes) != entry.crc) fail(input, "{} has the wrong checksum: the file is damaged", in_quotes(entry.name));
}

namespace {

template <typename T>
void put(std::string& to, T number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof(T));
}

constexpr uint16_t kVersion = 20, kWideVersion = 45, kUtf8Names = 1 << 11;
constexpr uint16_t kPadding = 0x4246;        // "FB", as PyTorch calls it
constexpr uint32_t kFirstDate = 1 << 5 | 1;  // 1980-01-01: equal arrays give equal files

/// The fields that the file's own header and the directory's line share, up to the length of the extra fields.
std::string common_fields(bool is_wide, uint32_t crc, uint64_t bytes, size_t name_bytes) {
  std::string fields;
  put<uint16_t>(fields, is_wide ? kWideVersion : kVersion);
  put<uint16_t>(fields, kUtf8Names);
  put<uint16_t>(fields, kStored);
  put<uint32_t>(fields, kFirstDate << 16);
  put<uint32_t>(fields, crc);
  put(fields, is_wide ? kIn64 : static_cast<uint32_t>(bytes));
  put(fields, is_wide ? kIn64 : static_cast<uint32_t>(bytes));
  put(fields, static_cast<uint16_t>(name_bytes));
  return fields;
}

std::string wide_extra(std::initializer_list<uint64_t> numbers) {
  std::string extra;
  put(extra, kExtra64);
  put(extra, static_cast<uint16_t>(numbers.size() * sizeof(uint64_t)));
  for (const uint64_t number : numbers) put(extra, number);
  return extra;
}

}  // namespace

ZipWriter::ZipWriter(std::string_view format, const std::filesystem::path& path, ZipLayout layout, Devices devices)
    : shown_{format, path.string(), {}}, layout_(layout), file_(std::in_place, format, path, devices) {}

ZipWriter::ZipWriter(std::string_view format, std::string& into, ZipLayout layout)
    : shown_{format, "an open file", {}}, layout_(layout), memory_(&into) {}

void ZipWriter::write(std::span<const std::byte> bytes) {
  if (memory_)
    memory_->append(as_text(bytes));
  else
    file_->write(bytes);
}

/// An extra field behind which the bytes of a file are aligned.
std::string ZipWriter::padding_behind(uint64_t at) const {
  if (layout_.alignment <= 1) return {};
  const uint64_t begin = at + 2 * sizeof(uint16_t);
  std::string field;
  put(field, kPadding);
  put(field, static_cast<uint16_t>((layout_.alignment - begin % layout_.alignment) % layout_.alignment));
  field.resize(field.size() + number_at<uint16_t>(std::as_bytes(std::span(field)), 2), '\0');
  return field;
}

void ZipWriter::add(const std::string& name, std::span<const std::byte> header, std::span<const std::byte> bytes) {
  const bool is_wide = layout_.wide;
  const uint64_t size = header.size() + bytes.size();
  // The narrow fields are 32 bits wide; their largest value points to a wider one.
  if (!is_wide && (size >= kIn64 || position_ + size + kLocalBytes + name.size() >= kIn64)) {
    fail(shown_, "{} makes the archive larger than 4 GiB; write a safetensors file instead", in_quotes(name));
  }
  if (name.size() > 0xFFFF) fail(shown_, "the name {} is too long", in_quotes(name));
  if (!is_wide && files_ == 0xFFFE) fail(shown_, "an archive holds at most {} files", files_);
  const std::string fields = common_fields(is_wide, crc_of(bytes, crc_of(header)), size, name.size());

  std::string local, extra = is_wide ? wide_extra({size, size}) : "";
  extra += padding_behind(position_ + kLocalBytes + name.size() + extra.size());
  put(local, kLocal);
  local += fields;
  put(local, static_cast<uint16_t>(extra.size()));
  local += name + extra;
  const std::string listed_extra = is_wide ? wide_extra({size, size, position_}) : "";
  put(directory_, kCentral);
  put<uint16_t>(directory_, is_wide ? kWideVersion : kVersion);
  directory_ += fields;
  put(directory_, static_cast<uint16_t>(listed_extra.size()));
  directory_.append(2 + 2 + 2 + 4, '\0');  // comment, disk, attributes
  put(directory_, is_wide ? kIn64 : static_cast<uint32_t>(position_));
  directory_ += name + listed_extra;

  write(local);
  write(header);
  write(bytes);
  position_ += local.size() + size;
  ++files_;
}

void ZipWriter::finish() {
  const bool is_wide = layout_.wide;
  if (!is_wide && position_ + directory_.size() >= kIn64) fail(shown_, "the archive is larger than 4 GiB");
  const uint64_t directory_bytes = directory_.size();
  if (is_wide) {
    put(directory_, kEnd64);
    put<uint64_t>(directory_, kEnd64Bytes - 12);
    put<uint16_t>(directory_, kWideVersion);
    put<uint16_t>(directory_, kWideVersion);
    put<uint64_t>(directory_, 0);  // the numbers of this disk and of the directory's
    put<uint64_t>(directory_, files_);
    put<uint64_t>(directory_, files_);
    put<uint64_t>(directory_, directory_bytes);
    put<uint64_t>(directory_, position_);
    put(directory_, kLocator64);
    put<uint32_t>(directory_, 0);
    put<uint64_t>(directory_, position_ + directory_bytes);
    put<uint32_t>(directory_, 1);  // disks
  }
  const auto files = static_cast<uint16_t>(std::min<uint64_t>(files_, 0xFFFF));
  put(directory_, kEnd);
  put<uint32_t>(directory_, 0);  // the number of this disk
  put(directory_, is_wide ? uint16_t{0xFFFF} : files);
  put(directory_, is_wide ? uint16_t{0xFFFF} : files);
  put(directory_, is_wide ? kIn64 : static_cast<uint32_t>(directory_bytes));
  put(directory_, is_wide ? kIn64 : static_cast<uint32_t>(position_));
  put<uint16_t>(directory_, 0);  // comment
  write(directory_);
  if (file_) file_->commit();
}

}  // namespace tenon::io
