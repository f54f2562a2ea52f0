// docs/data.md: its programs are those of this file.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "tenon/tenon.h"
#include "tests/data/compress.h"
#include "tests/data/support.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

/// In a folder with the files that the page speaks of.
class DocsOfData : public io::InFolder {
 protected:
  DocsOfData() : before_(fs::current_path()) { fs::current_path(folder_); }
  ~DocsOfData() override { fs::current_path(before_); }

 private:
  fs::path before_;
};

std::string idx(std::string sizes, const std::string& content) {
  return std::string("\0\0\x08", 3) + static_cast<char>(sizes.size() / 4) + sizes + content;
}

// clang-format off
class Squares : public data::Dataset {
 public:
  int64_t size() const override { return 100; }
  data::Sample get(int64_t i) const override { return {scalar(i), scalar(i * i)}; }
};
// clang-format on

TEST_F(DocsOfData, TextExamplesRun) {
  text::ByteTokenizer(true).save("tokenizer");
  fs::create_directory("more");
  write("more/a.txt", data::stories(20'000, 1));
  write("articles.xml.bz2", data::bzipped("<mediawiki><page><title>A</title><ns>0</ns><revision><text>Some text.</text>"
                                          "</revision></page></mediawiki>"));
  // clang-format off
  auto tokenizer = text::load_tokenizer("tokenizer");
  data::prepare(*tokenizer, {.inputs = {"articles.xml.bz2", "more/"}, .out = "train.tokens"});

  data::Tokens all(data::TokenFile::open("train.tokens"));      // or data::Tokens(std::vector<int32_t>)
  auto [train, validation] = data::split(all, 0.1);             // the last tenth
  data::Loader loader(train, {.batch = 12, .length = 64, .order = data::Order::kShuffled, .seed = 7});
  data::Batch batch;
  loader.next(batch);                                           // batch.inputs, batch.targets: rows of 64 tokens
  // clang-format on
  EXPECT_EQ(batch.rows(), 12);
  EXPECT_GT(validation.size(), 1000);
}

TEST_F(DocsOfData, DatasetExamplesRun) {
  // clang-format off
  data::TensorDataset pairs({{"x", randn({1000, 8})}, {"y", randint(0, 3, {1000})}});
  std::vector<data::Subset> parts = data::random_split(pairs, {0.9, 0.1}, 7);   // or {900, 100}
  data::DataLoader loader(parts[0], {.batch_size = 64, .shuffle = true, .seed = 7, .workers = 2});
  int64_t rows = 0;
  while (loader.epoch() < 3) {
    for (const data::Sample& batch : loader) {        // what is left of the epoch
      auto [x, y] = batch.unpack<2>();                // or batch["x"], batch[0]
      rows += x.size(0);
    }
  }
  std::string saved = to_json(loader.state());
  loader.restore(data::data_loader_state_from_json(saved));

  std::vector<double> weights(1000, 1.0);
  for (size_t i = 0; i < 50; ++i) weights[i] = 19;   // the rare class, as often as all others together
  const auto sampler = std::make_shared<data::WeightedSampler>(weights, 1000, 7);
  data::DataLoader balanced(pairs, {.batch_size = 50, .sampler = sampler});
  // clang-format on
  EXPECT_EQ(rows, 3 * 900);
  EXPECT_EQ(balanced.size(), 20);
  EXPECT_EQ(data::DataLoader(Squares(), {.batch_size = 4}).next()[1].to_vector<int64_t>(),
            (std::vector<int64_t>{0, 1, 4, 9}));

  fs::create_directory("cifar-10-batches-bin");
  for (char i = 1; i <= 5; ++i)
    write(fmt::format("cifar-10-batches-bin/data_batch_{}.bin", int{i}), i + std::string(3072, '\x40'));
  // clang-format off
  data::Transform augment = data::compose({data::random_crop(32, 32, {.padding = 4}), data::random_horizontal_flip(),
                                           data::to_float(), data::normalize({0.49, 0.48, 0.45}, {0.25, 0.24, 0.26})});
  auto train = data::transformed(data::cifar10("cifar-10-batches-bin"), augment);
  auto noisy = data::map(pairs, [](data::Sample sample, data::Random& random) {
    sample.set("x", sample["x"] * random.uniform(0.9, 1.1));   // chance comes from `random` alone
    return sample;
  });
  // clang-format on
  EXPECT_EQ(data::DataLoader(train, {.batch_size = 5}).next()["image"].shape(), Dims({5, 3, 32, 32}));
  EXPECT_EQ(data::DataLoader(noisy, {.batch_size = 5}).next()["x"].shape(), Dims({5, 8}));
}

TEST_F(DocsOfData, ReaderExamplesRun) {
  for (const char* folder : {"mnist", "photos", "photos/cat"}) fs::create_directory(folder);
  write("mnist/train-images-idx3-ubyte",
        idx(std::string("\0\0\0\x14\0\0\0\x1c\0\0\0\x1c", 12), std::string(20 * 784, 'x')));
  write("mnist/train-labels-idx1-ubyte.gz", data::gzipped(idx(std::string("\0\0\0\x14", 4), std::string(20, '\3'))));
  data::save_image("photos/cat/1.png", rand({3, 20, 30}));
  write("iris.csv", "length,width,species\n5.1,3.5,setosa\n7.0,3.2,versicolor\n");
  io::save_npz("arrays.npz", {{"x", randn({5, 2})}, {"y", randn({5})}});
  if (text_of([] { data::read_image("photos/cat/1.png"); }).find("built without") != std::string::npos) {
    GTEST_SKIP() << "this build has no libpng";
  }
  // clang-format off
  auto digits = data::mnist("mnist");                                   // 60,000 of "image", u8 (1, 28, 28), and "label"
  data::ImageFolder photos("photos");                                   // photos/cat/1.jpg, photos/dog/2.png, ...
  auto resized = data::transformed(photos, data::compose({data::resize(64, 64), data::to_float()}));
  data::Table table = data::read_csv("iris.csv");
  Tensor lengths = table.columns({"length", "width"});                  // f32 (rows, 2)
  auto [species, names] = table.categories("species");                  // i64 (rows), and what the numbers stand for
  data::TensorDataset arrays(io::load_npz("arrays.npz"));
  Tensor picture = data::read_image("photos/cat/1.png", data::ImageMode::kRgb);
  data::save_image("grid.png", digits.tensors()["image"].slice(0, 0, 16), {.columns = 4});
  io::save_npy("lengths.npy", lengths);
  // clang-format on
  EXPECT_EQ(resized.get(0)["image"].shape(), Dims({3, 64, 64}));
  EXPECT_EQ(names, (std::vector<std::string>{"setosa", "versicolor"}));
  EXPECT_EQ(species.to_vector<int64_t>(), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(arrays.size(), 5);
  EXPECT_EQ(picture.shape(), Dims({3, 20, 30}));
  EXPECT_EQ(data::read_image("grid.png").shape(), Dims({3, 4 * 30 + 2, 4 * 30 + 2}));
  EXPECT_EQ(io::load_npy("lengths.npy").shape(), Dims({2, 2}));
}

// clang-format off
class Countdown : public data::IterableDataset {
 public:
  Pass pass(int64_t epoch) const override {
    static_cast<void>(epoch);
    return [left = 10]() mutable -> std::optional<data::Sample> {
      if (left == 0) return std::nullopt;
      return data::Sample{scalar(left--)};
    };
  }
};

TEST(DocsOfStreams, ExampleCountsDown) {
  testing::internal::CaptureStdout();
  data::IterableLoader loader(std::make_shared<Countdown>(), {.batch_size = 4, .workers = 1});
  for (const data::Sample& batch : loader) std::cout << batch[0] << "\n";   // [10  9  8  7] [6 5 4 3] [2 1]
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "[10  9  8  7]\n[6 5 4 3]\n[2 1]\n");
}
// clang-format on

TEST(DocsOfDataPage, ExamplesAreThoseOfTheTest) {
  const auto trimmed = [](const std::string& line) {
    const size_t first = line.find_first_not_of(' ');
    return first == std::string::npos ? std::string() : line.substr(first);
  };
  std::istringstream tested(io::content_of(TENON_SOURCE_DIR "/tests/data/docs_test.cpp"));
  std::istringstream page(io::content_of(TENON_SOURCE_DIR "/docs/data.md"));
  std::set<std::string> lines;
  for (std::string line; std::getline(tested, line);) lines.insert(trimmed(line));
  bool in_example = false;
  int checked = 0;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```")) {
      in_example = line == "```cpp";
    } else if (in_example) {
      EXPECT_TRUE(lines.contains(trimmed(line))) << "not in the test: " << line;
      ++checked;
    }
  }
  EXPECT_GT(checked, 35);
}

}  // namespace
}  // namespace tenon
