// Pictures in folders, a folder for each class, as data to train on: FOLDER/train and FOLDER/val (or valid, validation,
// test), or FOLDER's own classes, of which a part is held back.
//
// A file that is no whole picture does not stop a run: it is named once and left out. In training the next picture that
// can be read takes its place, so that which picture comes when does not depend on it otherwise.

#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tenon/data/dataset.h"
#include "tenon/train/config.h"

namespace tenon::train {

/// What is to be said of files that were left out, each once; readers of all threads add to it.
class LeftOut {
 public:
  void add(const std::string& path, const std::string& why);
  /// What was added since.
  std::vector<std::string> take();

 private:
  std::mutex mutex_;
  std::set<std::string> known_;
  std::vector<std::string> lines_;
};

struct PictureFolder {
  std::vector<std::string> classes;
  data::SharedDataset train, test;  // "image", u8 of one size, and "label", i64: kNoLabel of a picture to leave out
  std::string fingerprint;          // of names and sizes of the files
  std::shared_ptr<LeftOut> left_out;
};

/// The label of a picture for tests that cannot be read, which no loss looks at.
inline constexpr int64_t kNoLabel = -100;

/// Fails with one line where there are no classes, or those of the two parts differ.
PictureFolder read_picture_folder(const Config& config);

}  // namespace tenon::train
