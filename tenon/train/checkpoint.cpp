// The checksum of checkpoint.json stands in its last line and covers all before it; those of the other files stand in
// checkpoint.json.

#include "tenon/train/checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tenon/base/error.h"
#include "tenon/data/checksum.h"
#include "tenon/io/file.h"
#include "tenon/io/json.h"
#include "tenon/io/safetensors.h"

namespace tenon::train {
namespace {

namespace fs = std::filesystem;
using base::fail;

constexpr std::string_view kOp = "checkpoint", kUnfinished = ".unfinished_", kDropped = ".dropped_", kStep = "step_",
                           kProducts = "products.tuned", kBest = "best", kNextBest = ".best";
constexpr int kDigits = 8;

std::string step_name(int64_t step) { return fmt::format("{}{:0{}}", kStep, step, kDigits); }

std::optional<int64_t> step_of(const std::string& name) {
  const std::string_view digits = std::string_view(name).substr(std::min(name.size(), kStep.size()));
  if (!name.starts_with(kStep) || digits.size() < kDigits || digits.size() > 18 ||
      !std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  return std::stoll(std::string(digits));
}

std::string checksum_of(std::span<const std::byte> bytes) {
  data::Checksum checksum;
  checksum.add(bytes);
  return fmt::format("{:016x}", checksum.value());
}

std::string checksum_of(std::string_view text) { return checksum_of(std::as_bytes(std::span(text))); }

bool is_checkpoint(const fs::path& path) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (type != fs::file_type::directory && type != fs::file_type::none) return false;
  // What nobody may look at is there all the same.
  return fs::symlink_status(path / "checkpoint.json", error).type() != fs::file_type::not_found;
}

/// All that is named like a checkpoint, ascending; fails where the folder cannot be listed.
std::vector<int64_t> numbered(const fs::path& folder) {
  std::vector<int64_t> steps;
  for (const std::string& name : io::names_in_folder(kOp, folder)) {
    if (const auto step = step_of(name)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

/// Whatever fails behind the first line is the system's fault, not the file's.
std::shared_ptr<const io::MappedFile> opened(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::is_regular_file(status) && fs::status_known(status))
    throw DamagedCheckpoint(fmt::format("[{}] {}: is damaged: {}", kOp, path.string(),
                                        fs::exists(status) ? "it is no file" : "it is missing"));
  return io::MappedFile::open(kOp, path);
}

/// checkpoint.json without its checksum, which must fit.
std::string_view checked_text(const fs::path& path, const io::MappedFile& file) {
  const std::string_view whole = io::as_text(file.bytes());
  constexpr size_t kSum = 17;  // digits and a line break
  if (whole.size() < kSum || whole.back() != '\n' ||
      checksum_of(whole.substr(0, whole.size() - kSum)) != whole.substr(whole.size() - kSum, kSum - 1))
    fail(kOp, "{}: is damaged: its checksum does not fit", path.string());
  return whole.substr(0, whole.size() - kSum);
}

// Renames what is not good for anything, and keeps what was renamed before.
void set_aside(const fs::path& path) {
  const std::string name = "damaged_" + path.filename().string();
  fs::path to = path.parent_path() / name;
  std::error_code error;
  for (int count = 2; fs::exists(fs::symlink_status(to, error)); ++count)
    to = path.parent_path() / fmt::format("{}_{}", name, count);
  fs::rename(path, to, error);
  if (error) fail(kOp, "{}: is damaged and cannot be renamed: {}; remove it", path.string(), error.message());
}

// A rename is on disk when the folder is.
void sync_folder(const fs::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (file < 0) return;
  ::fsync(file);
  ::close(file);
}

// What could not be removed is left for the next time: a checkpoint was saved, which is what counts.
void remove_folder(const fs::path& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

void rename_into_place(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(to, error)) && !is_checkpoint(to)) set_aside(to);  // not ours to remove
  if (fs::exists(to)) {  // the same step again: the old one steps aside first
    const fs::path aside = to.parent_path() / (std::string(kDropped) + to.filename().string());
    remove_folder(aside);
    fs::rename(to, aside, error);
    if (error) fail(kOp, "{}: cannot be replaced: {}", to.string(), error.message());
    fs::rename(from, to, error);
    if (error) {
      std::error_code ignored;
      fs::rename(aside, to, ignored);
      fail(kOp, "{}: cannot be put in place: {}", to.string(), error.message());
    }
    remove_folder(aside);
  } else {
    fs::rename(from, to, error);
    if (error) fail(kOp, "{}: cannot be put in place: {}", to.string(), error.message());
  }
  sync_folder(to.parent_path());
}

}  // namespace

fs::path checkpoint_path(const fs::path& folder, int64_t step) { return folder / step_name(step); }

fs::path save_checkpoint(const fs::path& folder, const Checkpoint& checkpoint) {
  const fs::path target = checkpoint_path(folder, checkpoint.step);
  const fs::path unfinished = folder / (std::string(kUnfinished) + step_name(checkpoint.step));
  remove_folder(unfinished);
  std::error_code error;
  fs::create_directories(unfinished, error);
  if (error) fail(kOp, "{}: cannot be made: {}", unfinished.string(), error.message());
  try {
    const fs::path tensors = unfinished / "state.safetensors";
    io::save_safetensors(tensors, checkpoint.tensors, {{"format", "tenon"}});
    const auto written = io::MappedFile::open(kOp, tensors);
    nlohmann::ordered_json json = {{"format", 1},
                                   {"step", checkpoint.step},
                                   {"tensors", checksum_of(written->bytes())},
                                   {"tensor_bytes", written->bytes().size()}};
    if (!checkpoint.products.empty()) {
      io::ReplacingFile products(kOp, unfinished / kProducts);
      products.write(checkpoint.products);
      products.commit();
      json["products"] = checksum_of(checkpoint.products);
    }
    json["state"] = io::parse_json(kOp, "the state", checkpoint.state);
    const std::string text = json.dump(1) + "\n";
    io::ReplacingFile file(kOp, unfinished / "checkpoint.json");
    file.write(text + checksum_of(text) + "\n");
    file.commit();
    sync_folder(unfinished);
    rename_into_place(unfinished, target);
  } catch (const Error& failure) {
    remove_folder(unfinished);  // gives a full disk its room back
    fail(kOp, "{}: could not be written, earlier ones are kept: {}", target.string(), without_tag(failure.what()));
  }
  return target;
}

namespace {

struct Description {
  Checkpoint checkpoint;  // without tensors
  uint64_t bytes = 0;     // of the tensors' file
  std::string checksum;
  std::optional<std::string> products;  // the checksum of that file, where there is one
};

Description described(const fs::path& path, const io::MappedFile& file) {
  const std::string name = (path / "checkpoint.json").string();
  const std::string_view text = checked_text(name, file);
  const io::Input input{kOp, name, std::as_bytes(std::span(text))};
  const nlohmann::ordered_json json = io::parse_json(input);
  if (const auto format = io::json_field<int64_t>(input, json, "format"); format != 1)
    fail(kOp, "{}: is of format {}, this version reads 1", name, format);
  Description found;
  found.checkpoint.step = io::json_field<int64_t>(input, json, "step");
  if (path.filename() != step_name(found.checkpoint.step) && step_of(path.filename().string()))
    fail(kOp, "{}: is of step {}, not of the one that its folder is named after", name, found.checkpoint.step);
  found.checkpoint.state = io::json_field<nlohmann::ordered_json>(input, json, "state").dump();
  found.bytes = io::json_field<uint64_t>(input, json, "tensor_bytes");
  found.checksum = io::json_field<std::string>(input, json, "tensors");
  if (json.contains("products")) found.products = io::json_field<std::string>(input, json, "products");
  return found;
}

void require_tensors(const fs::path& path, const io::MappedFile& file, const Description& wanted) {
  if (file.bytes().size() != wanted.bytes)
    fail(kOp, "{}: is damaged: it has {} bytes instead of {}", path.string(), file.bytes().size(), wanted.bytes);
  if (checksum_of(file.bytes()) != wanted.checksum)
    fail(kOp, "{}: is damaged: its checksum does not fit", path.string());
}

std::string checked_products(const fs::path& path, const io::MappedFile& file, const std::string& checksum) {
  const std::string_view text = io::as_text(file.bytes());
  if (checksum_of(text) != checksum) fail(kOp, "{}: is damaged: its checksum does not fit", path.string());
  return std::string(text);
}

// Of bytes that could be read: what is wrong with them is damage.
auto judged(const auto& look) {
  try {
    return look();
  } catch (const Error& error) {
    throw DamagedCheckpoint(error.what());
  }
}

}  // namespace

Checkpoint read_checkpoint(const fs::path& path) {
  const auto file = opened(path / "checkpoint.json");
  Description found = judged([&] { return described(path, *file); });
  const fs::path tensors = path / "state.safetensors";
  {
    const auto mapped = opened(tensors);
    judged([&] { require_tensors(tensors, *mapped, found); });
  }
  if (found.products) {
    const fs::path products = path / kProducts;
    const auto mapped = opened(products);
    found.checkpoint.products = judged([&] { return checked_products(products, *mapped, *found.products); });
  }
  found.checkpoint.tensors = io::load_safetensors(tensors).tensors;
  return std::move(found.checkpoint);
}

std::vector<int64_t> checkpoint_steps(const fs::path& folder) {
  std::vector<int64_t> steps = numbered(folder);
  std::erase_if(steps, [&](int64_t step) { return !is_checkpoint(checkpoint_path(folder, step)); });
  return steps;
}

bool holds_checkpoint(const fs::path& folder) {
  const std::vector<int64_t> steps = checkpoint_steps(folder);
  return std::any_of(steps.begin(), steps.end(), [&](int64_t step) {
    const fs::path path = checkpoint_path(folder, step);
    try {
      described(path, *opened(path / "checkpoint.json"));
      return true;
    } catch (const Error&) {
      return false;
    }
  });
}

std::optional<Checkpoint> newest_checkpoint(const fs::path& folder,
                                            const std::function<void(const std::string&)>& refused) {
  const std::vector<int64_t> steps = numbered(folder);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    try {
      return read_checkpoint(checkpoint_path(folder, *step));
    } catch (const DamagedCheckpoint& failure) {
      refused(failure.what());
    }
  }
  return std::nullopt;
}

std::string without_tag(std::string_view message) {
  const size_t end = message.starts_with('[') ? message.find("] ") : message.npos;
  return std::string(end == message.npos ? message : message.substr(end + 2));
}

namespace {

// What interrupted writers left behind.
void sweep(const fs::path& folder) {
  for (const std::string& name : io::names_in_folder(kOp, folder)) {
    for (const std::string_view prefix : {kDropped, kUnfinished}) {
      if (name.starts_with(prefix) && step_of(name.substr(prefix.size()))) remove_folder(folder / name);
    }
    std::error_code ignored;
    if (name == kNextBest && fs::is_symlink(folder / name, ignored)) fs::remove(folder / name, ignored);
  }
}

void drop_old(const fs::path& folder, int64_t keep_last, std::optional<int64_t> spared) {
  std::vector<int64_t> steps = checkpoint_steps(folder);
  if (keep_last > 0 && std::ssize(steps) > keep_last) {
    steps.resize(steps.size() - static_cast<size_t>(keep_last));
    for (const int64_t step : steps) {
      if (step == spared) continue;
      // Out of the way at once, so that a kill leaves nothing that looks like a checkpoint and is half of one.
      const fs::path dropped = folder / (std::string(kDropped) + step_name(step));
      std::error_code error;
      fs::rename(checkpoint_path(folder, step), dropped, error);
    }
  }
}

}  // namespace

void prune_checkpoints(const fs::path& folder, int64_t keep_last, std::optional<int64_t> spared) {
  try {
    drop_old(folder, keep_last, spared);
    sweep(folder);
  } catch (const Error&) {
    // The folder cannot be listed now. A checkpoint was saved, which is what counts; the next time removes the rest.
  }
}

void set_aside_checkpoints(const fs::path& folder, int64_t last_good) {
  for (const int64_t step : numbered(folder)) {
    if (step > last_good) set_aside(checkpoint_path(folder, step));
  }
}

void name_best(const fs::path& folder, int64_t step) {
  const fs::path link = folder / kBest, fresh = folder / kNextBest;
  std::error_code error;
  fs::remove(fresh, error);
  fs::create_directory_symlink(step_name(step), fresh, error);
  if (!error) fs::rename(fresh, link, error);
  if (error) fail(kOp, "{}: cannot be written: {}", link.string(), error.message());
}

std::optional<int64_t> best_step(const fs::path& folder) {
  std::error_code error;
  const fs::path target = fs::read_symlink(folder / kBest, error);
  return error ? std::nullopt : step_of(target.filename().string());
}

}  // namespace tenon::train
