// Tensors from and to numpy's files.

#include "tenon/io/npy.h"

#include "tenon/io/array.h"
#include "tenon/io/file.h"
#include "tenon/io/npy_header.h"
#include "tenon/io/zip.h"
#include "tenon/tensor/creation.h"

namespace tenon::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".npy";

/// `owner` keeps the bytes; without one they are copied.
Tensor array_of(const Input& input, const std::shared_ptr<const void>& owner, Device device) {
  const NpyHeader header = parse_npy(input);
  const Dims shape = dims_of(header.shape);
  const bool as_it_is = !header.big_endian && !header.fortran_order && is_held_as_stored(header.element);
  if (as_it_is) {
    const Array array{"the array", header.descr, header.element, shape, header.data};
    return owner ? tensor_over(input, array, owner, device) : tensor_of(input, array, device);
  }
  return from_bytes(elements_of(input, header), shape, Options(held_as(header.element), device));
}

std::string_view code_of(const Input& shown, const std::string& what, DType dtype) {
  switch (dtype) {
    case DType::f64: return "<f8";
    case DType::f32: return "<f4";
    case DType::f16: return "<f2";
    case DType::i64: return "<i8";
    case DType::i32: return "<i4";
    case DType::u8: return "|u1";
    case DType::boolean: return "|b1";
    default: fail(shown, "{} is {}, which numpy lacks; convert it to f32 first", what, name(dtype));
  }
}

/// Everything in front of the data, padded so that these start aligned.
std::string header_of(const Input& shown, const std::string& what, const Tensor& tensor) {
  if (!tensor.defined()) fail(shown, "{} is undefined", what);
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
                                 code_of(shown, what, tensor.dtype()), ir::to_string(tensor.shape()));
  constexpr size_t kAlignment = 64, kInFront = 10;
  dict.resize((kInFront + dict.size() + 1 + kAlignment - 1) / kAlignment * kAlignment - kInFront - 1, ' ');
  dict += '\n';
  std::string header = "\x93NUMPY";
  header += '\1';
  header += '\0';
  header += static_cast<char>(dict.size() & 0xFF);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

/// Deflate packs zeros a thousandfold. All arrays of an archive are held at once, so that together they may not be many
/// times what the file is; small ones may.
void require_modest(const Input& input, const std::vector<ZipEntry>& entries) {
  constexpr uint64_t kSmall = uint64_t{64} << 20, kMostTimes = 16;
  const uint64_t most = kSmall + kMostTimes * input.bytes.size();
  uint64_t unpacked = 0;
  for (const ZipEntry& entry : entries) {
    unpacked += std::min(entry.deflated ? entry.size : 0, most + 1);
    if (unpacked > most)
      fail(input, "its arrays take more than {} bytes unpacked, the file has {}; save it with numpy.savez, unpacked",
           most, input.bytes.size());
  }
}

}  // namespace

Tensor load_npy(const fs::path& path, Device device) {
  const auto file = MappedFile::open("npy", path);
  return array_of({"npy", path.string(), file->bytes()}, file, device);
}

void save_npy(const fs::path& path, const Tensor& tensor) {
  const std::string header = header_of({"npy", path.string(), {}}, "the tensor", tensor);
  ReplacingFile file("npy", path);
  file.write(header);
  file.write(tensor.to_bytes());
  file.commit();
}

std::map<std::string, Tensor> load_npz(const fs::path& path, Device device) {
  const auto file = MappedFile::open("npz", path);
  const Input input{"npz", path.string(), file->bytes()};
  std::map<std::string, Tensor> tensors;
  const std::vector<ZipEntry> entries = parse_zip(input);
  require_modest(input, entries);
  for (const ZipEntry& entry : entries) {
    if (!is_utf8(entry.name)) fail(input, "the name {} in the archive is not valid UTF-8", in_quotes(entry.name));
    if (!entry.has_its_name)
      fail(input, "{} has another name where it lies: the file is damaged", in_quotes(entry.name));
    if (!entry.name.ends_with(kEnding)) fail(input, "{} in the archive is no array", in_quotes(entry.name));
    const Unpacked unpacked = unpack(input, entry);
    check_crc(input, entry, unpacked.bytes);
    const Input inner{"npz", fmt::format("{}: {}", path.string(), in_quotes(entry.name)), unpacked.bytes};
    const std::shared_ptr<const void> owner = entry.deflated ? nullptr : file;
    tensors.emplace(entry.name.substr(0, entry.name.size() - kEnding.size()), array_of(inner, owner, device));
  }
  file->require_whole();
  return tensors;
}

void save_npz(const fs::path& path, const std::map<std::string, Tensor>& tensors) {
  const Input shown{"npz", path.string(), {}};
  std::map<std::string, std::string> headers;  // all of them first, so that no file is begun in vain
  for (const auto& [key, tensor] : tensors) {
    if (!is_utf8(key)) fail(shown, "the name {} is not valid UTF-8", in_quotes(key));
    headers[key] = header_of(shown, "tensor " + in_quotes(key), tensor);
  }
  ZipWriter archive("npz", path);
  for (const auto& [key, tensor] : tensors) {
    archive.add(key + std::string(kEnding), std::as_bytes(std::span(headers.at(key))), tensor.to_bytes());
  }
  archive.finish();
}

}  // namespace tenon::io
