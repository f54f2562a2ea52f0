// What the tests of io share: a folder of their own, a full disk, and the files that are handed around between
// projects.

#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tenon/tensor/tensor.h"
#include "tests/error_text.h"

namespace tenon::io {

namespace fs = std::filesystem;

inline std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A folder of its own for each test, removed afterwards.
class InFolder : public testing::Test {
 protected:
  explicit InFolder(std::string usual = "file", const fs::path& where = fs::temp_directory_path())
      : usual_(std::move(usual)) {
    std::string made = (where / "tenon-io-XXXXXX").string();
    if (!mkdtemp(made.data())) throw std::runtime_error("no temporary folder");
    folder_ = made;
  }
  ~InFolder() override { fs::remove_all(folder_); }

  fs::path path() const { return folder_ / usual_; }
  fs::path path(const std::string& name) const { return folder_ / name; }

  fs::path write(const std::string& content) const { return write(usual_, content); }
  fs::path write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  fs::path folder_;
  std::string usual_;
};

/// What loading a file fails with, less "[format] FILE: "; must be one line.
inline std::string refusal_by(const std::string& format, const fs::path& file, auto&& load) {
  const std::string text = text_of(load), start = "[" + format + "] " + file.string() + ": ";
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  if (!text.starts_with(start)) return text;
  return text.substr(start.size());
}

/// While alive, no file may grow past this size: what a full disk does to a write.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

/// The folder of data that stands beside the checkout; TENON_SHARED_DATA says where else. May not exist.
inline fs::path shared_data() {
  const char* set = std::getenv("TENON_SHARED_DATA");
  return set ? fs::path(set) : fs::path(TENON_SOURCE_DIR) / "../shared/data";
}

/// Tests on files of the shared data, skipped where there are none.
class OnSharedData : public InFolder {
 protected:
  explicit OnSharedData(const std::string& name) : shared_(shared_data() / name) {}
  void SetUp() override {
    if (!fs::exists(shared_)) GTEST_SKIP() << shared_ << " is not there";
  }
  fs::path shared_;
};

}  // namespace tenon::io
