// Ways are timed in turn, round after round, forth and back, so that a machine that slows down or warms up does so for
// all of them.
//
// What is timed unasked holds up the first step of a program. There are some fifteen different products in a step of
// GPT-2, with up to eight ways each: 1 ms a round, and no second round for what is clearly slower, keep all of it under
// a second.

#include "tenon/exec/tuning.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>

#include "tenon/base/environment.h"
#include "tenon/base/error.h"
#include "tenon/device/about.h"
#include "tenon/device/pool.h"
#include "tenon/exec/disk_cache.h"
#include "tenon/exec/engine.h"

namespace tenon::exec {
namespace {

constexpr std::string_view kHead = "tenon tuned 1", kOn = "# on ";
constexpr double kWorthIt = 0.98;    // of the usual time: less may be chance
constexpr size_t kMostNumbers = 64;  // of a way: a library may have dozens of settings

// How much is spent on a call.
struct Effort {
  int rounds;
  double round_seconds;
  double hopeless;      // times the quickest so far: not tried again
  double most_seconds;  // of one way, after which it is not tried again
  double warm_seconds;  // before all: a GPU that had nothing to do runs at a fraction of its speed for a while
};
constexpr Effort kThorough{4, 5e-3, 4, 1e9, 0.5}, kQuick{2, 1e-3, 1.5, 0.05, 0};

using Compile = std::function<device::ProgramRef(const device::Kernel&)>;

// One of the ways, ready to be run.
struct Trial {
  ir::Way way;
  device::ProgramRef program;
  device::Command launch;
  double least = 0, spent = 0;  // seconds
};

class Memory {
 public:
  explicit Memory(device::Device& device) : device_(device) {}
  Memory(const Memory&) = delete;
  ~Memory() {
    for (const device::Buffer& buffer : all_) device_.release(buffer);
  }
  // Numbers that are not 0 in any dtype, so that nothing is quicker than usual.
  device::Arg take(size_t bytes) {
    bytes = std::max<size_t>(bytes, 16);
    bytes_ += bytes;
    const device::Pool::Stats held = device_.pool().stats();
    if (held.limit > 0 && held.in_use + held.cached + bytes_ > held.limit)
      base::fail("tune", "{} bytes are more than the limit leaves", bytes_);
    all_.push_back(device_.allocate(bytes));
    const device::Arg made{all_.back(), 0, bytes};
    const device::Command fill = device::Fill{made, std::byte{0x3c}};
    device_.wait(device_.send({&fill, 1}, true));
    return made;
  }

