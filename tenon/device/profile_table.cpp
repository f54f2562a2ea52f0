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

std::string json_string(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (made += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      made += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      made += c;
  }
  return made + '"';
}

std::string microseconds(uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

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
  if (host_.empty()) return to.take();
  to.line("");
  to.line("{:>7} {:>11} {:>8} {:>11} {:>11}  {}", "share", "total", "count", "average", "own", "on the host");
  for (const ProfileRow& row : sorted(host_, sort))
    to.line("{:5.1f} % {:8.3f} ms {:8} {:8.1f} us {:8.3f} ms  {}", share(row.ns, wall_ns), milliseconds(row.ns),
            row.count, row.average_ns() / 1e3, milliseconds(row.self_ns), row.name);
  return to.take();
}

std::string chrome_trace(const std::vector<Span>& spans, uint64_t begin_ns) {
  std::map<std::string_view, size_t> devices;  // and their process in the trace
  for (const Span& span : spans) {
    if (span.kind != Span::Kind::host) devices.emplace(span.device, 0);
  }
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  const auto name_process = [&](size_t process, std::string_view name) {
    text += fmt::format("{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"tid\":0,\"args\":{{\"name\":{}}}}},\n",
                        process, json_string(name));
    text += fmt::format(
        "{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{},\"tid\":0,\"args\":{{\"sort_index\":{}}}}}", process,
        process);
  };
  name_process(1, "host");
  size_t processes = 1;
  for (auto& [name, process] : devices) {
    process = ++processes;
    text += ",\n";
    name_process(process, fmt::format("device {}", name));
  }
  for (const Span& span : spans) {
    const bool is_host = span.kind == Span::Kind::host;
    const std::string module = base::path_of(span.label);
    const std::string name = module.empty() ? span.about->kind : fmt::format("{} ({})", span.about->kind, module);
    text += fmt::format(
        ",\n{{\"ph\":\"X\",\"name\":{},\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"args\":{{",
        json_string(name),
        is_host                           ? "host"
        : span.kind == Span::Kind::launch ? "kernel"
                                          : "transfer",
        is_host ? 1 : devices[span.device], is_host ? span.thread : 0, microseconds(span.begin_ns - begin_ns),
        microseconds(span.ns()));
    text += fmt::format("\"what\":{}", json_string(span.about->what));
    if (!module.empty()) text += fmt::format(",\"module\":{}", json_string(module));
    if (span.kind == Span::Kind::launch)
      text += fmt::format(",\"pass\":\"{}\"", base::pass_name(base::pass_of(span.label)));
    if (span.bytes > 0) text += fmt::format(",\"bytes\":{}", span.bytes);
    if (span.about->flops > 0) text += fmt::format(",\"flops\":{:.0f}", span.about->flops);
    text += "}}";
  }
  return text + "\n]}\n";
}

}  // namespace tenon::device
