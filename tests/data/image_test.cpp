// Pictures: PNG and JPEG to tensors, tensors to PNG, and folders of them.

#include "tenon/data/image.h"

#include <dlfcn.h>

#include <cstdlib>
#include <fstream>

#include "tenon/data/data_loader.h"
#include "tenon/data/image_folder.h"
#include "tenon/data/transforms.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tests/child_process.h"
#include "tests/data/support.h"

namespace {

bool has_other_jpeg_library = false;  // as if one of another version had been found when the program was started

}  // namespace

// In place of the library's own, which it calls.
extern "C" void jpeg_CreateDecompress(void* state, int version, size_t bytes) {
  using Create = void (*)(void*, int, size_t);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "jpeg_CreateDecompress"));
  create(state, has_other_jpeg_library ? version + 10 : version, bytes);
}

namespace tenon::data {
namespace {

using Bytes = std::vector<uint8_t>;

const fs::path kPictures = TENON_SOURCE_DIR "/tests/data/pictures";

Tensor picture(const std::string& name, ImageMode mode = ImageMode::kUnchanged) {
  return read_image(kPictures / name, mode);
}

/// Whether this build reads such files; a build without the library says so.
bool is_there(const std::string& name, const std::string& library) {
  const std::string text = text_of([&] { picture(name); });
  return text.find("built without " + library) == std::string::npos;
}

class Png : public InFolder {
 protected:
  void SetUp() override {
    if (!is_there("bits.png", "libpng")) GTEST_SKIP() << "this build has no libpng";
  }
};
class Jpeg : public InFolder {
 protected:
  void SetUp() override {
    if (!is_there("rgb.jpg", "libjpeg")) GTEST_SKIP() << "this build has no libjpeg";
  }
};

TEST_F(Png, ComesBack) {
  for (const int64_t channels : {1, 2, 3, 4}) {
    const Tensor image = (arange(channels * 5 * 7) % 256).to(uint8).reshape({channels, 5, 7});
    save_image(path(), image);
    const Tensor read = read_image(path());
    EXPECT_EQ(read.shape(), image.shape());
    EXPECT_EQ(read.to_vector<uint8_t>(), image.to_vector<uint8_t>());
  }
}

TEST_F(Png, PalettesBecomeColours) {
  const Tensor image = picture("palette.png");
  EXPECT_EQ(image.shape(), Dims({3, 2, 3}));
  EXPECT_EQ(image.to_vector<uint8_t>(), (Bytes{255, 0, 0, 0, 0, 255, 0, 255, 0, 0, 255, 0, 0, 0, 255, 255, 0, 0}));
  EXPECT_EQ(picture("palette_alpha.png").shape(), Dims({4, 2, 3}));
  EXPECT_EQ(picture("palette_alpha.png")[3].to_vector<uint8_t>(), (Bytes{255, 128, 255, 255, 128, 255}));
}

TEST_F(Png, BitsAndSixteenBitsBecomeBytes) {
  EXPECT_EQ(picture("bits.png")[0][0].to_vector<uint8_t>(), (Bytes{255, 0, 255, 0, 255, 0, 255, 0, 255}));
  EXPECT_EQ(picture("bits.png")[0][1].to_vector<uint8_t>(), (Bytes{0, 255, 0, 255, 0, 255, 0, 255, 0}));
  EXPECT_EQ(picture("gray16.png").to_vector<uint8_t>(), (Bytes{0, 128, 255}));
}

// The most that this process ever had in memory, in KiB.
int64_t peak_of_process() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes;
  }
  return 0;
}

TEST(ChildrenThatReadPictures, DISABLED_SayTheirPeak) {
  picture("bits.png");  // what the first one needs is there
  const int64_t before = peak_of_process();
  const Tensor image = read_image(std::getenv("PICTURE"));
  std::printf("%ld bytes in %ld KiB\n", static_cast<long>(image.numel()),
              static_cast<long>(peak_of_process() - before));
}

TEST_F(Png, IsInMemoryOnce) {
  save_image(path(), zeros({4, 4000, 4000}).to(uint8));  // 62,500 KiB of pixels in a small file
  const std::string said = child("ChildrenThatReadPictures.DISABLED_SayTheirPeak", {{"PICTURE", path().string()}});
  const size_t at = said.find("64000000 bytes in ");
  ASSERT_NE(at, std::string::npos) << said;
  EXPECT_LT(std::stol(said.substr(at + 18)), 90000) << said;
}

