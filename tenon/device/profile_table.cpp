// Sums by name, and text.

#include "tenon/device/profile_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::device {
namespace {

constexpr std::string_view kNoModule = "(no module)";

void add_to(std::map<std::string, ProfileRow>& rows, const std::string& name, const Span& span) {
  ProfileRow& row = rows[name];
  if (row.count == 0) row.name = name;
  ++row.count;
  row.ns += span.ns();
  if (span.bytes > 0 && !span.about->picks) {
    row.bytes += span.bytes;
    row.bytes_ns += span.ns();
  }
  if (span.about->flops > 0) {
    row.flops += span.about->flops;
    row.flops_ns += span.ns();
  }
}

std::string module_of(const Span& span) {
  std::string path = base::path_of(span.label);
  return path.empty() ? std::string(kNoModule) : path;
}

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}
double milliseconds(uint64_t ns) { return static_cast<double>(ns) / 1e6; }

std::string or_blank(double value, int digits) {
  return value == 0 ? std::string() : fmt::format("{:.{}f}", value, digits);
}

class Writer {
 public:
  Writer(std::string_view prefix, size_t most) : prefix_(prefix), most_(most == 0 ? ~size_t{0} : most) {}

  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += prefix_;
    text_ += fmt::format(format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void rows(std::string_view title, const std::map<std::string, ProfileRow>& from, ProfileSort sort, uint64_t whole) {
    line("");
    line("{:>7} {:>11} {:>8} {:>11} {:>8} {:>8}  {}", "share", "total", "count", "average", "GB/s", "TFLOP/s", title);
    const std::vector<ProfileRow> all = sorted(from, sort);
    for (size_t i = 0; i < std::min(all.size(), most_); ++i) {
      const ProfileRow& row = all[i];
      line("{:5.1f} % {:8.3f} ms {:8} {:8.1f} us {:>8} {:>8}  {}", share(row.ns, whole), milliseconds(row.ns),
           row.count, row.average_ns() / 1e3, or_blank(row.bandwidth(), 1), or_blank(row.teraflops(), 3), row.name);
    }
    if (all.size() > most_) line("        ... and {} more", all.size() - most_);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string_view prefix_;
  size_t most_;
  std::string text_;
};

}  // namespace

std::vector<ProfileRow> sorted(const std::map<std::string, ProfileRow>& rows, ProfileSort sort) {
  std::vector<ProfileRow> all;
  for (const auto& [name, row] : rows) all.push_back(row);
  const auto key = [sort](const ProfileRow& row) {
    if (sort == ProfileSort::count) return static_cast<double>(row.count);
    return sort == ProfileSort::average ? row.average_ns() : static_cast<double>(row.ns);
  };
  std::ranges::stable_sort(all, std::ranges::greater{}, key);
  return all;
}

void ProfileTable::add(const Span& span) {
  if (span.kind == Span::Kind::note) {
    ++notes_[span.about->kind + ": " + span.about->what];
    return;
  }
  if (span.kind == Span::Kind::host) return add_host(span);
  Device& device = devices_[span.device];
  device.busy_ns += span.ns();
  add_to(device.kinds, span.about->kind, span);
  add_to(device.shapes, span.about->what, span);
  if (span.kind != Span::Kind::launch) return;  // transfers belong to no module
  add_to(device.modules, module_of(span), span);
  add_to(device.passes, std::string(base::pass_name(base::pass_of(span.label))), span);
}

void ProfileTable::add_host(const Span& span) {
  constexpr size_t kMost = 4096;  // what ended long ago lies inside of nothing
  std::vector<Ended>& ended = ended_[span.thread];
  uint64_t inside = 0;
  while (!ended.empty() && ended.back().begin_ns >= span.begin_ns) {
    inside += ended.back().ns;
    ended.pop_back();
  }
  if (ended.size() >= kMost) ended.erase(ended.begin(), ended.begin() + kMost / 2);
  ended.push_back({span.begin_ns, span.ns()});
  add_to(host_, span.about->what, span);
  host_[span.about->what].self_ns += span.ns() - std::min(inside, span.ns());
}

std::string ProfileTable::text(ProfileSort sort, size_t most_rows, uint64_t wall_ns, std::string_view prefix) const {
  Writer to(prefix, most_rows);
  to.line("{:.3f} ms in all", milliseconds(wall_ns));
  for (const auto& [name, device] : devices_)
    to.line("{:.3f} ms on the {} device, busy for {:.1f} % of the time", milliseconds(device.busy_ns), name,
            share(device.busy_ns, wall_ns));
  for (const auto& [name, device] : devices_) {
    to.rows(fmt::format("by kind, on {}", name), device.kinds, sort, device.busy_ns);
    to.rows(fmt::format("by kind and shape, on {}", name), device.shapes, sort, device.busy_ns);
    to.rows(fmt::format("by module, on {}", name), device.modules, sort, device.busy_ns);
    to.rows(fmt::format("by pass, on {}", name), device.passes, sort, device.busy_ns);
  }
  if (!notes_.empty()) to.line("");
  for (const auto& [text, count] : notes_) to.line("{} times {}", count, text);
  if (host_.empty()) return to.take();
  to.line("");
  to.line("{:>7} {:>11} {:>8} {:>11} {:>11}  {}", "share", "total", "count", "average", "own", "on the host");
  for (const ProfileRow& row : sorted(host_, sort))
    to.line("{:5.1f} % {:8.3f} ms {:8} {:8.1f} us {:8.3f} ms  {}", share(row.ns, wall_ns), milliseconds(row.ns),
            row.count, row.average_ns() / 1e3, milliseconds(row.self_ns), row.name);
  return to.take();
}

}  // namespace tenon::device
