// Lines are formatted by hand, 1 us each, and read with nlohmann's parser, a line at a time.

#include "tenon/train/metrics.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "tenon/io/file.h"

namespace tenon::train {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kFormat = "metrics";

void append(std::string& line, std::string_view key, double value) {
  if (std::isnan(value))
    fmt::format_to(std::back_inserter(line), ",\"{}\":\"nan\"", key);
  else if (std::isinf(value))
    fmt::format_to(std::back_inserter(line), ",\"{}\":\"{}\"", key, value > 0 ? "inf" : "-inf");
  else
    fmt::format_to(std::back_inserter(line), ",\"{}\":{}", key, value);
}
void append(std::string& line, std::string_view key, int64_t value) {
  fmt::format_to(std::back_inserter(line), ",\"{}\":{}", key, value);
}

void append_line(std::string& line, const StepMetrics& metrics) {
  fmt::format_to(std::back_inserter(line), "{{\"step\":{}", metrics.step);
  append(line, "loss", metrics.loss);
  append(line, "lr", metrics.lr);
  append(line, "gradient_norm", metrics.gradient_norm);
  append(line, "tokens_per_second", metrics.tokens_per_second);
  append(line, "tokens", metrics.tokens);
  append(line, "seconds", metrics.seconds);
  append(line, "resident_bytes", metrics.resident_bytes);
  if (metrics.validation_loss) append(line, "validation_loss", *metrics.validation_loss);
  if (metrics.loss_scale) append(line, "loss_scale", *metrics.loss_scale);
  if (metrics.resumed) line += ",\"resumed\":true";
  line += "}\n";
}

/// Reads one line; `wrong` says what is wrong with it.
class LineReader {
 public:
  explicit LineReader(std::string_view line) {
    // The parser takes a zero byte for the end of its input and would not look at what follows.
    const bool has_zero = line.find('\0') != line.npos;
    if (!has_zero) object_ = json::parse(line, nullptr, false);
    if (has_zero || !object_.is_object()) wrong_ = "is not a JSON object";
  }

  std::optional<StepMetrics> read() {
    StepMetrics metrics;
    if (!wrong_.empty()) return {};
    for (const char* key : {"step", "loss"}) {
      if (!object_.contains(key)) wrong_ = fmt::format("has no {}", key);
    }
    read("step", metrics.step);
    read("loss", metrics.loss);
    read("lr", metrics.lr);
    read("gradient_norm", metrics.gradient_norm);
    read("tokens_per_second", metrics.tokens_per_second);
    read("tokens", metrics.tokens);
    read("seconds", metrics.seconds);
    read("resident_bytes", metrics.resident_bytes);
    read("validation_loss", metrics.validation_loss);
    read("loss_scale", metrics.loss_scale);
    const auto resumed = object_.find("resumed");
    metrics.resumed = resumed != object_.end() && *resumed == true;
    return wrong_.empty() ? std::optional(metrics) : std::nullopt;
  }
  const std::string& wrong() const { return wrong_; }

 private:
  void read(const char* key, int64_t& into) {
    const auto found = object_.find(key);
    if (found == object_.end()) return;
    const bool fits = found->is_number_integer() &&
                      (!found->is_number_unsigned() || found->get<uint64_t>() <= uint64_t{INT64_MAX}) &&
                      found->get<int64_t>() >= 0;
    if (fits)
      into = found->get<int64_t>();
    else
      wrong_ = fmt::format("has no count for {}", key);
  }
  void read(const char* key, double& into) {
    const auto found = object_.find(key);
    if (found == object_.end()) return;
    if (found->is_number())
      into = found->get<double>();
    else if (found->is_null() || *found == "nan")  // other writers put null where we put "nan"
      into = std::numeric_limits<double>::quiet_NaN();
    else if (*found == "inf" || *found == "-inf")
      into = *found == "inf" ? HUGE_VAL : -HUGE_VAL;
    else
      wrong_ = fmt::format("has no number for {}", key);
  }
  void read(const char* key, std::optional<double>& into) {
    if (object_.contains(key)) read(key, into.emplace());
  }

