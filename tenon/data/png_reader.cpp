// PNG through libpng.
//
// libpng reports errors by a longjmp, which skips destructors: the functions that call it hold plain data only, and
// everything that owns memory lives outside of them.

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "tenon/data/image_codec.h"

namespace tenon::data {
namespace {

class Reader {
 public:
  explicit Reader(const io::Input& input) : input_(input) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, [](png_structp, png_const_charp) {});
    if (png_) info_ = png_create_info_struct(png_);
    if (!info_) io::fail(input, "libpng {} cannot be used", PNG_LIBPNG_VER_STRING);
  }
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void read(uint64_t most_pixels, Planes& to) {
    if (!read_header()) refuse();
    // Before libpng asks for memory for its rows.
    require_plausible(input_, width_, height_, uint64_t{stored_row_bytes_} * height_, most_pixels);
    if (!start()) refuse();
    to.begin(channels_, height_, width_);
    if (passes_ > 1)
      read_interlaced(to);
    else
      read_row_by_row(to);
    if (!finish()) refuse();
  }

 private:
  void read_row_by_row(Planes& to) {
    std::vector<uint8_t> line(row_bytes_);
    for (uint64_t row = 0; row < height_; ++row) {
      if (!read_row(line.data())) refuse();
      to.take(row, line.data());
    }
  }

  // Every pass but the first adds to what those before have left: the whole picture has to be there.
  void read_interlaced(Planes& to) {
    std::vector<uint8_t> picture(uint64_t{row_bytes_} * height_);
    for (int pass = 0; pass < passes_; ++pass) {
      for (uint64_t row = 0; row < height_; ++row) {
        if (!read_row(picture.data() + row * row_bytes_)) refuse();
      }
    }
    for (uint64_t row = 0; row < height_; ++row) to.take(row, picture.data() + row * row_bytes_);
  }

  bool read_header() {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_read_fn(png_, this, read_bytes);
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    // Texts and colour profiles may unpack to many times their size, and are not looked at.
    constexpr png_byte kUnused[] = "iCCP\0iTXt\0tEXt\0zTXt\0sPLT\0eXIf\0hIST\0pCAL\0sCAL\0tIME";
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, kUnused, static_cast<int>(sizeof(kUnused) / 5));
    png_read_info(png_, info_);
    width_ = png_get_image_width(png_, info_);
    height_ = png_get_image_height(png_, info_);
    stored_row_bytes_ = png_get_rowbytes(png_, info_);
    return true;
  }

  bool start() {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_expand(png_);    // palettes, less than 8 bits, a transparent colour
    png_set_scale_16(png_);  // 16 bits to 8
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    row_bytes_ = png_get_rowbytes(png_, info_);
    channels_ = png_get_channels(png_, info_);
    if (row_bytes_ != size_t{width_} * channels_) png_error(png_, "the pixels are not of 8 bits");
    return true;
  }

  bool read_row(png_bytep to) {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_read_row(png_, to, nullptr);
    return true;
  }

  bool finish() {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_read_end(png_, nullptr);
    return true;
  }

  static void read_bytes(png_structp png, png_bytep to, size_t count) {
    auto& self = *static_cast<Reader*>(png_get_io_ptr(png));
    const std::span<const std::byte> bytes = self.input_.bytes;
    if (count > bytes.size() - self.at_) png_error(png, "the file ends early");
    std::memcpy(to, bytes.data() + self.at_, count);
    self.at_ += count;
  }

  static void on_error(png_structp png, png_const_charp message) {
    auto& self = *static_cast<Reader*>(png_get_error_ptr(png));
    std::strncpy(self.message_, message, sizeof(self.message_) - 1);
    png_longjmp(png, 1);
  }

  [[noreturn]] void refuse() const {
    io::fail(input_, "is cut or damaged near byte {}: {}", at_, io::as_one_line(message_));
  }

  const io::Input& input_;
  size_t at_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  uint32_t width_ = 0, height_ = 0, channels_ = 0;
  int passes_ = 1;
  size_t row_bytes_ = 0, stored_row_bytes_ = 0;
  char message_[128] = {};
};

}  // namespace

void decode_png(const io::Input& input, uint64_t most_pixels, Planes& to) { Reader(input).read(most_pixels, to); }

}  // namespace tenon::data
