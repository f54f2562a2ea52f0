// A driver for tests: memory of the host, one device that does not exist, and a check of every call.
//
// Commands wait in their stream until somebody waits for them, as late as a device may run them. Kernels are not run,
// but for the copies into state, whose names say what they do; launches are checked against the cubin. What a caller
// does wrong is answered with an error and noted.
//
// STAND_IN_CUDA=none|stub says how it fails to start.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/backends/cuda/api.h"
#include "tests/cuda_stand_in/stand_in.h"

namespace {

using namespace tenon::backends::cuda;

constexpr Result kInvalidContext = 201, kInvalidImage = 200, kInvalidHandle = 400, kNotFound = 500, kCapturing = 900;
constexpr size_t kMemory = size_t{8} << 30;

struct Waiting {
  std::function<void()> run;
  std::vector<Address> uses;  // places in memory, and numbers that are none
};
struct FakeStream {
  std::deque<Waiting> waiting;
  uint64_t started = 0, done = 0;
  std::vector<Waiting>* captured = nullptr;
};
struct FakeEvent {
  FakeStream* stream = nullptr;
  uint64_t at = 0;
  bool has_time = false, is_recorded = false;
};
struct FakeModule {
  std::map<std::string, size_t> kernels;  // with their number of parameters
};
struct FakeFunction {
  FakeModule* module;
  std::string name;
  size_t parameters;
  int shared_bytes = 48 << 10;
};
struct FakeGraph {
  std::vector<Waiting> commands;
};

struct World {
  std::recursive_mutex mutex;
  std::map<uintptr_t, size_t> memory, host;  // by address
  std::set<FakeStream*> streams;
  std::set<FakeEvent*> events;
  std::set<FakeModule*> modules;
  std::set<FakeFunction*> functions;
  std::set<FakeGraph*> graphs, runnable;
  std::string complaints;
  std::map<std::string, int> calls, fail_after, fail_code;
  Result sticky = 0;
  int context = 0;
  std::optional<std::array<uint32_t, 8>> fault;
};
World& world() {
  static World& all = *new World;
  return all;
}
thread_local Context current = nullptr;

Result complain(const std::string& text, Result code) {
  world().complaints += text + "\n";
  return code;
}

bool is_sticky(Result code) { return code >= 700 && code < 800 && code != Results::kLaunchOutOfResources; }

// Whether a call goes through: with its own code where a test wants it to fail.
Result enter(const char* name, bool needs_context = true) {
  World& w = world();
  ++w.calls[name];
  if (needs_context && !current) return complain(std::string(name) + " without a context", kInvalidContext);
  if (const auto found = w.fail_after.find(name); found != w.fail_after.end() && found->second-- == 0) {
    const Result code = w.fail_code[name];
    w.fail_after.erase(found);
    if (is_sticky(code)) w.sticky = code;
    return code;
  }
  return needs_context ? w.sticky : 0;
}

#define ENTER(...)                      \
  std::lock_guard guard(world().mutex); \
  if (const Result no = enter(__VA_ARGS__)) return no

bool is_inside(const std::map<uintptr_t, size_t>& all, uintptr_t at, size_t bytes) {
  auto behind = all.upper_bound(at);
  if (behind == all.begin()) return false;
  const auto& [begin, size] = *std::prev(behind);
  return at - begin <= size && bytes <= size - (at - begin);
}
bool is_memory(Address at, size_t bytes) { return is_inside(world().memory, at, bytes); }

FakeStream* stream_of(Stream stream) {
  auto* made = reinterpret_cast<FakeStream*>(stream);
  return world().streams.contains(made) ? made : nullptr;
}

void run_until(FakeStream& stream, uint64_t done) {
  while (stream.done < done && !stream.waiting.empty()) {
    auto next = std::move(stream.waiting.front());
    stream.waiting.pop_front();
    ++stream.done;
    if (!world().sticky) next.run();  // of a lost context nothing runs any more
  }
}

Result start(Stream handle, Waiting command) {
  FakeStream* stream = stream_of(handle);
  if (!stream) return complain("a stream that is not there", kInvalidHandle);
  if (stream->captured) {
    stream->captured->push_back(std::move(command));
  } else {
    stream->waiting.push_back(std::move(command));
    ++stream->started;
  }
  return 0;
}

// ---- cubins ----

uint64_t number_at(const unsigned char* bytes, size_t size) {
  uint64_t value = 0;
  std::memcpy(&value, bytes, size);
  return value;
}

// The kernels of an ELF file with the number of their parameters, as .nv.info.NAME lists them.
bool read_cubin(const unsigned char* image, FakeModule& to) {
  constexpr unsigned char kMagic[] = {0x7f, 'E', 'L', 'F', 2};
  constexpr unsigned kSizedAttribute = 4, kParameter = 0x17, kParameterToo = 0x45;
  if (std::memcmp(image, kMagic, sizeof kMagic) != 0) return false;
  const uint64_t sections = number_at(image + 0x28, 8), size = number_at(image + 0x3a, 2),
                 count = number_at(image + 0x3c, 2), names = number_at(image + 0x3e, 2);
  const auto section = [&](uint64_t i) { return image + sections + i * size; };
  const auto* texts = image + number_at(section(names) + 0x18, 8);
  for (uint64_t i = 0; i < count; ++i) {
    const std::string name = reinterpret_cast<const char*>(texts + number_at(section(i), 4));
    constexpr const char* kPrefix = ".nv.info.";
    if (!name.starts_with(kPrefix)) continue;
    const auto* at = image + number_at(section(i) + 0x18, 8);
    const auto* end = at + number_at(section(i) + 0x20, 8);
    size_t parameters = 0;
    while (at + 4 <= end) {
      const unsigned format = at[0], attribute = at[1];
      parameters += format == kSizedAttribute && (attribute == kParameter || attribute == kParameterToo);
      at += 4 + (format == kSizedAttribute ? number_at(at + 2, 2) : 0);
    }
    to.kernels[name.substr(std::strlen(kPrefix))] = parameters;
  }
  return !to.kernels.empty();
}

// Tests without a compiler write "stand-in NAME PARAMETERS".
bool read_text(const char* image, FakeModule& to) {
  char name[256];
  size_t parameters = 0;
  if (std::sscanf(image, "stand-in %255s %zu", name, &parameters) != 2) return false;
  to.kernels[name] = parameters;
  return true;
}

// ---- kernels ----

void run_kernel(const std::string& name, const std::vector<uint64_t>& arguments) {
  World& w = world();
  const size_t count = arguments.size();
  if (count < 2) return;
  auto* fault = reinterpret_cast<uint32_t*>(arguments[count - 2]);
  const auto guards = static_cast<uint32_t>(arguments[count - 1]);
  if (!is_memory(arguments[count - 2], 32)) {
    complain(name + " has no fault words", 0);
    return;
  }
  if (guards > 1) complain(name + " has a strange last argument", 0);
  if (guards && fault[0]) return;
  if (name.starts_with("copy_unless_fault_")) {
    const size_t unit = std::stoul(name.substr(18)), bytes = arguments[4] * unit;
    const uint64_t from = arguments[0] + arguments[1] + arguments[5], to = arguments[2] + arguments[3] + arguments[6];
    if (!is_memory(from, bytes) || !is_memory(to, bytes))
      complain(name + " leaves its memory", 0);
    else
      std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  }
  if (w.fault) std::memcpy(fault, w.fault->data(), 32);
  w.fault.reset();
}

// Which brings its bytes along.
Result start_small_uploads(const void* argument, unsigned count, Stream stream) {
  struct Uploads {
    unsigned long long to[16];
    unsigned bytes[16];
    unsigned char data[16][64];
  };
  Uploads all;
  if (count > 16) return complain("too many small uploads", 1);
  std::memcpy(&all, argument, sizeof all);
  for (unsigned i = 0; i < count; ++i) {
    if (all.bytes[i] > 64 || !is_memory(all.to[i], all.bytes[i]))
      return complain("a small upload leaves its memory", 1);
  }
  return start(stream, {[all, count] {
                          for (unsigned i = 0; i < count; ++i)
                            std::memcpy(reinterpret_cast<void*>(all.to[i]), all.data[i], all.bytes[i]);
                        },
                        {all.to, all.to + count}});
}

// Which writes to memory of the host.
Result start_small_download(void** arguments, Stream stream) {
  unsigned long long from = 0;
  unsigned char* to = nullptr;
  unsigned bytes = 0;
  std::memcpy(&from, arguments[0], sizeof from);
  std::memcpy(&to, arguments[1], sizeof to);
  std::memcpy(&bytes, arguments[2], sizeof bytes);
  if (bytes > 256 || !is_memory(from, bytes)) return complain("a small download leaves its memory", 1);
  return start(stream, {[=] { std::memcpy(to, reinterpret_cast<const void*>(from), bytes); }, {from}});
}

}  // namespace

