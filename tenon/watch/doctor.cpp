// Thresholds are chosen so that a step which keeps its device busy gets no advice: see each rule.

#include "tenon/watch/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace tenon::watch {
namespace {

using Kind = ProfileEvent::Kind;
using About = Advice::About;

double ms(uint64_t ns) { return static_cast<double>(ns) / 1e6; }
double ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}
double gib(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

bool is_product(const ProfileEvent& event) {
  return event.name == "contract" || event.name.starts_with("conv") || event.name.starts_with("attention");
}

/// What the host does while the device does nothing, what matters most first.
enum class Doing : uint8_t { data, compile, plan, record, start, own, wait, none };
constexpr size_t kDoings = 8;

Doing doing_of(const std::string& name) {
  static const std::map<std::string, Doing> known{
      {"data", Doing::data},     {"compile", Doing::compile}, {"plan", Doing::plan},      {"record", Doing::record},
      {"run", Doing::start},     {"replay", Doing::start},    {"allocate", Doing::start}, {"reuse", Doing::start},
      {"release", Doing::start}, {"wait", Doing::wait}};
  const auto found = known.find(name);
  return found == known.end() ? Doing::own : found->second;
}

struct Stretch {
  uint64_t begin, end;
  Doing doing;
};

/// The functions of a thread nest: each stretch belongs to the innermost.
void add_stretches(const std::vector<const ProfileEvent*>& thread, std::vector<Stretch>& to) {
  std::vector<const ProfileEvent*> open;
  uint64_t at = 0;
  const auto go_to = [&](uint64_t time) {
    if (!open.empty() && time > at) to.push_back({at, time, doing_of(open.back()->name)});
    at = std::max(at, time);
  };
  const auto close_until = [&](uint64_t time) {
    while (!open.empty() && open.back()->end_ns <= time) {
      go_to(open.back()->end_ns);
      open.pop_back();
    }
    go_to(time);
  };
  for (const ProfileEvent* event : thread) {
    close_until(event->begin_ns);
    open.push_back(event);
  }
  close_until(~uint64_t{0});
}

/// One device, and what the host did while nothing ran on it.
struct Course {
  std::string device;
  uint64_t busy_ns = 0, launches = 0;
  std::array<uint64_t, kDoings> idle_ns{};

  uint64_t idle(Doing doing) const { return idle_ns[static_cast<size_t>(doing)]; }
};

Course course_of(const ProfileView& view, const std::string& device) {
  Course course{device};
  struct Edge {
    uint64_t at;
    int change;
    size_t what;  // a Doing, or kDoings for the device
  };
  std::vector<Edge> edges;
  std::map<uint32_t, std::vector<const ProfileEvent*>> threads;
  for (const ProfileEvent& event : view.events) {
    if (event.kind == Kind::host) threads[event.thread].push_back(&event);
    if (event.device != device || event.kind == Kind::host || event.kind == Kind::note) continue;
    course.launches += event.kind == Kind::launch ? 1 : 0;
    edges.push_back({event.begin_ns, 1, kDoings});
    edges.push_back({event.end_ns, -1, kDoings});
  }
  std::vector<Stretch> stretches;
  for (const auto& [number, events] : threads) add_stretches(events, stretches);
  for (const Stretch& one : stretches) {
    edges.push_back({one.begin, 1, static_cast<size_t>(one.doing)});
    edges.push_back({one.end, -1, static_cast<size_t>(one.doing)});
  }
  edges.push_back({view.wall_ns, 0, 0});
  std::ranges::stable_sort(edges, {}, &Edge::at);
  std::array<int, kDoings + 1> open{};
  uint64_t at = 0;
  for (const Edge& edge : edges) {
    const uint64_t until = std::min(edge.at, view.wall_ns);
    if (until > at) {
      const auto first = std::find_if(open.begin(), open.end() - 1, [](int count) { return count > 0; });
      const size_t doing = std::min<size_t>(static_cast<size_t>(first - open.begin()), kDoings - 1);
      (open[kDoings] > 0 ? course.busy_ns : course.idle_ns[doing]) += until - at;
      at = until;
    }
    open[edge.what] += edge.change;
  }
  return course;
}

/// Of every device that ran something, the busiest first.
std::vector<Course> courses_of(const ProfileView& view) {
  std::vector<std::string> names;
  for (const ProfileEvent& event : view.events) {
    if (!event.device.empty() && std::ranges::find(names, event.device) == names.end()) names.push_back(event.device);
  }
  std::vector<Course> all;
  for (const std::string& name : names) all.push_back(course_of(view, name));
  std::ranges::stable_sort(all, std::ranges::greater{}, &Course::busy_ns);
  return all;
}

/// The texts of notes of a kind, and how often each came.
std::map<std::string, uint64_t> notes_of(const ProfileView& view, std::string_view kind) {
  std::map<std::string, uint64_t> found;
  for (const ProfileEvent& event : view.events) {
    if (event.kind == Kind::note && event.name == kind) ++found[event.detail];
  }
  return found;
}

class Doctor {
 public:
  Doctor(const ProfileView& view, Course course) : view_(view), course_(std::move(course)) {
    for (const ProfileDevice& one : view.devices) {
      if (one.name == course_.device) device_ = one;
    }
    for (const ProfileEvent& event : view.events) {
      if (event.kind == Kind::host) ++host_[event.name];
    }
  }

  std::vector<Advice> all() {
    look_at_data();
    look_at_capture();
    look_at_plans();
    look_at_host();
    look_at_kernels();
    look_at_transfers();
    look_at_memory();
    std::ranges::stable_sort(made_, std::ranges::greater{}, &Advice::share);
    return std::move(made_);
  }

 private:
  uint64_t wall() const { return view_.wall_ns; }
  uint64_t count(const char* host) const {
    const auto found = host_.find(host);
    return found == host_.end() ? 0 : found->second;
  }
  void add(About about, double share, std::string text, std::string figure) {
    made_.push_back({about, std::move(text), std::move(figure), share});
  }
  bool has(About about) const { return std::ranges::find(made_, about, &Advice::about) != made_.end(); }
  std::string idle_text(uint64_t ns, std::string_view what) const {
    return fmt::format("for {:.0f} % of the time ({:.2f} of {:.2f} ms) nothing ran on {} while {}",
                       100 * ratio(ns, wall()), ms(ns), ms(wall()), course_.device, what);
  }

  void look_at_data() {
    constexpr double kMuch = 0.1;
    const uint64_t waited = course_.idle(Doing::data);
    if (ratio(waited, wall()) < kMuch) return;
    add(About::data, ratio(waited, wall()),
        "The device waits for data: prepare batches beside the step (data.prefetch=true, or more workers of a "
        "DataLoader), and tokenise or decode the files once beforehand (tenon data prepare).",
        idle_text(waited, "the host made a batch"));
  }

  void look_at_capture() {
    constexpr double kMuch = 0.1;
    const uint64_t recorded =
        course_.idle(Doing::record) + course_.idle(Doing::plan) + course_.idle(Doing::start) + course_.idle(Doing::own);
    for (const auto& [why, times] : notes_of(view_, "not captured"))
      add(About::not_captured, std::max(ratio(recorded, wall()), 0.01),
          fmt::format("A captured function is called every time instead of being replayed: {}.", why),
          fmt::format("recorded like any other code: {} {}; {}", times, times == 1 ? "call" : "calls",
                      idle_text(recorded, "the host recorded and started work")));
    for (const auto& [why, times] : notes_of(view_, "recorded anew")) {
      if (times >= 2)
        add(About::not_captured, std::max(ratio(recorded, wall()), 0.01),
            fmt::format("A captured function is recorded again and again: {}.", why), fmt::format("{} times", times));
    }
    constexpr uint64_t kFew = 3;
    if (has(About::not_captured) || count("replay") > 0 || count("run") < kFew) return;
    if (ratio(recorded, wall()) < kMuch) return;
    add(About::not_captured, ratio(recorded, wall()),
        "Capture the step: put forward, backward and update into one function and compile() it, so that it is recorded "
        "once and replayed.",
        fmt::format("{} evaluations and no replay; {}", count("run"),
                    idle_text(recorded, "the host recorded and started work")));
  }

  void look_at_plans() {
    constexpr double kMuch = 0.1;
    const uint64_t planned = course_.idle(Doing::plan) + course_.idle(Doing::compile);
    if (count("plan") < 2 || ratio(planned, wall()) < kMuch) return;
    add(About::replanned, ratio(planned, wall()),
        "Keep shapes the same from step to step (pad or drop the last batch, pad texts to a few lengths): each new one "
        "is planned and compiled. Or profile later, when all of them have been seen.",
        fmt::format("{} plans were made and {} kernels or groups of them compiled; {}", count("plan"), count("compile"),
                    idle_text(planned, "that was done")));
  }

  void look_at_host() {
    constexpr double kMuch = 0.2;
    const uint64_t own = course_.idle(Doing::own) + course_.idle(Doing::none);
    if (ratio(own, wall()) >= kMuch && !has(About::not_captured))
      add(About::own_code, ratio(own, wall()),
          "The device waits for the program's own code between steps: do less there, or rarely (reading values, "
          "printing, writing files), or on another thread. A ProfileRange, record_function() in Python, shows its "
          "parts.",
          idle_text(own, "the program was in code of its own"));
    const uint64_t started = course_.idle(Doing::start);
    if (ratio(started, wall()) >= kMuch && !has(About::not_captured))
      add(About::host, ratio(started, wall()),
          "The host is the limit: give each step more work (a larger batch), or do several steps in one captured "
          "function.",
          fmt::format("{}; {} kernels of {:.1f} us on average", idle_text(started, "the host started kernels"),
                      course_.launches, average_us()));
  }
  double average_us() const {
    uint64_t ns = 0;
    for (const ProfileEvent& event : view_.events) {
      if (event.kind == Kind::launch && event.device == course_.device) ns += event.end_ns - event.begin_ns;
    }
    return ratio(ns, course_.launches) / 1e3;
  }

  void look_at_kernels() {
    struct Sum {
      uint64_t count = 0, ns = 0;
      void take(const ProfileEvent& event) {
        ++count;
        ns += event.end_ns - event.begin_ns;
      }
    };
    // So short that starting a kernel and its last waves take as long as its work.
    const uint64_t is_short = device_.is_gpu ? 8'000 : 4'000;
    Sum all, brief, exact, own;
    for (const ProfileEvent& event : view_.events) {
      if (event.kind != Kind::launch || event.device != course_.device) continue;
      all.take(event);
      if (event.end_ns - event.begin_ns < is_short) brief.take(event);
      if (!is_product(event)) continue;
      if (event.detail.starts_with(event.name + " f32(")) exact.take(event);
      if (event.name == "contract" && event.library.empty()) own.take(event);
    }
    constexpr double kMost = 0.5, kMany = 0.3;
    if (all.count >= 10 && ratio(brief.ns, all.ns) >= kMost)
      add(About::small, ratio(brief.ns, wall()),
          "Kernels are too short to fill the device: raise the batch (training.batch_size), or lower "
          "training.micro_batches.",
          fmt::format("{} of {} kernels, {:.0f} % of their time, take less than {} us; {:.1f} us on average",
                      brief.count, all.count, 100 * ratio(brief.ns, all.ns), is_short / 1000,
                      ratio(all.ns, all.count) / 1e3));
    if (device_.has_quick_bf16 && ratio(exact.ns, all.ns) >= kMany)
      add(About::precision, ratio(exact.ns, wall()),
          "Compute products in bf16, for which this device has matrix units: training.precision=bf16, or Autocast in a "
          "program. Weights stay f32.",
          fmt::format("{} products of f32 take {:.0f} % of the time of all kernels ({:.2f} ms)", exact.count,
                      100 * ratio(exact.ns, all.ns), ms(exact.ns)));
    if (course_.device.starts_with("cuda") && ratio(own.ns, all.ns) >= kMany)
      add(About::library, ratio(own.ns, wall()),
          "Matrix products run in Tenon's own kernels: install cuBLASLt (tenon info says whether it was found); where "
          "it "
          "was, make the sizes of the products multiples of 8.",
          fmt::format("{} products take {:.0f} % of the time of all kernels without the library", own.count,
                      100 * ratio(own.ns, all.ns)));
    for (const auto& [ops, times] : notes_of(view_, "taken apart"))
      add(About::fallback, 0.05,
          fmt::format("{} has no kernel for {}, which is computed as products of windows: use another device, install "
                      "the library that has it (cuDNN on cuda), or lay images out channels last.",
                      course_.device, ops),
          fmt::format("{} evaluations or replays had it taken apart", times));
  }

  void look_at_transfers() {
    constexpr double kMuch = 0.15;
    uint64_t ns = 0, bytes = 0, count = 0;
    for (const ProfileEvent& event : view_.events) {
      if (event.device != course_.device || (event.kind != Kind::upload && event.kind != Kind::download)) continue;
      ns += event.end_ns - event.begin_ns;
      bytes += event.bytes;
      ++count;
    }
    if (ratio(ns, wall()) < kMuch) return;
    add(About::transfers, ratio(ns, wall()),
        "Much of the time goes into moving data: keep on the device what is used again, send smaller types, and read "
        "values rarely.",
        fmt::format("{} transfers of {:.1f} MB take {:.0f} % of the time ({:.2f} ms)", count,
                    static_cast<double>(bytes) / 1e6, 100 * ratio(ns, wall()), ms(ns)));
  }

  // What the pool keeps is given back before anything fails.
  void look_at_memory() {
    constexpr double kNear = 0.9;
    for (const ProfileDevice& device : view_.devices) {
      const ProfileMemory* peak = nullptr;
      const auto used = [](const ProfileMemory& at) { return at.in_all() - at.pool; };
      for (const ProfileMemory& at : view_.memory) {
        if (at.device == device.name && (!peak || used(at) > used(*peak))) peak = &at;
      }
      if (!peak || device.memory_bytes == 0 || ratio(used(*peak), device.memory_bytes) < kNear) continue;
      const std::array<std::pair<const char*, uint64_t>, 6> holders{{{"weights", peak->weights},
                                                                     {"moments", peak->moments},
                                                                     {"gradients", peak->gradients},
                                                                     {"kept activations", peak->kept},
                                                                     {"scratch", peak->scratch + peak->reserve},
                                                                     {"other tensors", peak->values}}};
      const auto largest = std::ranges::max_element(holders, {}, &std::pair<const char*, uint64_t>::second);
      add(About::memory, ratio(used(*peak), device.memory_bytes),
          fmt::format(
              "The memory of {} is nearly full, a little more and the run ends: raise training.micro_batches, or "
              "lower the batch or the context.",
              device.name),
          fmt::format("{:.2f} of {:.2f} GiB are in use at the peak; most of it, {:.2f} GiB, {}", gib(used(*peak)),
                      gib(device.memory_bytes), gib(largest->second), largest->first));
    }
  }

  const ProfileView& view_;
  const Course course_;
  ProfileDevice device_;
  std::map<std::string, uint64_t> host_;  // how often each function of the host ran
  std::vector<Advice> made_;
};

}  // namespace

