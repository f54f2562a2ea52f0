// Ways are timed in turn, round after round, so that a machine that slows down does so for all of them.

#include "tenon/exec/tuning.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>

#include "tenon/base/error.h"
#include "tenon/device/profile.h"
#include "tenon/exec/disk_cache.h"

namespace tenon::exec {
namespace {

constexpr std::string_view kHead = "tenon tuned 1";
constexpr double kWorthIt = 0.98;  // of the usual time: less may be chance
constexpr int kRounds = 4;
constexpr double kRoundSeconds = 5e-3;

std::string name_of(const device::Device& device) { return fmt::format("tuned\n{}", device.describe()); }

std::string text_of_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) base::fail("tune", "{}: cannot be read (TENON_TUNED)", path);
  return text.str();
}

Tuning load(const device::Device& device) {
  Tuning made;
  if (device.describe().empty()) return made;  // only devices that are a piece of hardware have a file
  if (DiskCache* disk = DiskCache::standard()) {
    if (const auto kept = disk->find(name_of(device))) {
      try {
        made = Tuning::read({reinterpret_cast<const char*>(kept->data()), kept->size()}, "the disk cache");
      } catch (const Error&) {  // of another version
      }
    }
  }
  return made;
}

void add_given(Tuning& to) {
  const char* path = std::getenv("TENON_TUNED");
  if (!path || !*path) return;
  to.add_all(Tuning::read(text_of_file(path), path));
}

uint64_t hash_of(ir::Call call) {
  call.way = {};
  return hash(call);
}

// One of the ways, ready to be run.
struct Trial {
  ir::Way way;
  device::ProgramRef program;
  device::Command launch;
  double least = 0;
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
    all_.push_back(device_.allocate(bytes));
    const device::Arg made{all_.back(), 0, bytes};
    const device::Command fill = device::Fill{made, std::byte{0x3c}};
    device_.wait(device_.send({&fill, 1}, true));
    return made;
  }

 private:
  device::Device& device_;
  std::vector<device::Buffer> all_;
};

double seconds_of(device::Device& device, const Trial& trial, size_t times) {
  const std::vector<device::Command> list(times, trial.launch);
  const auto start = std::chrono::steady_clock::now();
  device.wait(device.send(list, true));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / static_cast<double>(times);
}

std::vector<Trial> trials_of(device::Device& device, const ir::Call& call, Memory& memory) {
  device::Launch launch;
  for (const ir::Operand& operand : call.inputs)
    launch.args.push_back(memory.take(ir::bytes_reached(operand.map, operand.dtype).end));
  launch.inputs = static_cast<uint32_t>(call.inputs.size());
  for (const ir::Type& type : call.outputs) launch.args.push_back(memory.take(ir::bytes_of(type)));
  std::vector<Trial> made;
  size_t scratch = 0;
  for (const ir::Way& way : device.compiler().ways(call)) {
    ir::Call tried = call;
    tried.way = way;
    try {
      made.push_back({way, device.compiler().compile(tried), {}, 0});
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

// ---- text ----

template <typename T>
bool take_number(std::string_view& line, T& number, auto... base) {
  while (line.starts_with(' ')) line.remove_prefix(1);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number, base...);
  if (error != std::errc{}) return false;
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  return line.empty() || line[0] == ' ';
}

}  // namespace

Tuning& Tuning::of(const device::Device& device) {
  static std::mutex mutex;
  static auto& all = *new std::unordered_map<const device::Device*, Tuning>;
  std::lock_guard lock(mutex);
  const auto found = all.find(&device);
  if (found != all.end()) return found->second;
  Tuning made = load(device);
  add_given(made);
  return all.emplace(&device, std::move(made)).first->second;
}

void Tuning::add(Tuned one) { calls_[one.call] = std::move(one); }

void Tuning::add_all(const Tuning& other) {
  for (const auto& [call, one] : other.calls_) calls_[call] = one;
}

Tuning Tuning::read(std::string_view text, const std::string& file) {
  Tuning made;
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (++number == 1) {
      if (line != kHead) base::fail("tune", "{}: is not a file that tenon tune has written", file);
      continue;
    }
    if (line.empty() || line[0] == '#') continue;
    Tuned one;
    size_t numbers = 0;
    bool is_good = take_number(line, one.call, 16) && take_number(line, one.best_us) &&
                   take_number(line, one.usual_us) && take_number(line, numbers) && numbers <= 16;
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
  std::string text = fmt::format("{}\n# call, microseconds of the quickest way and of the usual one, the way\n", kHead);
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
    if (!call) continue;
    const auto found = calls_.find(hash_of(*call));
    if (found == calls_.end()) continue;
    const std::vector<ir::Way> ways = compiler.ways(*call);
    if (std::ranges::find(ways, found->second.way) != ways.end()) call->way = found->second.way;
  }
}

bool Tuning::keep(const device::Device& device) const {
  DiskCache* disk = DiskCache::standard();
  if (!disk) return false;
  const std::string text = to_text();
  disk->keep(name_of(device), std::as_bytes(std::span(text)));
  return true;
}

Tuned tune(device::Device& device, const ir::Call& call,
           const std::function<void(const ir::Way& way, double us)>& tried) {
  Memory memory(device);
  std::vector<Trial> trials = trials_of(device, call, memory);
  if (trials.empty()) base::fail("tune", "{}: there is but one way to do it", device::describe(call));
  for (Trial& trial : trials) {
    seconds_of(device, trial, 1);  // the first run may be slower
    trial.least = seconds_of(device, trial, 1);
  }
  for (int round = 0; round < kRounds; ++round) {
    for (Trial& trial : trials) {
      if (trial.least > 4 * trials[0].least) continue;  // will not win
      const auto times = static_cast<size_t>(std::clamp(kRoundSeconds / trial.least, 1.0, 500.0));
      trial.least = std::min(trial.least, seconds_of(device, trial, times));
    }
  }
  const Trial* best = &trials[0];
  for (const Trial& trial : trials) {
    if (tried) tried(trial.way, trial.least * 1e6);
    if (trial.least < best->least) best = &trial;
  }
  if (best->least > kWorthIt * trials[0].least) best = &trials[0];
  return {hash_of(call), best->way, best->least * 1e6, trials[0].least * 1e6, device::describe(call)};
}

}  // namespace tenon::exec