// ---- the driver's functions ----

extern "C" {

Result cuInit(unsigned flags) {
  ENTER("cuInit", false);
  const char* how = std::getenv("STAND_IN_CUDA");
  if (how && std::string(how) == "none") return Results::kNoDevice;
  if (how && std::string(how) == "stub") return Results::kStubLibrary;
  return flags == 0 ? 0 : Results::kInvalidValue;
}
Result cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
Result cuDeviceGetCount(int* count) {
  *count = 2;
  return 0;
}
Result cuDeviceGet(DeviceNumber* device, int ordinal) {
  *device = ordinal;
  return ordinal < 2 ? 0 : Results::kInvalidValue;
}
Result cuDeviceGetName(char* name, int length, DeviceNumber) {
  std::snprintf(name, static_cast<size_t>(length), "Stand-in GPU");
  return 0;
}
Result cuDeviceGetAttribute(int* value, int attribute, DeviceNumber) {
  const std::map<int, int> known = {{DeviceAttribute::kMaxThreads, 1024},
                                    {DeviceAttribute::kSharedBytes, 48 << 10},
                                    {DeviceAttribute::kWarp, 32},
                                    {DeviceAttribute::kProcessors, 132},
                                    {DeviceAttribute::kMajor, 9},
                                    {DeviceAttribute::kMinor, 0},
                                    {DeviceAttribute::kSharedBytesOptIn, 227 << 10},
                                    {DeviceAttribute::kHasMemoryPools, 1}};
  const auto found = known.find(attribute);
  if (found == known.end()) return Results::kInvalidValue;
  *value = found->second;
  return 0;
}
Result cuDeviceTotalMem_v2(size_t* bytes, DeviceNumber) {
  *bytes = kMemory;
  return 0;
}
Result cuDevicePrimaryCtxRetain(Context* context, DeviceNumber device) {
  ENTER("cuDevicePrimaryCtxRetain", false);
  ++world().context;
  *context = reinterpret_cast<Context>(uintptr_t{0x1000} + static_cast<uintptr_t>(device));
  return 0;
}
Result cuDevicePrimaryCtxRelease_v2(DeviceNumber) {
  ENTER("cuDevicePrimaryCtxRelease", false);
  return --world().context >= 0 ? 0 : complain("a context that was released too often", kInvalidContext);
}
Result cuCtxSetCurrent(Context context) {
  current = context;
  return 0;
}

Result cuMemAlloc_v2(Address* address, size_t bytes) {
  ENTER("cuMemAlloc");
  if (bytes == 0) return Results::kInvalidValue;
  if (bytes > kMemory) return Results::kOutOfMemory;
  void* made = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!made) return Results::kOutOfMemory;
  std::memset(made, 0xCD, bytes);  // nobody may rely on what lies in new memory
  *address = reinterpret_cast<Address>(made);
  world().memory[*address] = bytes;
  return 0;
}
Result cuMemFree_v2(Address address) {
  std::lock_guard guard(world().mutex);
  World& w = world();
  ++w.calls["cuMemFree"];
  const auto found = w.memory.find(address);
  if (found == w.memory.end()) return complain("memory that is not there is freed", Results::kInvalidValue);
  for (const FakeStream* stream : w.streams) {
    for (const Waiting& command : stream->waiting) {
      for (const Address used : command.uses) {
        if (used - address < found->second && !w.sticky) complain("memory is freed that a command waits to use", 0);
      }
    }
  }
  w.memory.erase(found);
  std::free(reinterpret_cast<void*>(address));
  return w.sticky;
}
Result cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  ENTER("cuMemGetInfo");
  size_t used = 0;
  for (const auto& [at, bytes] : world().memory) used += bytes;
  *total = kMemory;
  *free_bytes = kMemory - used;
  return 0;
}
Result cuMemAllocAsync(Address* address, size_t bytes, Stream stream) {
  ENTER("cuMemAllocAsync");
  if (!stream_of(stream)) return complain("memory on no stream", kInvalidHandle);
  return cuMemAlloc_v2(address, bytes);
}
// The memory of a graph stays for its next run.
Result cuMemFreeAsync(Address address, Stream stream) {
  ENTER("cuMemFreeAsync");
  if (!is_memory(address, 1)) return complain("memory that is not there is freed", Results::kInvalidValue);
  FakeStream* on = stream_of(stream);
  if (!on) return complain("memory on no stream", kInvalidHandle);
  if (on->captured) return 0;
  return start(stream, {[address] {
                          world().memory.erase(address);
                          std::free(reinterpret_cast<void*>(address));
                        },
                        {address}});
}
Result cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  ENTER("cuMemHostAlloc");
  *memory = std::malloc(bytes);
  world().host[reinterpret_cast<uintptr_t>(*memory)] = bytes;
  return 0;
}
Result cuMemFreeHost(void* memory) {
  std::lock_guard guard(world().mutex);
  if (world().host.erase(reinterpret_cast<uintptr_t>(memory)) == 0)
    return complain("host memory that is not there is freed", Results::kInvalidValue);
  std::free(memory);
  return 0;
}

