// JPEG through libjpeg-turbo.
//
// libjpeg reports errors by a call that must not return, and longjmp skips destructors: the functions that call it hold
// plain data only, and everything that owns memory lives outside of them. Of a file that is cut it would make the rest
// gray with a warning; such warnings are errors here.

// Each of these needs those before it.
// clang-format off
#include <cstddef>
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <csetjmp>

#include "tenon/data/image_codec.h"

namespace tenon::data {
namespace {

/// A progressive file may go over the picture again and again with a few bytes each time; real ones do about ten times.
constexpr int kMostScans = 100;

class Reader {
 public:
  explicit Reader(const io::Input& input) : input_(input) {
    state_.err = jpeg_std_error(&errors_);
    state_.client_data = this;
    errors_.error_exit = [](j_common_ptr state) { self_of(state).leave(state); };
    errors_.emit_message = on_message;
    errors_.output_message = [](j_common_ptr) {};
  }
  ~Reader() { jpeg_destroy_decompress(&state_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void read(uint64_t most_pixels, Planes& to) {
    if (!read_header()) refuse();
    const uint64_t width = state_.image_width, height = state_.image_height;
    require_plausible(input_, width, height, width * height, most_pixels);
    if (!start()) refuse();
    const auto components = static_cast<uint64_t>(state_.output_components);
    to.begin(components == 4 ? 3 : components, height, width);
    std::vector<uint8_t> line(components * width);
    for (uint64_t row = 0; row < height; ++row) {
      if (!read_row(line.data())) refuse();
      if (components == 4) to_rgb(line, state_.saw_Adobe_marker != 0);
      to.take(row, line.data());
    }
    if (!finish()) refuse();
  }

 private:
  static Reader& self_of(j_common_ptr state) { return *static_cast<Reader*>(state->client_data); }

  bool read_header() {
    if (setjmp(jump_)) return false;
    jpeg_create_decompress(&state_);
    state_.client_data = this;
    jpeg_mem_src(&state_, reinterpret_cast<const unsigned char*>(input_.bytes.data()), input_.bytes.size());
    jpeg_read_header(&state_, TRUE);
    return true;
  }

  bool start() {
    if (setjmp(jump_)) return false;
    state_.out_color_space = state_.num_components == 1   ? JCS_GRAYSCALE
                             : state_.num_components == 4 ? JCS_CMYK
                                                          : JCS_RGB;
    progress_.progress_monitor = [](j_common_ptr state) {
      if (reinterpret_cast<j_decompress_ptr>(state)->input_scan_number > kMostScans) self_of(state).too_many_scans();
    };
    state_.progress = &progress_;
    jpeg_start_decompress(&state_);
    return true;
  }

  bool read_row(uint8_t* to) {
    if (setjmp(jump_)) return false;
    JSAMPROW row = to;
    while (jpeg_read_scanlines(&state_, &row, 1) != 1) continue;
    return true;
  }

  bool finish() {
    if (setjmp(jump_)) return false;
    jpeg_finish_decompress(&state_);
    return true;
  }

  [[noreturn]] void leave(j_common_ptr state) {
    const int code = errors_.msg_code;
    is_other_library_ = code == JERR_BAD_LIB_VERSION || code == JERR_BAD_STRUCT_SIZE;
    errors_.format_message(state, message_);
    std::longjmp(jump_, 1);
  }
  [[noreturn]] void too_many_scans() {
    std::snprintf(message_, sizeof(message_), "it has more than %d scans", kMostScans);
    std::longjmp(jump_, 1);
  }

  /// Level -1 is a warning. All of them are errors but those after which no pixel is lost.
  static void on_message(j_common_ptr state, int level) {
    if (level >= 0) return;
    switch (state->err->msg_code) {
      case JWRN_ADOBE_XFORM:
      case JWRN_BOGUS_PROGRESSION:
      case JWRN_EXTRANEOUS_DATA:
      case JWRN_JFIF_MAJOR:
      case JWRN_NOT_SEQUENTIAL:
      case JWRN_TOO_MUCH_DATA: break;
      default: self_of(state).leave(state);
    }
  }

  [[noreturn]] void refuse() const {
    if (is_other_library_)
      io::fail(
          input_,
          "cannot be read, the file is not to blame: this program was built with libjpeg {}, and another one was found "
          "when it was started ({}); install the one that it was built with, or take the other out of LD_LIBRARY_PATH",
          JPEG_LIB_VERSION, io::as_one_line(message_));
    io::fail(input_, "is cut or damaged: {}", io::as_one_line(message_));
  }

  /// Printers' colours; Adobe's programs write them upside down.
  static void to_rgb(std::vector<uint8_t>& line, bool is_inverted) {
    for (size_t i = 0; i < line.size() / 4; ++i) {
      const uint8_t* from = line.data() + i * 4;
      const int black = is_inverted ? from[3] : 255 - from[3];
      uint8_t* to = line.data() + i * 3;
      for (int c = 0; c < 3; ++c) {
        const int ink = is_inverted ? from[c] : 255 - from[c];
        to[c] = static_cast<uint8_t>((ink * black + 127) / 255);
      }
    }
  }

  const io::Input& input_;
  jpeg_decompress_struct state_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf jump_{};
  char message_[JMSG_LENGTH_MAX] = {};
  bool is_other_library_ = false;
};

}  // namespace

void decode_jpeg(const io::Input& input, uint64_t most_pixels, Planes& to) { Reader(input).read(most_pixels, to); }

}  // namespace tenon::data
