// Reads what device/chrome_trace.cpp writes, and believes nothing of it.

#include "tenon/watch/profile_view.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tenon/io/file.h"
#include "tenon/io/json.h"

namespace tenon::watch {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kMostOfAnything = 1e15;  // microseconds and bytes: beyond all clocks and memories

class Reader {
 public:
  explicit Reader(const io::Input& input) : input_(input), trace_(io::parse_json<json>(input)) {}

  ProfileView read() {
    if (!trace_.is_object() || !trace_.contains("traceEvents"))
      io::fail(input_, "is no profile: it has no traceEvents; tenon train --profile writes one");
    if (!trace_.contains("tenon"))
      io::fail(input_, "is a trace, but none of Tenon's: it has no \"tenon\"; tenon train --profile writes one");
    read_facts(field<json>(trace_, "tenon"));
    const json& events = trace_["traceEvents"];
    if (!events.is_array()) io::fail(input_, "traceEvents is {}; it must be a list", io::shown_json(events));
    for (const json& event : events) {
      if (text_of(event, "ph") == "M") read_name(event);
    }
    for (const json& event : events) read_event(event);
    std::ranges::stable_sort(view_.events, [](const ProfileEvent& a, const ProfileEvent& b) {
      return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
    });
    std::ranges::stable_sort(view_.memory, {}, &ProfileMemory::at_ns);
    return std::move(view_);
  }

 private:
  template <typename T>
  T field(const json& object, const char* key) const {
    return io::json_field<T>(input_, object, key);
  }
  std::string text_of(const json& object, const char* key) const { return field<std::string>(object, key); }
  std::string text_or_empty(const json& object, const char* key) const {
    return object.contains(key) ? text_of(object, key) : std::string();
  }
  double amount(const json& object, const char* key) const {
    const auto value = field<double>(object, key);
    if (!(value >= 0 && value < kMostOfAnything)) io::fail(input_, "{} is {}; it must be from 0 to 1e15", key, value);
    return value;
  }
  uint64_t bytes(const json& object, const char* key) const {
    return object.contains(key) ? static_cast<uint64_t>(amount(object, key)) : 0;
  }
  uint64_t nanoseconds(const json& object, const char* key) const {
    return static_cast<uint64_t>(std::llround(amount(object, key) * 1e3));
  }
  json arguments_of(const json& event) const {
    auto made = field<json>(event, "args");
    if (!made.is_object()) io::fail(input_, "args is {}; it must be an object", io::shown_json(made));
    return made;
  }

  void read_facts(const json& facts) {
    if (const auto version = field<int64_t>(facts, "version"); version != 1)
      io::fail(input_, "is a profile of version {}; this Tenon reads version 1", version);
    view_.wall_ns = nanoseconds(facts, "wall_us");
    view_.dropped = bytes(facts, "dropped");
    const auto devices = field<json>(facts, "devices");
    if (!devices.is_array()) io::fail(input_, "devices is {}; it must be a list", io::shown_json(devices));
    for (const json& one : devices)
      view_.devices.push_back({text_of(one, "name"), text_of(one, "description"), bytes(one, "memory_bytes"),
                               field<bool>(one, "is_gpu"), field<bool>(one, "has_quick_bf16")});
  }

  void read_name(const json& event) {
    if (text_of(event, "name") != "process_name") return;
    constexpr std::string_view kDevice = "device ";
    std::string name = text_of(arguments_of(event), "name");
    if (name.starts_with(kDevice)) devices_[field<int64_t>(event, "pid")] = name.substr(kDevice.size());
  }
  std::string device_of(const json& event) const {
    const auto process = field<int64_t>(event, "pid");
    const auto found = devices_.find(process);
    if (found == devices_.end()) io::fail(input_, "an event is of process {}, which is no device", process);
    return found->second;
  }

  void read_event(const json& event) {
    const std::string kind = text_of(event, "ph");
    if (kind == "X")
      read_span(event);
    else if (kind == "i")
      read_note(event);
    else if (kind == "C")
      read_memory(event);
  }