Result cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, Stream stream) {
  ENTER("cuMemcpyHtoDAsync");
  if (!is_memory(to, bytes)) return complain("an upload leaves its memory", Results::kInvalidValue);
  if (!is_inside(world().host, reinterpret_cast<uintptr_t>(from), bytes))
    return complain("an upload of memory that is not pinned", Results::kInvalidValue);
  return start(stream, {[=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); }, {to}});
}
Result cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, Stream stream) {
  ENTER("cuMemcpyDtoHAsync");
  if (!is_memory(from, bytes)) return complain("a download leaves its memory", Results::kInvalidValue);
  return start(stream, {[=] { std::memcpy(to, reinterpret_cast<void*>(from), bytes); }, {from}});
}
Result cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Stream stream) {
  ENTER("cuMemcpyDtoDAsync");
  if (!is_memory(from, bytes) || !is_memory(to, bytes))
    return complain("a copy leaves its memory", Results::kInvalidValue);
  if (from < to + bytes && to < from + bytes) return complain("a copy onto itself", Results::kInvalidValue);
  return start(stream,
               {[=] { std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); }, {from, to}});
}
Result cuMemsetD8Async(Address to, unsigned char value, size_t bytes, Stream stream) {
  ENTER("cuMemsetD8Async");
  if (!is_memory(to, bytes)) return complain("a fill leaves its memory", Results::kInvalidValue);
  return start(stream, {[=] { std::memset(reinterpret_cast<void*>(to), value, bytes); }, {to}});
}

