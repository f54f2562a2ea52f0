#include "tenon/train/picture_folder.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>

#include "tenon/base/error.h"
#include "tenon/data/checksum.h"
#include "tenon/data/host_bytes.h"
#include "tenon/data/image.h"
#include "tenon/data/image_folder.h"
#include "tenon/data/transforms.h"
#include "tenon/tensor/creation.h"

namespace tenon::train {
namespace {

namespace fs = std::filesystem;
using base::fail;

Tensor label_tensor(int64_t label) { return from_vector(std::vector<int64_t>{label}, {}, Options(data::host())); }

// Some pictures of a folder, each through a transform.
class ReadablePictures : public data::Dataset {
 public:
  enum class Broken { next_takes_its_place, has_no_label };

  ReadablePictures(data::ImageFolder folder, std::vector<int64_t> places, data::Transform transform, Broken broken,
                   int64_t side, std::shared_ptr<LeftOut> left_out)
      : folder_(std::move(folder)),
        places_(std::move(places)),
        transform_(std::move(transform)),
        broken_(broken),
        side_(side),
        left_out_(std::move(left_out)) {}

  int64_t size() const override { return std::ssize(places_); }
  data::Sample get(int64_t i) const override {
    data::Random random(0, 0, i);
    return draw(i, random);
  }
  data::Sample draw(int64_t i, data::Random& random) const override {
    for (int64_t tries = 0; tries < size(); ++tries) {
      const int64_t place = places_[static_cast<size_t>((i + tries) % size())];
      const fs::path& path = folder_.path(place);
      std::string why;
      const std::optional<Tensor> image = data::read_whole_image(path, why, data::ImageMode::kRgb, data::host());
      if (image) return {{"image", transform_(*image, random)}, {"label", label_tensor(folder_.label(place))}};
      left_out_->add(path.string(), why);
      if (broken_ == Broken::has_no_label)
        return {{"image", zeros({3, side_, side_}, Options(DType::u8, data::host()))},
                {"label", label_tensor(kNoLabel)}};
    }
    fail("train", "none of the {} pictures to train on can be read", size());
  }

 private:
  data::ImageFolder folder_;
  std::vector<int64_t> places_;
  data::Transform transform_;
  Broken broken_;
  int64_t side_;
  std::shared_ptr<LeftOut> left_out_;
};

std::vector<int64_t> all_of(const data::ImageFolder& folder) {
  std::vector<int64_t> places(static_cast<size_t>(folder.size()));
  std::iota(places.begin(), places.end(), int64_t{0});
  return places;
}

struct Split {
  std::vector<int64_t> train, test;
};

// The same share of every class, chosen by chance; one picture at least stays to train on.
Split split_of(const data::ImageFolder& folder, double fraction, uint64_t seed) {
  std::vector<std::vector<int64_t>> by_class(folder.classes().size());
  for (int64_t i = 0; i < folder.size(); ++i) by_class[static_cast<size_t>(folder.label(i))].push_back(i);
  Split split;
  for (size_t label = 0; label < by_class.size(); ++label) {
    std::vector<int64_t>& places = by_class[label];
    data::Random random(seed, -1, static_cast<int64_t>(label));
    for (size_t i = places.size(); i > 1; --i)
      std::swap(places[i - 1], places[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
    const auto wanted = static_cast<int64_t>(std::llround(fraction * static_cast<double>(places.size())));
    const int64_t held_back = std::clamp<int64_t>(wanted, 0, std::ssize(places) - 1);
    split.test.insert(split.test.end(), places.begin(), places.begin() + held_back);
    split.train.insert(split.train.end(), places.begin() + held_back, places.end());
  }
  std::ranges::sort(split.train);
  std::ranges::sort(split.test);
  return split;
}

void add_to(data::Checksum& checksum, const data::ImageFolder& folder, const fs::path& root) {
  for (int64_t i = 0; i < folder.size(); ++i) {
    std::error_code unreadable;
    const auto bytes = fs::file_size(folder.path(i), unreadable);
    const std::string line =
        fmt::format("{} {}\n", fs::relative(folder.path(i), root, unreadable).generic_string(), bytes);
    checksum.add(std::as_bytes(std::span(line)));
  }
}

// Where a person may have put the pictures that are held back.
std::optional<fs::path> test_folder(const fs::path& root) {
  for (const char* name : {"val", "valid", "validation", "test"}) {
    if (fs::is_directory(root / name)) return root / name;
  }
  return std::nullopt;
}

data::Transform for_training(const DataConfig& d) {
  if (d.least_area < 1) return data::random_resized_crop(d.picture_size, d.picture_size, {.least_area = d.least_area});
  return data::compose({data::resize_shorter(d.picture_size), data::center_crop(d.picture_size, d.picture_size)});
}

// Who trains on parts sees things larger than they are in whole pictures: an eighth of each side is cut off, as usual
// for ImageNet (256 to 224).
data::Transform for_tests(const DataConfig& d) {
  const int64_t side = d.least_area < 1 ? d.picture_size * 8 / 7 : d.picture_size;
  return data::compose({data::resize_shorter(side), data::center_crop(d.picture_size, d.picture_size)});
}

}  // namespace

void LeftOut::add(const std::string& path, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (known_.insert(path).second) lines_.push_back(why + "; left out");
}

std::vector<std::string> LeftOut::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(lines_, {});
}

PictureFolder read_picture_folder(const Config& config) {
  const fs::path root = config.data.path;
  if (!fs::is_directory(root))
    fail("train",
         "data.path {}: there is no such folder; name one that has a folder of pictures for each class, or "
         "train and val with such folders",
         root.string());
  const bool has_parts = fs::is_directory(root / "train");
  const data::ImageFolder first(has_parts ? root / "train" : root);
  data::Checksum checksum;
  add_to(checksum, first, root);
  Split split{all_of(first), {}};
  data::ImageFolder second = first;
  const std::optional<fs::path> held_back = has_parts ? test_folder(root) : std::nullopt;
  if (held_back) {
    second = data::ImageFolder(*held_back);
    if (second.classes() != first.classes())
      fail("train", "{}: its classes are not those of {}: {} folders and {}", held_back->string(),
           (root / "train").string(), second.classes().size(), first.classes().size());
    add_to(checksum, second, root);
    split.test = all_of(second);
  } else {
    split = split_of(first, config.data.validation_fraction, static_cast<uint64_t>(config.data.seed));
  }
  const auto left_out = std::make_shared<LeftOut>();
  using Broken = ReadablePictures::Broken;
  const int64_t side = config.data.picture_size;
  return {first.classes(),
          ReadablePictures(first, split.train, for_training(config.data), Broken::next_takes_its_place, side, left_out),
          ReadablePictures(second, split.test, for_tests(config.data), Broken::has_no_label, side, left_out),
          fmt::format("{:016x}", checksum.value()), left_out};
}

}  // namespace tenon::train