 private:
  device::Device& device_;
  std::vector<device::Buffer> all_;
  size_t bytes_ = 0;
};

// Of one run, taken from so many.
double seconds_of(device::Device& device, Trial& trial, size_t times) {
  const std::vector<device::Command> list(times, trial.launch);
  const auto start = std::chrono::steady_clock::now();
  device.wait(device.send(list, true));
  const double all = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  trial.spent += all;
  return all / static_cast<double>(times);
}

std::vector<Trial> trials_of(const ir::Call& call, const std::vector<ir::Way>& ways, const Compile& compile,
                             Memory& memory) {
  device::Launch launch;
  for (const ir::Operand& operand : call.inputs)
    launch.args.push_back(memory.take(ir::bytes_reached(operand.map, operand.dtype).end));
  launch.inputs = static_cast<uint32_t>(call.inputs.size());
  for (const ir::Type& type : call.outputs) launch.args.push_back(memory.take(ir::bytes_of(type)));
  std::vector<Trial> made;
  size_t scratch = 0;
  for (const ir::Way& way : ways) {
    ir::Call tried = call;
    tried.way = way;
    try {
      made.push_back({way, compile(tried), {}});
    } catch (const Error&) {    // asks for more than there is
      if (made.empty()) throw;  // but the usual way must work
      continue;
    }
    scratch = std::max(scratch, made.back().program->scratch_bytes());
  }
  if (scratch > 0) launch.args.push_back(memory.take(scratch));
  for (Trial& trial : made) {
    device::Launch one = launch;
    one.program = trial.program;
    if (trial.program->scratch_bytes() == 0 && scratch > 0) one.args.pop_back();
    trial.launch = std::move(one);
  }
  return made;
}

double least_of(const std::vector<Trial>& trials) {
  return std::ranges::min(trials, {}, [](const Trial& trial) { return trial.least; }).least;
}

// The first runs of all, of which the very first may be slower. What a driver refuses after all is left out.
void run_first(device::Device& device, std::vector<Trial>& trials, const Effort& effort) {
  const auto is_refused = [&](Trial& trial) {
    try {
      trial.least = seconds_of(device, trial, 1);
      if (trial.spent < effort.most_seconds) trial.least = std::min(trial.least, seconds_of(device, trial, 1));
      return false;
    } catch (const Error&) {
      device.require_alive();
      if (&trial == &trials[0]) throw;  // the usual way must work
      return true;
    }
  };
  std::vector<Trial> good;
  for (Trial& trial : trials) {
    if (!is_refused(trial)) good.push_back(trial);
  }
  trials = std::move(good);
}

void time_all(device::Device& device, std::vector<Trial>& trials, const Effort& effort) {
  constexpr size_t kSeveral = 8;
  while (trials[0].spent < effort.warm_seconds) seconds_of(device, trials[0], kSeveral);
  run_first(device, trials, effort);
  for (int round = 0; round < effort.rounds; ++round) {
    const double least = least_of(trials);
    for (size_t i = 0; i < trials.size(); ++i) {
      Trial& trial = trials[round % 2 == 0 ? i : trials.size() - 1 - i];
      if (trial.least > effort.hopeless * least || trial.spent > effort.most_seconds) continue;
      const auto times = static_cast<size_t>(std::clamp(effort.round_seconds / trial.least, 1.0, 500.0));
      trial.least = std::min(trial.least, seconds_of(device, trial, times));
    }
  }
}

Tuned measured(device::Device& device, const ir::Call& call, const std::vector<ir::Way>& ways, const Compile& compile,
               const Effort& effort, const std::function<void(const ir::Way& way, double us)>& tried) {
  Memory memory(device);
  std::vector<Trial> trials = trials_of(call, ways, compile, memory);
  time_all(device, trials, effort);
  const Trial* best = &trials[0];
  for (const Trial& trial : trials) {
    if (tried) tried(trial.way, trial.least * 1e6);
    if (trial.least < best->least) best = &trial;
  }
  if (best->least > kWorthIt * trials[0].least) best = &trials[0];
  return {key_of(call, device.compiler()), best->way, best->least * 1e6, trials[0].least * 1e6, device::describe(call)};
}

// ---- text ----

template <typename T>
bool take_number(std::string_view& line, T& number, auto... base) {
  while (line.starts_with(' ')) line.remove_prefix(1);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number, base...);
  if (error != std::errc{}) return false;
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  return line.empty() || line[0] == ' ';
}

// ---- what a process knows ----

std::string text_of_file(const char* path) {
  if (std::filesystem::is_directory(path)) base::fail("tune", "{}: is a folder, not a file (TENON_TUNED)", path);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) base::fail("tune", "{}: cannot be read (TENON_TUNED)", path);
  return text.str();
}

// Of one device, or of all that are alike.
struct Known {
  std::mutex mutex;
  std::string file;  // its name on disk; empty: only devices that are a piece of hardware have one
  std::string on;    // as the compiler says
  Tuning given;      // by TENON_TUNED, and by those who take choices; comes first
  Tuning found;      // on disk, or by measuring; and what was looked for in vain
  Tuning taken;      // by plans
  Tuning required;   // by those who take choices
  bool was_told = false;

  const Tuned* find(uint64_t call, bool is_timed) const;
};

// Whether calls are timed unasked, which is of use only where the next process finds what was measured.
bool times_calls(const Known& known) {
  static const bool is_wanted = !base::env::is(base::env::kTune, "0");
  return is_wanted && !known.file.empty() && DiskCache::standard();
}

const Tuned* Known::find(uint64_t call, bool is_timed) const {
  if (const Tuned* one = given.find(call)) return one;
  return is_timed && !times_calls(*this) ? nullptr : found.find(call);
}

// Nothing where there is none, or one of another version.
Tuning on_disk(const std::optional<std::vector<std::byte>>& kept) {
  try {
    if (kept) return Tuning::read({reinterpret_cast<const char*>(kept->data()), kept->size()}, "the disk cache");
  } catch (const Error&) {
  }
  return {};
}

Known& known_of(device::Device& device) {
  static std::mutex mutex;
  static auto& all = *new std::unordered_map<std::string, std::unique_ptr<Known>>;
  const std::string text = device.describe(), on = device.compiler().timed_on();
  const std::string file = text.empty() ? ""
                           : on.empty() ? fmt::format("tuned\n{}", text)
                                        : fmt::format("tuned\n{}\n{}", text, on);
  std::lock_guard lock(mutex);
  std::unique_ptr<Known>& known = all[file.empty() ? fmt::format("{}", fmt::ptr(&device)) : file];
  if (known) return *known;
  auto made = std::make_unique<Known>();
  made->file = file;
  made->on = on;
  DiskCache* disk = DiskCache::standard();
  if (disk && !file.empty()) made->found = on_disk(disk->find(file));
  if (const auto path = base::env::value(base::env::kTuned))
    made->given = Tuning::read(text_of_file(path->c_str()), *path);
  known = std::move(made);
  return *known;
}