Result cuStreamCreate(Stream* stream, unsigned) {
  ENTER("cuStreamCreate");
  auto* made = new FakeStream;
  world().streams.insert(made);
  *stream = reinterpret_cast<Stream>(made);
  return 0;
}
Result cuStreamDestroy_v2(Stream stream) {
  ENTER("cuStreamDestroy", false);
  FakeStream* made = stream_of(stream);
  if (!made) return complain("a stream that is not there is destroyed", kInvalidHandle);
  run_until(*made, made->started);
  world().streams.erase(made);
  delete made;
  return 0;
}
Result cuStreamSynchronize(Stream stream) {
  ENTER("cuStreamSynchronize");
  FakeStream* made = stream_of(stream);
  if (!made) return complain("a stream that is not there is waited for", kInvalidHandle);
  if (made->captured) return kCapturing;
  run_until(*made, made->started);
  return world().sticky;
}

Result cuEventCreate(EventHandle* event, unsigned flags) {
  ENTER("cuEventCreate");
  auto* made = new FakeEvent;
  made->has_time = (flags & Flags::kEventWithoutTime) == 0;
  world().events.insert(made);
  *event = reinterpret_cast<EventHandle>(made);
  return 0;
}
Result cuEventRecord(EventHandle event, Stream stream) {
  ENTER("cuEventRecord");
  auto* made = reinterpret_cast<FakeEvent*>(event);
  FakeStream* on = stream_of(stream);
  if (!world().events.contains(made) || !on) return complain("an event or stream that is not there", kInvalidHandle);
  if (on->captured) return complain("an event is recorded in a capture", kCapturing);
  made->stream = on;
  made->at = on->started;
  made->is_recorded = true;
  return 0;
}
Result cuEventSynchronize(EventHandle event) {
  ENTER("cuEventSynchronize");
  auto* made = reinterpret_cast<FakeEvent*>(event);
  if (!world().events.contains(made)) return complain("an event that is not there is waited for", kInvalidHandle);
  if (made->is_recorded) run_until(*made->stream, made->at);
  return world().sticky;
}
Result cuStreamWaitEvent(Stream stream, EventHandle event, unsigned flags) {
  ENTER("cuStreamWaitEvent");
  auto* made = reinterpret_cast<FakeEvent*>(event);
  if (!world().events.contains(made) || flags != 0) return complain("an event that is not there", kInvalidHandle);
  if (!made->is_recorded) return complain("a stream waits for an event that nobody recorded", 1);
  return start(stream, {[on = made->stream, at = made->at] { run_until(*on, at); }, {}});
}
Result cuEventElapsedTime(float* milliseconds, EventHandle begin, EventHandle end) {
  ENTER("cuEventElapsedTime");
  for (EventHandle one : {begin, end}) {
    auto* made = reinterpret_cast<FakeEvent*>(one);
    if (!world().events.contains(made) || !made->has_time) return complain("an event without time", kInvalidHandle);
    if (made->stream->done < made->at) return Results::kNotReady;
  }
  *milliseconds = 0.25f;
  return 0;
}
Result cuEventDestroy_v2(EventHandle event) {
  ENTER("cuEventDestroy", false);
  auto* made = reinterpret_cast<FakeEvent*>(event);
  if (world().events.erase(made) == 0) return complain("an event that is not there is destroyed", kInvalidHandle);
  delete made;
  return 0;
}