TEST_F(Png, InterlacedPicturesAreRead) {
  const Tensor image = picture("interlaced.png");
  EXPECT_EQ(image.shape(), Dims({3, 4, 5}));
  EXPECT_EQ(image[0][2].to_vector<uint8_t>(), (Bytes{0, 10, 20, 30, 40}));
  EXPECT_EQ(image[1][3].to_vector<uint8_t>(), (Bytes{30, 30, 30, 30, 30}));
  EXPECT_EQ(image[2].amin().item<int64_t>(), 7);
}

// Pillow's convert("L") of red, green and blue gives 76, 150 and 29.
TEST_F(Png, ModesChangeTheChannels) {
  EXPECT_EQ(picture("palette.png", ImageMode::kGray)[0][0].to_vector<uint8_t>(), (Bytes{76, 150, 29}));
  EXPECT_EQ(picture("gray_alpha.png").to_vector<uint8_t>(), (Bytes{10, 200, 255, 0}));
  EXPECT_EQ(picture("gray_alpha.png", ImageMode::kGray).to_vector<uint8_t>(), (Bytes{10, 200}));
  EXPECT_EQ(picture("gray_alpha.png", ImageMode::kRgb).to_vector<uint8_t>(), (Bytes{10, 200, 10, 200, 10, 200}));
  EXPECT_EQ(picture("gray_alpha.png", ImageMode::kRgba)[3].to_vector<uint8_t>(), (Bytes{255, 0}));
  EXPECT_EQ(picture("palette.png", ImageMode::kRgba)[3].amin().item<int64_t>(), 255);
}

TEST_F(Png, EveryTruncationIsRefused) {
  for (const char* name : {"palette_alpha.png", "interlaced.png"}) {
    const std::string whole = content_of(kPictures / name);
    for (size_t size = 0; size < whole.size(); ++size) {
      const std::string text = text_of([&] { read_image(write(whole.substr(0, size))); });
      EXPECT_TRUE(text.starts_with("[image] " + path().string() + ": ")) << size << ": " << text;
      EXPECT_EQ(text.find('\n'), std::string::npos);
    }
  }
  const std::string whole = content_of(kPictures / "bits.png");
  EXPECT_EQ(text_of([&] { read_image(write(whole.substr(0, 60))); }),
            "[image] " + path().string() + ": is cut or damaged near byte 59: the file ends early");
}

TEST_F(Png, DamageIsFound) {
  const std::string whole = content_of(kPictures / "palette.png");
  for (size_t at = 8; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    const std::string text = text_of([&] { read_image(write(damaged)); });
    EXPECT_TRUE(text.starts_with("[image] ")) << at << ": " << text;
  }
}

TEST_F(Png, HeadersAreNotBelieved) {
  EXPECT_EQ(text_of([] { picture("huge.png"); }),
            "[image] " + (kPictures / "huge.png").string() +
                ": says that it has 16000 x 16000 pixels, which 69 bytes cannot hold: it is cut or damaged");
  // libpng would take 34 MB for a row of this one.
  EXPECT_EQ(text_of([] { picture("wide_bits.png"); }),
            "[image] " + (kPictures / "wide_bits.png").string() +
                ": says that it has 16777225 x 2 pixels, which 47 bytes cannot hold: it is cut or damaged");
}

TEST_F(Jpeg, ColoursComeBack) {
  for (const char* name : {"rgb.jpg", "progressive.jpg"}) {
    const Tensor image = picture(name);
    EXPECT_EQ(image.shape(), Dims({3, 8, 16}));
    const Bytes left = image.index({Slice(), 3, 4}).to_vector<uint8_t>();
    const Bytes right = image.index({Slice(), 3, 12}).to_vector<uint8_t>();
    const Bytes expected_left = {200, 40, 60}, expected_right = {20, 90, 220};
    for (size_t c = 0; c < 3; ++c) {
      EXPECT_NEAR(left[c], expected_left[c], 2);
      EXPECT_NEAR(right[c], expected_right[c], 2);
    }
  }
}