  json object_;
  std::string wrong_;
};

/// Calls `found` with each step and its line (with the line break, where it has one).
template <typename Found>
void each_line(const io::Input& input, Found&& found) {
  std::string_view rest = io::as_text(input.bytes);
  for (int64_t number = 1; !rest.empty(); ++number) {
    const size_t line_break = rest.find('\n');
    const bool is_torn = line_break == rest.npos;  // or only lacks its line break
    const std::string_view line = rest.substr(0, is_torn ? rest.size() : line_break + 1);
    rest.remove_prefix(line.size());
    if (line == "\n") continue;
    LineReader reader(line);
    if (const auto metrics = reader.read()) {
      found(*metrics, line);
    } else if (!is_torn) {
      io::fail(input, "line {} {}; the file is damaged, repair that line or move the file away", number,
               reader.wrong());
    }
  }
}

struct Kept {
  std::string text;
  bool is_whole = true;  // nothing was cut off
};

/// The lines up to a step.
Kept keep_through(const io::Input& input, int64_t last_step) {
  Kept kept;
  each_line(input, [&](const StepMetrics& metrics, std::string_view line) {
    if (metrics.step > last_step) return;
    kept.text += line;
    if (!line.ends_with('\n')) kept.text += '\n';
  });
  kept.is_whole = kept.text == io::as_text(input.bytes);
  return kept;
}

}  // namespace

MetricsLog MetricsLog::open(const fs::path& path, std::optional<int64_t> last_step) {
  Kept kept;
  std::error_code ignored;
  const bool exists = fs::exists(path, ignored);
  if (exists && last_step) {
    const auto old = io::MappedFile::open(kFormat, path);
    kept = keep_through({kFormat, path.string(), old->bytes()}, *last_step);
  }
  if (!exists || !last_step || !kept.is_whole) {
    io::ReplacingFile file(kFormat, path);
    file.write(kept.text);
    file.commit();
  }
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  MetricsLog log(path, file, last_step.has_value());
  if (file < 0) log.fail_writing();
  return log;
}

MetricsLog::MetricsLog(fs::path path, int file, bool resumes)
    : path_(std::move(path)), file_(file), resumes_(resumes) {}

MetricsLog::~MetricsLog() {
  if (file_ >= 0) close(file_);
}

MetricsLog::MetricsLog(MetricsLog&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      resumes_(other.resumes_),
      line_(std::move(other.line_)) {}

void MetricsLog::write(const StepMetrics& metrics) {
  StepMetrics written = metrics;
  written.resumed = std::exchange(resumes_, false);
  line_.clear();
  append_line(line_, written);
  std::string_view rest = line_;
  while (!rest.empty()) {
    const ssize_t bytes = ::write(file_, rest.data(), rest.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) fail_writing();
    rest.remove_prefix(static_cast<size_t>(bytes));
  }
}

void MetricsLog::flush() {
  if (fsync(file_) < 0) fail_writing();
}

void MetricsLog::fail_writing() const {
  base::fail(kFormat, "{}: cannot be written: {}", path_.string(), std::generic_category().message(errno));
}

std::string metrics_line(const StepMetrics& metrics) {
  std::string line;
  append_line(line, metrics);
  return line;
}

std::vector<StepMetrics> read_metrics(const fs::path& path) {
  const auto file = io::MappedFile::open(kFormat, path);
  return parse_metrics({kFormat, path.string(), file->bytes()});
}

std::vector<StepMetrics> parse_metrics(const io::Input& input) {
  std::vector<StepMetrics> steps;
  each_line(input, [&](const StepMetrics& metrics, std::string_view) { steps.push_back(metrics); });
  return steps;
}

}  // namespace tenon::train