Result cuModuleLoadData(Module* module, const void* image) {
  ENTER("cuModuleLoadData");
  auto made = std::make_unique<FakeModule>();
  if (!read_cubin(static_cast<const unsigned char*>(image), *made) &&
      !read_text(static_cast<const char*>(image), *made))
    return kInvalidImage;
  *module = reinterpret_cast<Module>(made.get());
  world().modules.insert(made.release());
  return 0;
}
Result cuModuleUnload(Module module) {
  ENTER("cuModuleUnload", false);
  auto* made = reinterpret_cast<FakeModule*>(module);
  if (world().modules.erase(made) == 0) return complain("a module that is not there is unloaded", kInvalidHandle);
  std::erase_if(world().functions, [&](FakeFunction* function) {
    if (function->module != made) return false;
    delete function;
    return true;
  });
  delete made;
  return 0;
}
Result cuModuleGetFunction(Function* function, Module module, const char* name) {
  ENTER("cuModuleGetFunction");
  auto* made = reinterpret_cast<FakeModule*>(module);
  if (!world().modules.contains(made)) return complain("a module that is not there", kInvalidHandle);
  const auto found = made->kernels.find(name);
  if (found == made->kernels.end()) return kNotFound;
  auto* kernel = new FakeFunction{made, name, found->second};
  world().functions.insert(kernel);
  *function = reinterpret_cast<Function>(kernel);
  return 0;
}
Result cuFuncSetAttribute(Function function, int attribute, int value) {
  ENTER("cuFuncSetAttribute");
  auto* kernel = reinterpret_cast<FakeFunction*>(function);
  if (!world().functions.contains(kernel)) return complain("a function that is not there", kInvalidHandle);
  if (attribute != Flags::kMaxDynamicSharedBytes || value > 227 << 10) return Results::kInvalidValue;
  kernel->shared_bytes = value;
  return 0;
}
Result cuLaunchKernel(Function function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,
                      unsigned threads_z, unsigned shared_bytes, Stream stream, void** arguments, void** extra) {
  ENTER("cuLaunchKernel");
  auto* kernel = reinterpret_cast<FakeFunction*>(function);
  if (!world().functions.contains(kernel)) return complain("a function that is not there is launched", kInvalidHandle);
  if (x == 0 || y == 0 || z == 0 || x > 0x7fffffffu || y > 65535 || z > 65535)
    return complain("a grid of " + std::to_string(x) + " x " + std::to_string(y) + " x " + std::to_string(z),
                    Results::kInvalidValue);
  if (threads_x == 0 || threads_x * threads_y * threads_z > 1024) return complain("too many threads", 1);
  if (static_cast<int>(shared_bytes) > kernel->shared_bytes) return complain("too much shared memory", 1);
  if (extra) return complain("extra arguments", 1);
  if (kernel->name == "small_uploads") return start_small_uploads(arguments[0], x, stream);
  if (kernel->name == "small_download") return start_small_download(arguments, stream);
  std::vector<uint64_t> values;
  for (size_t i = 0; i < kernel->parameters; ++i) {
    uint64_t value = 0;
    if (!arguments[i]) return complain(kernel->name + " lacks an argument", 1);
    std::memcpy(&value, arguments[i], i + 1 == kernel->parameters ? 4 : 8);  // the last one has 32 bits
    values.push_back(value);
  }
  return start(stream, {[name = kernel->name, values] { run_kernel(name, values); }, {values.begin(), values.end()}});
}