TEST_F(Jpeg, GrayHasOneChannel) {
  const Tensor image = picture("gray.jpg");
  EXPECT_EQ(image.shape(), Dims({1, 8, 16}));
  EXPECT_NEAR(image.index({0, 4, 0}).item<int>(), 30, 1);
  EXPECT_NEAR(image.index({0, 4, 15}).item<int>(), 180, 1);
  EXPECT_EQ(picture("gray.jpg", ImageMode::kRgb).size(0), 3);
}

// 255 upside down is no ink: red 255 * 205 / 255, green 55 * 205 / 255, blue 105 * 205 / 255.
TEST_F(Jpeg, PrintersColoursBecomeRgb) {
  const Bytes left = picture("cmyk.jpg").index({Slice(), 3, 4}).to_vector<uint8_t>();
  const Bytes expected = {205, 44, 84};
  ASSERT_EQ(left.size(), 3);
  for (size_t c = 0; c < 3; ++c) EXPECT_NEAR(left[c], expected[c], 2);
}

TEST_F(Jpeg, EveryTruncationIsRefused) {
  for (const char* name : {"rgb.jpg", "progressive.jpg"}) {
    const std::string whole = content_of(kPictures / name);
    for (size_t size = 0; size < whole.size() - 2; ++size) {  // without its end mark nothing is lost
      const std::string text = text_of([&] { read_image(write(whole.substr(0, size))); });
      EXPECT_TRUE(text.starts_with("[image] " + path().string() + ": ")) << name << " " << size << ": " << text;
    }
  }
  const std::string whole = content_of(kPictures / "gray.jpg");
  EXPECT_EQ(text_of([&] { read_image(write(whole.substr(0, whole.size() - 3))); }),
            "[image] " + path().string() + ": is cut or damaged: Premature end of JPEG file");
}

TEST_F(Jpeg, HeadersAreNotBelieved) {
  std::string whole = content_of(kPictures / "gray.jpg");
  const size_t frame = whole.find("\xFF\xC0");
  ASSERT_NE(frame, std::string::npos);
  for (size_t i = 5; i < 9; ++i) whole[frame + i] = '\x3E';  // 15934 x 15934
  EXPECT_EQ(text_of([&] { read_image(write(whole)); }),
            "[image] " + path().string() +
                ": says that it has 15934 x 15934 pixels, which 163 bytes cannot hold: it is cut or damaged");
  for (size_t i = 5; i < 9; ++i) whole[frame + i] = '\x7E';  // 32382 x 32382
  EXPECT_EQ(text_of([&] { read_image(write(whole)); }),
            "[image] " + path().string() + ": says that it has 32382 x 32382 pixels; there may be 268435456 in all");
}

class Image : public InFolder {};

TEST_F(Image, OtherFilesAreRefused) {
  EXPECT_EQ(text_of([&] { read_image(write("GIF89a")); }), "[image] " + path().string() + ": is neither PNG nor JPEG");
  EXPECT_EQ(text_of([&] { read_image(write("")); }), "[image] " + path().string() + ": is neither PNG nor JPEG");
  EXPECT_EQ(text_of([] { read_image("/nowhere.png"); }),
            "[image] /nowhere.png: cannot be read: No such file or directory");
}

TEST_F(Image, FloatsAreWrittenFromZeroToOne) {
  save_image(path(), from_vector(std::vector<float>{-1, 0, 0.5, 1, 2, NAN}, {1, 6}));
  if (!is_there("bits.png", "libpng")) GTEST_SKIP() << "this build has no libpng";
  EXPECT_EQ(read_image(path()).to_vector<uint8_t>(), (Bytes{0, 0, 128, 255, 255, 0}));
}

TEST_F(Image, OnlyPicturesAreWritten) {
  const std::string front = "[image] " + path().string() + ": ";
  EXPECT_EQ(text_of([&] {
              save_image(path(), ones({5, 2, 2}));
            }),
            front + "a picture has 1 to 4 channels, this one has 5");
  EXPECT_EQ(text_of([&] {
              save_image(path(), ones({2, 2}, int64));
            }),
            front + "a picture is u8, or floats from 0 to 1, of (channels, height, width); this is i64(2, 2)");
  EXPECT_EQ(text_of([&] { save_image(path(), ones({7})); }),
            front + "a picture is u8, or floats from 0 to 1, of (channels, height, width); this is f32(7,)");
  EXPECT_TRUE(files().empty());
}

