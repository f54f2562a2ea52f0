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

Directory find_directory(const Input& input) {
  const std::span<const std::byte> bytes = input.bytes;
  const size_t end = find_end(input);
  const auto disks = number_at<uint32_t>(bytes, end + 4);
  Directory found{number_at<uint32_t>(bytes, end + 16), number_at<uint32_t>(bytes, end + 12),
                  number_at<uint16_t>(bytes, end + 10)};
  uint64_t directory_end = end;
  if (end >= kLocator64Bytes && number_at<uint32_t>(bytes, end - kLocator64Bytes) == kLocator64) {
    const auto at = number_at<uint64_t>(bytes, end - kLocator64Bytes + 8);
    const auto record = part(input, at, kEnd64Bytes, "the 64-bit end of the directory");
    if (number_at<uint32_t>(record, 0) != kEnd64) fail(input, "the 64-bit end of the directory is missing");
    found = {number_at<uint64_t>(record, 48), number_at<uint64_t>(record, 40), number_at<uint64_t>(record, 32)};
    directory_end = at;
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
  const uint64_t begin =
      listed.local_at + kLocalBytes + number_at<uint16_t>(local, 26) + number_at<uint16_t>(local, 28);
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

constexpr uint16_t kVersion = 20, kUtf8Names = 1 << 11;
constexpr uint32_t kFirstDate = 1 << 5 | 1;  // 1980-01-01: equal arrays give equal files

/// The fields that the file's own header and the directory's line share.
std::string common_fields(uint32_t crc, uint64_t bytes, size_t name_bytes) {
  std::string fields;
  put<uint16_t>(fields, kVersion);
  put<uint16_t>(fields, kUtf8Names);
  put<uint16_t>(fields, kStored);
  put<uint32_t>(fields, kFirstDate << 16);
  put<uint32_t>(fields, crc);
  put(fields, static_cast<uint32_t>(bytes));
  put(fields, static_cast<uint32_t>(bytes));
  put(fields, static_cast<uint16_t>(name_bytes));
  put<uint16_t>(fields, 0);  // extra fields
  return fields;
}

}  // namespace

ZipWriter::ZipWriter(std::string_view format, const std::filesystem::path& path)
    : shown_{format, path.string(), {}}, file_(format, path) {}

void ZipWriter::add(const std::string& name, std::span<const std::byte> header, std::span<const std::byte> bytes) {
  const uint64_t size = header.size() + bytes.size();
  // The fields are 32 bits wide; their largest value points to a wider one, which this writer does not make.
  if (size >= kIn64 || position_ + size + kLocalBytes + name.size() >= kIn64) {
    fail(shown_, "{} makes the archive larger than 4 GiB; write a safetensors file instead", in_quotes(name));
  }
  if (name.size() > 0xFFFF) fail(shown_, "the name {} is too long", in_quotes(name));
  if (files_ == 0xFFFE) fail(shown_, "an archive holds at most {} files", files_);
  const std::string fields = common_fields(crc_of(bytes, crc_of(header)), size, name.size());

  std::string local;
  put(local, kLocal);
  local += fields + name;
  put(directory_, kCentral);
  put<uint16_t>(directory_, kVersion);
  directory_ += fields;
  directory_.append(2 + 2 + 2 + 4, '\0');  // comment, disk, attributes
  put(directory_, static_cast<uint32_t>(position_));
  directory_ += name;

  file_.write(local);
  file_.write(header);
  file_.write(bytes);
  position_ += local.size() + size;
  ++files_;
}

void ZipWriter::finish() {
  if (position_ + directory_.size() >= kIn64) fail(shown_, "the archive is larger than 4 GiB");
  const auto files = static_cast<uint16_t>(files_);
  const auto directory_bytes = static_cast<uint32_t>(directory_.size());
  put(directory_, kEnd);
  put<uint32_t>(directory_, 0);  // the number of this disk
  put(directory_, files);
  put(directory_, files);
  put(directory_, directory_bytes);
  put(directory_, static_cast<uint32_t>(position_));
  put<uint16_t>(directory_, 0);  // comment
  file_.write(directory_);
  file_.commit();
}

}  // namespace tenon::io