// What lies on disk afterwards; nothing where nothing could be kept.
std::optional<Tuning> keep(const Known& known, const Tuning& measured, bool replaces) {
  DiskCache* disk = DiskCache::standard();
  if (!disk || known.file.empty()) return std::nullopt;
  Tuning all;
  const bool is_kept = disk->update(known.file, [&](const std::optional<std::vector<std::byte>>& before) {
    all = on_disk(before);
    replaces ? all.add_all(measured) : all.add_new(measured);
    const std::string text = all.to_text();
    const auto bytes = std::as_bytes(std::span(text));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  });
  if (!is_kept) return std::nullopt;
  return all;
}

// ---- timing unasked ----

Tuned usual(const ir::Call& call, uint64_t key) { return {key, {}, 0, 0, device::describe(call)}; }

// Prompts come in all lengths, and most lengths once: whoever waits for an answer does not wait for that. What comes
// again and again, as in training, has rows in round numbers.
bool is_worth_timing(const ir::Call& call) {
  constexpr int64_t kRound = 16;
  const Dims& shape = call.outputs[0].shape;
  const int64_t columns = shape.empty() ? 1 : shape.back();
  return columns > 0 && ir::count(shape) / columns % kRound == 0;
}

// Nothing where there is one way, or no memory to try them in.
std::optional<Tuned> quickly_measured(device::Device& device, const ir::Call& call, ProgramCache& programs) {
  const std::vector<ir::Way> ways = device.compiler().ways(call);
  if (ways.size() < 2) return std::nullopt;
  try {
    const Compile compile = [&](const device::Kernel& kernel) { return programs.get(device, kernel); };
    return measured(device, call, ways, compile, kQuick, {});
  } catch (const Error&) {
    device.require_alive();
    return std::nullopt;
  }
}

void time_unknown(device::Device& device, Known& known, const std::vector<device::Kernel>& kernels,
                  ProgramCache& programs) {
  std::unordered_map<uint64_t, const ir::Call*> unknown;
  for (const device::Kernel& kernel : kernels) {
    const auto* call = std::get_if<ir::Call>(&kernel);
    const std::optional<ir::Call> as = call ? device.compiler().timed_as(*call) : std::nullopt;
    if (as && !known.find(hash(*as), true)) unknown.emplace(hash(*as), call);
  }
  if (unknown.empty() || !times_calls(known)) return;
  known.found.add_new(on_disk(DiskCache::standard()->find(known.file)));  // another process may have been quicker
  std::erase_if(unknown, [&](const auto& one) { return known.found.find(one.first); });
  if (unknown.empty()) return;

  Tuning now;
  for (const auto& [key, call] : unknown) {
    if (!is_worth_timing(*call)) continue;
    device.wait(device.submit(true));  // nothing else runs; a fault of earlier work is thrown here, and not lost
    if (std::optional<Tuned> one = quickly_measured(device, *call, programs)) now.add(std::move(*one));
  }
  if (now.size() > 0) {
    if (const std::optional<Tuning> kept = keep(known, now, false)) known.found.add_new(*kept);
  }
  // For this process, whose plans are to agree.
  for (const auto& [key, call] : unknown) {
    if (!known.found.find(key)) known.found.add(usual(*call, key));
  }
}

}  // namespace

uint64_t key_of(const ir::Call& call, const device::Compiler& compiler) {
  if (const std::optional<ir::Call> as = compiler.timed_as(call)) return hash(*as);
  ir::Call without = call;
  without.way = {};
  return hash(without);
}

void Tuning::add(Tuned one) { calls_[one.call] = std::move(one); }

void Tuning::add_all(const Tuning& other) {
  for (const auto& [call, one] : other.calls_) calls_[call] = one;
}

void Tuning::add_new(const Tuning& other) { calls_.insert(other.calls_.begin(), other.calls_.end()); }

const Tuned* Tuning::find(uint64_t call) const {
  const auto found = calls_.find(call);
  return found == calls_.end() ? nullptr : &found->second;
}

Tuning Tuning::read(std::string_view text, const std::string& file) {
  Tuning made;
  size_t number = 0;
  if (!text.empty() && !text.ends_with('\n')) base::fail("tune", "{}: is cut in the middle of its last line", file);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (++number == 1) {
      if (line != kHead) base::fail("tune", "{}: is not a file that tenon tune has written", file);
      continue;
    }
    if (line.starts_with(kOn)) made.on_ = line.substr(kOn.size());
    if (line.empty() || line[0] == '#') continue;
    Tuned one;
    size_t numbers = 0;
    bool is_good = take_number(line, one.call, 16) && take_number(line, one.best_us) &&
                   take_number(line, one.usual_us) && take_number(line, numbers) && numbers <= kMostNumbers;
    for (size_t i = 0; is_good && i < numbers; ++i) {
      uint32_t each = 0;
      is_good = take_number(line, each);
      one.way.push_back(each);
    }
    if (!is_good) base::fail("tune", "{}: line {} is not one that tenon tune writes", file, number);
    if (line.starts_with(' ')) line.remove_prefix(1);
    one.what = std::string(line);
    made.add(std::move(one));
  }
  if (number == 0) base::fail("tune", "{}: is empty", file);
  return made;
}

