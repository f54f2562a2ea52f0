// Text, event by event.

#include "tenon/device/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace tenon::device {
namespace {

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

/// What was taken of an arena's bytes; what one kind has, the next cannot have.
uint64_t taken(uint64_t wanted, uint64_t& left) {
  const uint64_t bytes = std::min(wanted, left);
  left -= bytes;
  return bytes;
}

MemoryPoint point_of(const MemorySample& sample, const Live& live, uint64_t at_ns) {
  const auto held = [&](Holder holder) { return sample.held[static_cast<size_t>(holder)]; };
  MemoryPoint point;
  point.device = sample.device;
  point.at_ns = at_ns;
  point.weights = held(Holder::weights);
  point.moments = held(Holder::moments);
  point.gradients = held(Holder::gradients);
  point.values = held(Holder::values);
  point.planned_peak = point.weights + point.moments + point.gradients + point.values + live.peak;
  uint64_t arena = held(Holder::arena);
  point.kept = taken(live.kept, arena);
  point.gradients += taken(live.gradients, arena);
  point.scratch = taken(live.scratch, arena);
  point.reserve = arena;
  point.pool = sample.pooled;
  return point;
}

class Writer {
 public:
  Writer(const std::vector<Span>& spans, uint64_t begin_ns, const TraceExtras& extras) : begin_ns_(begin_ns) {
    for (const Span& span : spans) {
      if (!span.device.empty()) devices_.emplace(span.device, 0);
    }
    for (const MemoryPoint& point : extras.memory) devices_.emplace(point.device, 0);
    put_facts(extras);
    name_process(1, "host");
    size_t processes = 1;
    for (auto& [name, process] : devices_) {
      process = ++processes;
      next();
      name_process(process, fmt::format("device {}", name));
    }
    for (const Span& span : spans) span.kind == Span::Kind::note ? put_note(span) : put_span(span);
    for (const MemoryPoint& point : extras.memory) put_memory(point);
  }
  std::string take() { return std::move(text_) + "\n]}\n"; }

 private:
  template <typename... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  void next() { text_ += ",\n"; }
  std::string time(uint64_t at_ns) const { return microseconds(std::max(at_ns, begin_ns_) - begin_ns_); }

  void put_facts(const TraceExtras& extras) {
    put("{{\"tenon\":{{\"version\":1,\"wall_us\":{},\"dropped\":{},\"devices\":[", microseconds(extras.wall_ns),
        extras.dropped);
    for (size_t i = 0; i < extras.devices.size(); ++i) {
      const DeviceFacts& one = extras.devices[i];
      put("{}{{\"name\":{},\"description\":{},\"memory_bytes\":{},\"is_gpu\":{},\"has_quick_bf16\":{}}}", i ? "," : "",
          json_string(one.name), json_string(one.description), one.memory_bytes, one.is_gpu, one.has_quick_bf16);
    }
    put("]}},\n\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  }
  void name_process(size_t process, std::string_view name) {
    put("{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"tid\":0,\"args\":{{\"name\":{}}}}},\n", process,
        json_string(name));
    put("{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{},\"tid\":0,\"args\":{{\"sort_index\":{}}}}}", process,
        process);
  }
  void put_note(const Span& note) {
    next();
    put("{{\"ph\":\"i\",\"name\":{},\"cat\":\"note\",\"pid\":1,\"tid\":{},\"ts\":{},\"s\":\"t\",\"args\":{{\"what\":{}}"
        "}}}",
        json_string(note.about->kind), note.thread, time(note.begin_ns), json_string(note.about->what));
  }
  void put_span(const Span& span) {
    const bool is_host = span.kind == Span::Kind::host, is_launch = span.kind == Span::Kind::launch;
    const std::string module = base::path_of(span.label);
    const std::string name = module.empty() ? span.about->kind : fmt::format("{} ({})", span.about->kind, module);
    next();
    put("{{\"ph\":\"X\",\"name\":{},\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"args\":{{\"what\":{}",
        json_string(name),
        is_host     ? "host"
        : is_launch ? "kernel"
                    : "transfer",
        is_host ? 1 : devices_.at(span.device), is_host ? span.thread : 0, time(span.begin_ns), microseconds(span.ns()),
        json_string(span.about->what));
    if (!is_host) put(",\"kind\":{}", json_string(span.about->kind));
    if (!module.empty()) put(",\"module\":{}", json_string(module));
    if (is_launch) put(",\"pass\":\"{}\"", base::pass_name(base::pass_of(span.label)));
    if (!span.about->by.empty()) put(",\"library\":{}", json_string(span.about->by));
    if (span.bytes > 0) put(",\"bytes\":{}", span.bytes);
    if (span.about->flops > 0) put(",\"flops\":{:.0f}", span.about->flops);
    text_ += "}}";
  }
  void put_memory(const MemoryPoint& point) {
    const size_t process = devices_.at(point.device);
    next();
    put("{{\"ph\":\"C\",\"name\":\"memory\",\"pid\":{},\"tid\":0,\"ts\":{},\"args\":{{\"weights\":{},\"moments\":{},"
        "\"gradients\":{},\"kept activations\":{},\"scratch\":{},\"other tensors\":{},\"rest of the "
        "arena\":{},\"pool\":{}}}}}",
        process, time(point.at_ns), point.weights, point.moments, point.gradients, point.kept, point.scratch,
        point.values, point.reserve, point.pool);
    if (uint64_t& last = peaks_[point.device]; last != point.planned_peak) {
      last = point.planned_peak;
      next();
      put("{{\"ph\":\"C\",\"name\":\"planned peak\",\"pid\":{},\"tid\":0,\"ts\":{},\"args\":{{\"bytes\":{}}}}}",
          process, time(point.at_ns), last);
    }
  }

  uint64_t begin_ns_;
  std::map<std::string_view, size_t> devices_;  // and their process in the trace
  std::map<std::string_view, uint64_t> peaks_;
  std::string text_;
};

}  // namespace

std::vector<MemoryPoint> memory_course(const std::vector<MemorySample>& samples, const std::vector<Span>& spans) {
  std::map<std::string_view, std::pair<MemorySample, Live>> now;
  std::vector<MemoryPoint> course;
  const auto put = [&](std::string_view device, uint64_t at_ns) {
    const auto& [sample, live] = now[device];
    course.push_back(point_of(sample, live, at_ns));
  };
  size_t next = 0;
  const auto take_samples_until = [&](uint64_t end_ns) {
    for (; next < samples.size() && samples[next].at_ns <= end_ns; ++next) {
      now[samples[next].device].first = samples[next];
      put(samples[next].device, samples[next].at_ns);
    }
  };
  for (const Span& span : spans) {
    if (span.kind != Span::Kind::launch) continue;
    take_samples_until(span.begin_ns);
    const auto found = now.find(span.device);
    if (found == now.end()) continue;
    const Live& before = found->second.second;
    const bool is_same = before.kept == span.live.kept && before.gradients == span.live.gradients &&
                         before.scratch == span.live.scratch && before.peak == span.live.peak;
    found->second.second = span.live;
    if (!is_same) put(span.device, span.begin_ns);
  }
  take_samples_until(~uint64_t{0});
  return course;
}

std::string chrome_trace(const std::vector<Span>& spans, uint64_t begin_ns, const TraceExtras& extras) {
  return Writer(spans, begin_ns, extras).take();
}

}  // namespace tenon::device
