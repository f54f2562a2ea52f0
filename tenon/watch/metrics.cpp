// Lines are formatted by hand and read with nlohmann's parser, a line at a time: some 3 us for either.

#include "tenon/watch/metrics.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <iterator>
#include <system_error>
#include <utility>

#include "tenon/io/file.h"
#include "tenon/io/json.h"

namespace tenon::watch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "metrics", kTokens = "tokens", kSpeed = "_per_second", kValidation = "validation_";

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
  if (metrics.unit != kTokens) fmt::format_to(std::back_inserter(line), ",\"unit\":\"{}\"", metrics.unit);
  append(line, "loss", metrics.loss);
  append(line, "lr", metrics.lr);
  append(line, "gradient_norm", metrics.gradient_norm);
  append(line, metrics.unit + std::string(kSpeed), metrics.items_per_second);
  append(line, metrics.unit, metrics.items);
  append(line, "seconds", metrics.seconds);
  append(line, "resident_bytes", metrics.resident_bytes);
  if (metrics.validation_loss) append(line, "validation_loss", *metrics.validation_loss);
  for (const auto& [name, value] : metrics.validation_metrics) append(line, std::string(kValidation) + name, value);
  if (metrics.loss_scale) append(line, "loss_scale", *metrics.loss_scale);
  if (metrics.resumed) line += ",\"resumed\":true";
  line += "}\n";
}

struct CountKey {
  std::string_view key;
  int64_t StepMetrics::*member;
};
constexpr CountKey kCounts[] = {{"step", &StepMetrics::step}, {"resident_bytes", &StepMetrics::resident_bytes}};

struct NumberKey {
  std::string_view key;
  double StepMetrics::*member;
};
constexpr NumberKey kNumbers[] = {{"loss", &StepMetrics::loss},
                                  {"lr", &StepMetrics::lr},
                                  {"gradient_norm", &StepMetrics::gradient_norm},
                                  {"seconds", &StepMetrics::seconds}};

struct OptionalKey {
  std::string_view key;
  std::optional<double> StepMetrics::*member;
};
constexpr OptionalKey kOptionals[] = {{"validation_loss", &StepMetrics::validation_loss},
                                      {"loss_scale", &StepMetrics::loss_scale}};

/// Takes the values of one line as the parser meets them; building the JSON first took three times as long. Keys that
/// are unknown, and all that is nested, belong to whoever wrote them.
class LineReader : public io::JsonEvents {
 public:
  /// What the line says, or nothing; then wrong() says why.
  std::optional<StepMetrics> read(std::string_view line) {
    const bool is_json = io::read_json(line, *this);
    if (!is_json && wrong_.empty()) wrong_ = "is not a JSON object";
    if (wrong_.empty() && !has_step_) wrong_ = "has no step";
    if (wrong_.empty() && !has_loss_) wrong_ = "has no loss";
    return wrong_.empty() ? std::optional(metrics_) : std::nullopt;
  }
  const std::string& wrong() const { return wrong_; }

  bool null() override { return number(std::numeric_limits<double>::quiet_NaN()); }  // as other writers have it
  bool boolean(bool value) override {
    if (depth_ == 1 && key_ == "resumed") metrics_.resumed = value;
    return other();
  }
  bool number_integer(int64_t value) override { return count(value) || number(static_cast<double>(value)); }
  bool number_unsigned(uint64_t value) override {
    return (value <= uint64_t{INT64_MAX} && count(static_cast<int64_t>(value))) || number(static_cast<double>(value));
  }
  bool number_float(double value, const string_t&) override { return number(value); }
  bool string(string_t& value) override {
    if (depth_ == 1 && key_ == "unit") {  // stands before what it names
      metrics_.unit = value;
      return true;
    }
    if (value == "nan") return number(std::numeric_limits<double>::quiet_NaN());
    if (value == "inf") return number(HUGE_VAL);
    return value == "-inf" ? number(-HUGE_VAL) : other();
  }
  bool binary(binary_t&) override { return other(); }
  bool start_object(size_t) override { return depth_ == 0 ? ++depth_ > 0 : nested(); }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(size_t) override { return nested(); }
  bool end_array() override { return --depth_ >= 0; }
  bool key(string_t& name) override {
    if (depth_ == 1) key_ = name;
    return true;
  }
  bool refuse(size_t, std::string_view) override { return false; }

 private:
  bool is_inside() const { return depth_ > 0; }
  bool is_speed() const { return key_.starts_with(metrics_.unit) && key_.substr(metrics_.unit.size()) == kSpeed; }

  bool count(int64_t value) {
    if (depth_ != 1 || value < 0) return false;
    for (const auto& [name, member] : kCounts) {
      if (key_ != name) continue;
      metrics_.*member = value;
      has_step_ |= member == &StepMetrics::step;
      return true;
    }
    if (key_ != metrics_.unit) return false;
    metrics_.items = value;
    return true;
  }

  bool number(double value) {
    if (depth_ != 1) return is_inside();
    for (const auto& [name, member] : kNumbers) {
      if (key_ != name) continue;
      metrics_.*member = value;
      has_loss_ |= member == &StepMetrics::loss;
      return true;
    }
    for (const auto& [name, member] : kOptionals) {
      if (key_ == name) return (metrics_.*member = value).has_value();
    }
    if (is_speed()) {
      metrics_.items_per_second = value;
      return true;
    }
    if (key_.starts_with(kValidation)) {
      metrics_.validation_metrics.emplace_back(key_.substr(kValidation.size()), value);
      return true;
    }
    return other();
  }

  /// A value that none of our keys may have.
  bool other() {
    if (depth_ != 1) return is_inside();
    const auto has_key = [&](const auto& each) { return each.key == key_; };
    if (std::any_of(std::begin(kCounts), std::end(kCounts), has_key) || key_ == metrics_.unit)
      wrong_ = fmt::format("has no count for {}", key_);
    if (is_speed() || std::any_of(std::begin(kNumbers), std::end(kNumbers), has_key) ||
        std::any_of(std::begin(kOptionals), std::end(kOptionals), has_key)) {
      wrong_ = fmt::format("has no number for {}", key_);
    }
    return wrong_.empty();
  }

  bool nested() {
    if (!other()) return false;
    return ++depth_ > 0;
  }

  StepMetrics metrics_;
  int64_t depth_ = 0;
  std::string key_;  // of the outermost object
  std::string wrong_;
  bool has_step_ = false, has_loss_ = false;
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
    LineReader reader;
    if (const auto metrics = reader.read(line)) {
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
  const bool exists = io::is_there(kFormat, path);
  if (exists && last_step) {
    const auto old = io::MappedFile::open(kFormat, path);
    kept = keep_through({kFormat, path.string(), old->bytes()}, *last_step);
  }
  if (!exists || !last_step || !kept.is_whole) {
    io::ReplacingFile file(kFormat, path);
    file.write(kept.text);
    file.commit();
  }
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
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

}  // namespace tenon::watch