std::string Tuning::to_text() const {
  std::vector<const Tuned*> sorted;
  for (const auto& [call, one] : calls_) sorted.push_back(&one);
  std::ranges::sort(sorted, {}, [](const Tuned* one) { return std::tie(one->what, one->call); });
  std::string text = fmt::format("{}\n", kHead);
  if (!on_.empty()) text += fmt::format("{}{}\n", kOn, on_);
  text += "# call, microseconds of the quickest way and of the usual one, the way\n";
  for (const Tuned* one : sorted) {
    text += fmt::format("{:016x} {:.2f} {:.2f} {}", one->call, one->best_us, one->usual_us, one->way.size());
    for (const uint32_t number : one->way) text += fmt::format(" {}", number);
    text += fmt::format(" {}\n", one->what);
  }
  return text;
}

void Tuning::choose(std::vector<device::Kernel>& kernels, const device::Compiler& compiler) const {
  if (calls_.empty()) return;
  for (device::Kernel& kernel : kernels) {
    auto* call = std::get_if<ir::Call>(&kernel);
    const Tuned* one = call ? find(key_of(*call, compiler)) : nullptr;
    if (one && compiler.has_way(*call, one->way)) call->way = one->way;
  }
}

Tuned tune(device::Device& device, const ir::Call& call,
           const std::function<void(const ir::Way& way, double us)>& tried) {
  const Compile compile = [&](const device::Kernel& kernel) { return device.compiler().compile(kernel); };
  std::vector<ir::Way> ways = device.compiler().ways(call);
  if (ways.empty()) ways.emplace_back();
  return measured(device, call, ways, compile, kThorough, tried);
}

bool use(device::Device& device, const Tuning& measured) {
  std::lock_guard evaluating(engine().mutex);
  Known& known = known_of(device);
  std::lock_guard lock(known.mutex);
  known.found.add_all(measured);
  engine().plans.clear();  // which were made with other ways
  return keep(known, measured, true).has_value();
}

void choose_ways(device::Device& device, std::vector<device::Kernel>& kernels, ProgramCache& programs) {
  Known& known = known_of(device);
  std::lock_guard lock(known.mutex);
  const device::Compiler& compiler = device.compiler();
  if (known.on.empty()) {
    known.found.choose(kernels, compiler);
    known.given.choose(kernels, compiler);
    return;
  }
  time_unknown(device, known, kernels, programs);
  for (device::Kernel& kernel : kernels) {
    auto* call = std::get_if<ir::Call>(&kernel);
    if (!call) continue;
    const std::optional<ir::Call> as = compiler.timed_as(*call);
    const uint64_t key = as ? hash(*as) : key_of(*call, compiler);
    const Tuned* one = known.find(key, as.has_value());
    const bool is_there = one && (one->way.empty() || compiler.has_way(*call, one->way));
    if (is_there) call->way = one->way;
    if (as) known.taken.add(is_there ? *one : usual(*call, key));
    if (!one || is_there || !known.required.find(key) || std::exchange(known.was_told, true)) continue;
    std::fprintf(
        stderr,
        "[tenon] %s: cannot be done in the way that the checkpoint names; numbers may differ in their last bits "
        "from those of a run that was not stopped\n",
        device::describe(*call).c_str());
  }
}

Tuning choices_taken(device::Device& device) {
  Known& known = known_of(device);
  std::lock_guard lock(known.mutex);
  Tuning made = known.required;  // also those that no plan has needed yet
  made.add_all(known.taken);
  made.set_on(known.on);
  return made;
}

std::string take_choices(device::Device& device, const Tuning& choices) {
  std::lock_guard evaluating(engine().mutex);
  Known& known = known_of(device);
  std::lock_guard lock(known.mutex);
  if (known.on.empty()) return fmt::format("its products were chosen for {}, which is not used here", choices.on());
  if (choices.on() != known.on)
    return fmt::format("its products were chosen for {}, and this is {}", choices.on(), known.on);
  known.given.add_all(choices);
  known.required.add_all(choices);
  engine().plans.clear();  // which were made with other ways
  return {};
}

}  // namespace tenon::exec