std::string_view about_name(Advice::About about) {
  constexpr std::array<std::string_view, 11> kNames{"data",     "not captured",  "new shapes", "own code",
                                                    "host",     "short kernels", "precision",  "memory",
                                                    "fallback", "library",       "transfers"};
  return kNames[static_cast<size_t>(about)];
}

std::vector<Advice> advice(const ProfileView& view) {
  std::vector<Course> courses = courses_of(view);
  if (courses.empty()) return {};
  return Doctor(view, std::move(courses[0])).all();
}

std::string advice_text(const ProfileView& view) {
  const std::vector<Course> courses = courses_of(view);
  std::string text = fmt::format("{:.3f} ms were profiled", ms(view.wall_ns));
  if (courses.empty()) return text + "; nothing ran on any device\n";
  for (const Course& one : courses)
    text += fmt::format("; {} was busy for {:.0f} % of them", one.device, 100 * ratio(one.busy_ns, view.wall_ns));
  text += '\n';
  if (view.dropped > 0)
    text += fmt::format("the profile is cut: there was no room for {} events; profile fewer steps\n", view.dropped);
  const std::vector<Advice> all = advice(view);
  if (all.empty()) return text + "nothing stands out: what takes the time is in the tables of the profile\n";
  for (size_t i = 0; i < all.size(); ++i) text += fmt::format("\n{}. {}\n   ({})\n", i + 1, all[i].text, all[i].figure);
  return text;
}

}  // namespace tenon::watch
