// The step is in the name of the file, with zeros in front, so that a folder lists them in order.

#include "tenon/watch/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

#include "tenon/io/file.h"

namespace tenon::watch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "run", kPrefix = "step_", kSuffix = ".txt", kPicture = ".png";

fs::path sample_path(const fs::path& run_folder, int64_t step, std::string_view suffix = kSuffix) {
  return run_folder / "samples" / fmt::format("{}{:08}{}", kPrefix, step, suffix);
}

std::string content_of(const fs::path& path) {
  const auto file = io::MappedFile::open(kFormat, path);
  return std::string(io::as_text(file->bytes()));
}

void replace(const fs::path& path, std::string_view content) {
  io::ReplacingFile file(kFormat, path);
  file.write(content);
  file.commit();
}

/// The step in a name that write_sample makes.
std::optional<int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return {};
  const char* begin = name.data() + kPrefix.size();
  const char* end = name.data() + name.size() - kSuffix.size();
  int64_t step = 0;
  if (begin >= end) return {};
  const auto [stop, error] = std::from_chars(begin, end, step);
  return error == std::errc{} && stop == end ? std::optional(step) : std::nullopt;
}

}  // namespace

std::vector<Sample> read_samples(const fs::path& run_folder) {
  std::vector<Sample> samples;
  const fs::path folder = run_folder / "samples";
  for (const std::string& name : io::names_in_folder(kFormat, folder)) {
    const auto step = step_of(name);
    if (!step) continue;
    samples.push_back({*step, content_of(folder / name)});
    const fs::path picture = sample_path(run_folder, *step, kPicture);
    if (io::is_there(kFormat, picture)) samples.back().picture = content_of(picture);
  }
  std::sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.step < b.step; });
  return samples;
}

void write_sample(const fs::path& run_folder, const Sample& sample) {
  // The picture first: whoever finds a text finds all that belongs to it.
  if (!sample.picture.empty()) replace(sample_path(run_folder, sample.step, kPicture), sample.picture);
  replace(sample_path(run_folder, sample.step), sample.text);
}

void remove_samples_after(const fs::path& run_folder, int64_t step) {
  for (const Sample& sample : read_samples(run_folder)) {
    if (sample.step <= step) continue;
    io::remove_stale(kFormat, sample_path(run_folder, sample.step));
    if (!sample.picture.empty()) io::remove_stale(kFormat, sample_path(run_folder, sample.step, kPicture));
  }
}

}  // namespace tenon::watch