// torchvision.utils.make_grid(images, nrow=2, padding=1, pad_value=9).
TEST(MakeGrid, PutsPicturesRowByRow) {
  const Tensor images = stack({full({3, 1, 2}, 1), full({3, 1, 2}, 2), full({3, 1, 2}, 3)}).to(uint8);
  const Tensor grid = make_grid(images, {.columns = 2, .padding = 1, .value = 9});
  EXPECT_EQ(grid.shape(), Dims({3, 5, 7}));
  EXPECT_EQ(grid[1].to_vector<uint8_t>(), (Bytes{9, 9, 9, 9, 9, 9, 9,  //
                                                 9, 1, 1, 9, 2, 2, 9,  //
                                                 9, 9, 9, 9, 9, 9, 9,  //
                                                 9, 3, 3, 9, 9, 9, 9,  //
                                                 9, 9, 9, 9, 9, 9, 9}));
  EXPECT_EQ(make_grid(zeros({4, 1, 2, 2})).shape(), Dims({3, 6, 18})) << "gray becomes RGB";
  EXPECT_EQ(make_grid(zeros({1, 3, 2, 2})).shape(), Dims({3, 2, 2})) << "one stays as it is";
  EXPECT_EQ(text_of([] {
              make_grid(zeros({3, 2, 2}));
            }),
            "[make_grid] pictures are (n, channels, height, width), this is f32(3, 2, 2)");
  const Tensor two = zeros({2, 3, 2, 2});
  EXPECT_EQ(text_of([&] { make_grid(two, {.columns = 0}); }), "[make_grid] columns must be at least 1, got 0");
  EXPECT_EQ(text_of([&] { make_grid(two, {.padding = -1}); }), "[make_grid] padding must not be negative, got -1");
}

class Folders : public Png {
 protected:
  void add(const std::string& name, int value) {
    fs::create_directories(path(name).parent_path());
    save_image(path(name), full({3, 4, 4}, value).to(uint8));
  }
};

TEST_F(Folders, HaveAClassEach) {
  add("dog/b.png", 3);
  add("dog/a.PNG", 2);
  add("cat/deep/er.png", 1);
  write("cat/notes.txt", "not a picture");
  write("readme.txt", "no class");
  const ImageFolder pictures(folder_);
  EXPECT_EQ(pictures.classes(), (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(pictures.size(), 3);
  DataLoader loader(pictures, {.batch_size = 3});
  const Sample batch = loader.next();
  EXPECT_EQ(batch["image"].shape(), Dims({3, 3, 4, 4}));
  EXPECT_EQ(batch["image"].amax({1, 2, 3}).to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(batch["label"].to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 1}));
  EXPECT_EQ(pictures.path(0), path("cat/deep/er.png"));
  EXPECT_EQ(pictures.label(2), 1);
}

TEST_F(Folders, NameTheBrokenPicture) {
  add("cat/a.png", 1);
  write("cat/b.png", "no picture");
  DataLoader loader(ImageFolder(folder_), {.batch_size = 2, .workers = 1});
  EXPECT_EQ(text_of([&] { loader.next(); }),
            "[data_loader] sample 1 in epoch 0: [image] " + path("cat/b.png").string() + ": is neither PNG nor JPEG");
}

TEST_F(Folders, WithoutPicturesAreRefused) {
  EXPECT_EQ(text_of([&] { ImageFolder all(folder_); }),
            "[image_folder] " + folder_.string() + ": has no folders; each class is a folder of pictures");
  fs::create_directory(path("cat"));
  EXPECT_EQ(text_of([&] { ImageFolder all(folder_); }),
            "[image_folder] " + path("cat").string() + ": has no .png, .jpg or .jpeg");
  EXPECT_EQ(text_of([&] { ImageFolder all("/nowhere"); }),
            "[image_folder] /nowhere: cannot be read: No such file or directory");
}

TEST_F(Jpeg, AnotherLibraryIsSaidPlainly) {
  has_other_jpeg_library = true;
  const std::string said = text_of([&] { picture("rgb.jpg"); });
  has_other_jpeg_library = false;
  EXPECT_NE(said.find("rgb.jpg: cannot be read, the file is not to blame: this program was built with libjpeg "),
            said.npos)
      << said;
  EXPECT_NE(said.find("Wrong JPEG library version"), said.npos) << said;
}

}  // namespace
}  // namespace tenon::data
