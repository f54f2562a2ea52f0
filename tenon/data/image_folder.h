// ImageFolder: pictures in one folder per class.
//
//   data::ImageFolder pictures("photos");      // photos/cat/1.jpg, photos/dog/more/2.png, ...
//   pictures.classes();                        // {"cat", "dog"}
//   auto dataset = data::transformed(pictures, data::compose({data::resize(224, 224), data::to_float()}));

#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tenon/data/dataset.h"
#include "tenon/data/image_mode.h"

namespace tenon::data {

/// "image", u8 (channels, height, width), and "label", i64: the place of the class. Classes and files are in the order
/// of their names. Pictures are read when they are asked for.
class ImageFolder : public Dataset {
 public:
  /// Takes .png, .jpg and .jpeg, in the folder of each class and below. Fails with one line where there is no class, or
  /// one without pictures.
  explicit ImageFolder(const std::filesystem::path& folder, ImageMode mode = ImageMode::kRgb);

  int64_t size() const override { return static_cast<int64_t>(found_->pictures.size()); }
  Sample get(int64_t i) const override;

  /// The names of the classes; the file and the class of a picture.
  const std::vector<std::string>& classes() const { return found_->classes; }
  const std::filesystem::path& path(int64_t i) const { return picture(i).path; }
  int64_t label(int64_t i) const { return picture(i).label; }

 private:
  struct Picture {
    std::filesystem::path path;
    int64_t label;
  };
  struct Found {
    std::vector<std::string> classes;
    std::vector<Picture> pictures;
  };
  const Picture& picture(int64_t i) const;
  std::shared_ptr<const Found> found_;
  ImageMode mode_;
};

}  // namespace tenon::data