Result cuStreamBeginCapture_v2(Stream stream, int mode) {
  ENTER("cuStreamBeginCapture");
  FakeStream* made = stream_of(stream);
  if (!made || made->captured) return complain("a capture on no stream, or on one that captures", kInvalidHandle);
  if (mode != Flags::kRelaxedCapture) return complain("a capture of another mode", 1);
  made->captured = new std::vector<Waiting>;
  return 0;
}
Result cuStreamEndCapture(Stream stream, Graph* graph) {
  std::lock_guard guard(world().mutex);
  FakeStream* made = stream_of(stream);
  if (!made || !made->captured) return complain("a capture ends that did not begin", kInvalidHandle);
  std::unique_ptr<std::vector<Waiting>> commands(std::exchange(made->captured, nullptr));
  if (const Result no = enter("cuStreamEndCapture")) return no;
  auto* all = new FakeGraph{std::move(*commands)};
  world().graphs.insert(all);
  *graph = reinterpret_cast<Graph>(all);
  return 0;
}
Result cuGraphInstantiateWithFlags(RunnableGraph* to, Graph graph, unsigned long long flags) {
  ENTER("cuGraphInstantiate");
  auto* from = reinterpret_cast<FakeGraph*>(graph);
  if (!world().graphs.contains(from) || flags != 0) return complain("a graph that is not there", kInvalidHandle);
  auto* made = new FakeGraph(*from);
  world().runnable.insert(made);
  *to = reinterpret_cast<RunnableGraph>(made);
  return 0;
}
Result cuGraphLaunch(RunnableGraph graph, Stream stream) {
  ENTER("cuGraphLaunch");
  auto* made = reinterpret_cast<FakeGraph*>(graph);
  if (!world().runnable.contains(made)) return complain("a graph that is not there is launched", kInvalidHandle);
  for (const auto& command : made->commands) {
    if (const Result no = start(stream, command)) return no;
  }
  return 0;
}
Result cuGraphExecDestroy(RunnableGraph graph) {
  ENTER("cuGraphExecDestroy", false);
  auto* made = reinterpret_cast<FakeGraph*>(graph);
  if (world().runnable.erase(made) == 0) return complain("a graph that is not there is destroyed", kInvalidHandle);
  delete made;
  return 0;
}
Result cuGraphDestroy(Graph graph) {
  ENTER("cuGraphDestroy", false);
  auto* made = reinterpret_cast<FakeGraph*>(graph);
  if (world().graphs.erase(made) == 0) return complain("a graph that is not there is destroyed", kInvalidHandle);
  delete made;
  return 0;
}

