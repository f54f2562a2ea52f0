#include "tenon/data/image_folder.h"

#include <algorithm>
#include <system_error>

#include "tenon/base/error.h"
#include "tenon/data/host_bytes.h"
#include "tenon/data/image.h"
#include "tenon/tensor/creation.h"

namespace tenon::data {
namespace {

namespace fs = std::filesystem;

bool is_picture(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

/// The pictures in a folder and below it, by name.
std::vector<fs::path> pictures_in(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder, fs::directory_options::follow_directory_symlink)) {
    if (is_picture(entry.path()) && entry.is_regular_file()) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

ImageFolder::ImageFolder(const fs::path& folder, ImageMode mode) : mode_(mode) {
  auto found = std::make_shared<Found>();
  try {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.is_directory()) found->classes.push_back(entry.path().filename().string());
    }
    std::sort(found->classes.begin(), found->classes.end());
    if (found->classes.empty()) {
      base::fail("image_folder", "{}: has no folders; each class is a folder of pictures", folder.string());
    }
    for (size_t label = 0; label < found->classes.size(); ++label) {
      const fs::path of_class = folder / found->classes[label];
      const std::vector<fs::path> paths = pictures_in(of_class);
      if (paths.empty()) base::fail("image_folder", "{}: has no .png, .jpg or .jpeg", of_class.string());
      for (const fs::path& path : paths) found->pictures.push_back({path, static_cast<int64_t>(label)});
    }
  } catch (const fs::filesystem_error& error) {
    base::fail("image_folder", "{}: cannot be read: {}",
               error.path1().empty() ? folder.string() : error.path1().string(), error.code().message());
  }
  found_ = std::move(found);
}

const ImageFolder::Picture& ImageFolder::picture(int64_t i) const {
  if (i < 0 || i >= size()) base::fail("image_folder", "there is no sample {}; there are {}", i, size());
  return found_->pictures[static_cast<size_t>(i)];
}

Sample ImageFolder::get(int64_t i) const {
  const Picture& chosen = picture(i);
  return {{"image", read_image(chosen.path, mode_, host())},
          {"label", from_vector(std::vector<int64_t>{chosen.label}, {}, Options(host()))}};
}

}  // namespace tenon::data