  void read_note(const json& event) {
    ProfileEvent note;
    note.kind = ProfileEvent::Kind::note;
    note.name = text_of(event, "name");
    note.detail = text_of(arguments_of(event), "what");
    note.thread = field<uint32_t>(event, "tid");
    note.begin_ns = note.end_ns = nanoseconds(event, "ts");
    view_.events.push_back(std::move(note));
  }

  void read_span(const json& event) {
    const std::string category = text_of(event, "cat");
    const json args = arguments_of(event);
    ProfileEvent span;
    span.detail = text_of(args, "what");
    span.module = text_or_empty(args, "module");
    span.pass = text_or_empty(args, "pass");
    span.library = text_or_empty(args, "library");
    span.bytes = bytes(args, "bytes");
    if (args.contains("flops")) span.flops = field<double>(args, "flops");
    if (!(span.flops >= 0 && span.flops < 1e30)) io::fail(input_, "flops is {}; it must be from 0 to 1e30", span.flops);
    span.begin_ns = nanoseconds(event, "ts");
    span.end_ns = span.begin_ns + nanoseconds(event, "dur");
    if (category == "host") {
      span.kind = ProfileEvent::Kind::host;
      span.name = span.detail;
      span.thread = field<uint32_t>(event, "tid");
    } else {
      span.device = device_of(event);
      span.name = text_of(args, "kind");
      span.kind = category == "kernel" ? ProfileEvent::Kind::launch : transfer_of(span.name);
    }
    view_.events.push_back(std::move(span));
  }
  static ProfileEvent::Kind transfer_of(std::string_view name) {
    if (name == "upload") return ProfileEvent::Kind::upload;
    if (name == "download") return ProfileEvent::Kind::download;
    return name == "fill" ? ProfileEvent::Kind::fill : ProfileEvent::Kind::copy;
  }

  void read_memory(const json& event) {
    const std::string name = text_of(event, "name");
    const json args = arguments_of(event);
    if (name == "planned peak") {
      if (!view_.memory.empty()) view_.memory.back().planned_peak = bytes(args, "bytes");
      if (!view_.memory.empty()) peaks_[view_.memory.back().device] = view_.memory.back().planned_peak;
      return;
    }
    if (name != "memory") return;
    ProfileMemory now;
    now.device = device_of(event);
    now.at_ns = nanoseconds(event, "ts");
    now.weights = bytes(args, "weights");
    now.moments = bytes(args, "moments");
    now.gradients = bytes(args, "gradients");
    now.kept = bytes(args, "kept activations");
    now.scratch = bytes(args, "scratch");
    now.values = bytes(args, "other tensors");
    now.reserve = bytes(args, "rest of the arena");
    now.pool = bytes(args, "pool");
    now.planned_peak = peaks_[now.device];
    view_.memory.push_back(std::move(now));
  }

  const io::Input& input_;
  json trace_;
  std::map<int64_t, std::string> devices_;  // by process
  std::map<std::string, uint64_t> peaks_;
  ProfileView view_;
};

}  // namespace

ProfileView view_of(const Profile& profile) {
  return {profile.events(), profile.memory(), profile.devices(), profile.wall_ns(), profile.dropped()};
}

ProfileView parse_profile(std::string_view text, const std::string& name) {
  const io::Input input{"profile", name, std::as_bytes(std::span(text))};
  return Reader(input).read();
}

ProfileView read_profile(const fs::path& file_or_run) {
  std::error_code ignored;
  fs::path path = file_or_run;
  if (fs::is_directory(path, ignored)) {
    path /= "profile.json";
    if (!fs::exists(path, ignored))
      base::fail(
          "profile",
          "{}: is a folder without profile.json; tenon train --profile, or --resume FOLDER --profile, writes one",
          io::as_one_line(file_or_run.string()));
  }
  const auto file = io::MappedFile::open("profile", path);
  ProfileView view = parse_profile(io::as_text(file->bytes()), path.string());
  file->require_whole();
  return view;
}

}  // namespace tenon::watch