Result cuGetErrorName(Result code, const char** name) {
  switch (code) {
    case Results::kInvalidValue: *name = "CUDA_ERROR_INVALID_VALUE"; return 0;
    case Results::kOutOfMemory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; return 0;
    case kInvalidImage: *name = "CUDA_ERROR_INVALID_IMAGE"; return 0;
    case Results::kIllegalAddress: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; return 0;
    case Results::kLaunchFailed: *name = "CUDA_ERROR_LAUNCH_FAILED"; return 0;
    case Results::kLaunchOutOfResources: *name = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"; return 0;
    case kCapturing: *name = "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"; return 0;
    default: return Results::kInvalidValue;
  }
}
Result cuGetErrorString(Result, const char** text) {
  *text = "an error of the stand-in";
  return 0;
}

// ---- for tests ----

const StandInControls* stand_in_controls() {
  static const StandInControls controls = {
      [](const char* function, int code, int after) {
        std::lock_guard guard(world().mutex);
        world().fail_after[function] = after;
        world().fail_code[function] = code;
      },
      [] {
        std::lock_guard guard(world().mutex);
        World& w = world();
        w.complaints.clear();
        w.calls.clear();
        w.fail_after.clear();
        w.sticky = 0;
        w.fault.reset();
      },
      [] { return world().complaints.c_str(); },
      [](const uint32_t* words) {
        std::lock_guard guard(world().mutex);
        std::array<uint32_t, 8> all;
        std::memcpy(all.data(), words, sizeof all);
        world().fault = all;
      },
      [](const char* function) { return world().calls[function]; },
      [](const char* kind) {
        std::lock_guard guard(world().mutex);
        const World& w = world();
        const std::map<std::string, size_t> alive = {
            {"memory", w.memory.size()},           {"host memory", w.host.size()}, {"streams", w.streams.size()},
            {"events", w.events.size()},           {"modules", w.modules.size()},  {"graphs", w.graphs.size()},
            {"runnable graphs", w.runnable.size()}};
        return static_cast<int>(alive.at(kind));
      },
  };
  return &controls;
}

}  // extern "C"

// What is opened is what is called.
static_assert(std::is_same_v<decltype(&cuLaunchKernel), decltype(DriverApi::launch)>);
static_assert(std::is_same_v<decltype(&cuMemAlloc_v2), decltype(DriverApi::allocate)>);
static_assert(std::is_same_v<decltype(&cuMemcpyHtoDAsync_v2), decltype(DriverApi::upload)>);
static_assert(std::is_same_v<decltype(&cuGraphInstantiateWithFlags), decltype(DriverApi::instantiate)>);
static_assert(std::is_same_v<decltype(&cuEventElapsedTime), decltype(DriverApi::time_between)>);
