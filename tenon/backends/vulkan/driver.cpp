#include "tenon/backends/vulkan/driver.h"

#include <algorithm>
#include <cstring>

#include "tenon/backends/gpu/at_exit.h"
#include "tenon/backends/vulkan/cooperative_matrix.h"
#include "tenon/backends/vulkan/toolchain.h"
#include "tenon/base/error.h"

namespace tenon::backends::vulkan {
namespace {

using gpu::Place;
using gpu::Range;

constexpr size_t kPattern = 4;         // bytes of each value in the patterns
constexpr size_t kMostKept = 8;        // blocks for downloads
constexpr size_t kLeast = 256 << 10;   // bytes of such a block, if it is to be kept
constexpr size_t kFewCommands = 16;    // that are held back while
constexpr size_t kEnoughInFlight = 2;  // batches are with the device
constexpr VkPipelineStageFlags kStages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;

const Piece& piece_of(uint64_t handle) { return *reinterpret_cast<const Piece*>(handle); }
VkBuffer buffer_of(const Place& place) { return piece_of(place.handle).block->buffer; }
size_t offset_of(const Place& place) { return piece_of(place.handle).offset + place.offset; }
Range range_of(const Place& place, size_t bytes) {
  const uint64_t begin = piece_of(place.handle).address + place.offset;
  return {begin, begin + bytes};
}

void begin_writing(VkCommandBuffer commands, VkCommandBufferUsageFlags flags) {
  VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  info.flags = flags;
  require(vkBeginCommandBuffer(commands, &info), "commands cannot be written");
}

VkCommandPool new_pool(VkDevice device, uint32_t family) {
  VkCommandPoolCreateInfo create{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  create.queueFamilyIndex = family;
  VkCommandPool pool = VK_NULL_HANDLE;
  require(vkCreateCommandPool(device, &create, nullptr, &pool), "a command pool cannot be made");
  return pool;
}

VkCommandBuffer new_buffer(VkDevice device, VkCommandPool pool) {
  VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  allocate.commandPool = pool;
  allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocate.commandBufferCount = 1;
  VkCommandBuffer made = VK_NULL_HANDLE;
  require(vkAllocateCommandBuffers(device, &allocate, &made), "a command buffer cannot be made");
  return made;
}

}  // namespace

// ---- descriptor sets ----

VkDescriptorSet Sets::take(VkDevice device, VkDescriptorSetLayout layout) {
  constexpr uint32_t kOfPool = 128, kBuffersEach = 8;
  for (;;) {
    const bool is_new = used_ == pools_.size();
    if (is_new) {
      const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kOfPool * kBuffersEach};
      VkDescriptorPoolCreateInfo create{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
      create.maxSets = kOfPool;
      create.poolSizeCount = 1;
      create.pPoolSizes = &size;
      require(vkCreateDescriptorPool(device, &create, nullptr, &pools_.emplace_back()), "no more descriptors");
    }
    VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = pools_[used_];
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &layout;
    VkDescriptorSet set = VK_NULL_HANDLE;
    const VkResult code = vkAllocateDescriptorSets(device, &allocate, &set);
    if (code == VK_SUCCESS) return set;
    if (is_new) require(code, "a descriptor set cannot be made");
    ++used_;
  }
}

void Sets::reset(VkDevice device) {
  for (VkDescriptorPool pool : pools_) vkResetDescriptorPool(device, pool, 0);
  used_ = 0;
}

void Sets::destroy(VkDevice device) {
  for (VkDescriptorPool pool : pools_) vkDestroyDescriptorPool(device, pool, nullptr);
  pools_.clear();
}

// ---- the device ----

Driver::Driver(const Found& on, const ir::Limits& limits) : on_(on) {
  make_device();
  vkGetDeviceQueue(device_, on.queue_family, 0, &queue_);
  memory_ = std::make_unique<gpu::Slabs<Block>>([this](size_t bytes) { return make_block(device_, on_, bytes, false); },
                                                memory_of(on));
  make_layouts(limits);
  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  const VkSemaphoreCreateInfo create{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type};
  require(vkCreateSemaphore(device_, &create, nullptr, &timeline_), "a semaphore cannot be made");
  batch_ = new_batch();
  patterns_ = pin(256 * kPattern);
  for (size_t i = 0; i < 256 * kPattern; ++i) patterns_.get()[i] = static_cast<std::byte>(i / kPattern);
}

void Driver::make_device() {
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = on_.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  std::vector<const char*> extensions;
  MatrixFeatures matrices;
  Bf16Features of_bf16;
  if (!on_.tiles.empty()) {
    extensions.push_back(kMatrixExtension);
    matrices.has_matrices = VK_TRUE;
  }
  if (on_.tiles.contains(DType::bf16)) {
    extensions.push_back(kBf16Extension);
    of_bf16.has_type = of_bf16.has_matrices = VK_TRUE;
    matrices.next = &of_bf16;
  }
  VkPhysicalDeviceVulkan13Features of_13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                         on_.tiles.empty() ? nullptr : &matrices};
  of_13.subgroupSizeControl = of_13.computeFullSubgroups = VK_TRUE;
  VkPhysicalDeviceVulkan12Features of_12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                         on_.has_full_subgroups ? &of_13 : nullptr};
  of_12.timelineSemaphore = VK_TRUE;
  of_12.storageBuffer8BitAccess = on_.has_bytes;
  of_12.vulkanMemoryModel = of_12.shaderFloat16 = !on_.tiles.empty();
  VkPhysicalDeviceVulkan11Features of_11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &of_12};
  of_11.storageBuffer16BitAccess = on_.has_halves;
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &of_11};
  features.features.shaderInt64 = on_.has_i64;
  features.features.shaderFloat64 = on_.has_f64;
  VkDeviceCreateInfo create{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &features};
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queue;
  create.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  create.ppEnabledExtensionNames = extensions.data();
  require(vkCreateDevice(on_.device, &create, nullptr, &device_), "the device cannot be opened");
}

void Driver::make_layouts(const ir::Limits& limits) {
  for (uint32_t buffers = 0; buffers <= limits.max_buffers + ir::kScratchBuffers + 1; ++buffers) {
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    for (uint32_t i = 0; i < buffers; ++i)
      bindings.push_back({i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    set.bindingCount = buffers;
    set.pBindings = bindings.data();
    Layout& made = layouts_.emplace_back();
    require(vkCreateDescriptorSetLayout(device_, &set, nullptr, &made.set), "a layout cannot be made");
    const VkPushConstantRange pushed{VK_SHADER_STAGE_COMPUTE_BIT, 0, pushed_bytes(on_)};
    VkPipelineLayoutCreateInfo pipeline{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    pipeline.setLayoutCount = 1;
    pipeline.pSetLayouts = &made.set;
    pipeline.pushConstantRangeCount = 1;
    pipeline.pPushConstantRanges = &pushed;
    require(vkCreatePipelineLayout(device_, &pipeline, nullptr, &made.pipeline), "a layout cannot be made");
  }
}

const Driver::Layout& Driver::layout_of(size_t buffers) const {
  if (buffers >= layouts_.size())
    base::fail("vulkan", "a kernel binds {} buffers, but {} takes no more than {}", buffers, on_.name(),
               layouts_.size() - 1);
  return layouts_[buffers];
}

Driver::~Driver() {
  if (gpu::process_is_ending()) return;
  vkDeviceWaitIdle(device_);
  stamps_.reset();
  patterns_.reset();
  for (const auto& [value, what] : later_) what();
  for (const Block& block : free_for_host_) vulkan::destroy(device_, block);
  for (const Download& download : downloads_) vulkan::destroy(device_, download.from);
  in_flight_.push_back(std::move(batch_));
  for (Batch& batch : free_batches_) in_flight_.push_back(std::move(batch));
  for (Batch& batch : in_flight_) {
    batch.sets.destroy(device_);
    vkDestroyCommandPool(device_, batch.pool, nullptr);
  }
  for (const Layout& layout : layouts_) {
    vkDestroyPipelineLayout(device_, layout.pipeline, nullptr);
    vkDestroyDescriptorSetLayout(device_, layout.set, nullptr);
  }
  vkDestroySemaphore(device_, timeline_, nullptr);
  memory_->for_each([this](const Block& block) { vulkan::destroy(device_, block); });
  vkDestroyDevice(device_, nullptr);
}

// ---- memory ----

// What was let go of may still be in use; under pressure it is waited for.
uint64_t Driver::allocate(size_t bytes) {
  Piece* piece = memory_->take(bytes);
  if (!piece) {
    wait_for(submitted_);
    collect();
    piece = memory_->take(bytes);
  }
  return reinterpret_cast<uint64_t>(piece);
}

void Driver::release(uint64_t handle) {
  const std::optional<Block> left = memory_->give_back(reinterpret_cast<Piece*>(handle));
  if (left) later([this, block = *left] { vulkan::destroy(device_, block); });
}

std::string Driver::memory_in_words() const {
  return fmt::format("it has {}, and gives at most {} at once", memory_of(on_), limits_of(on_).max_binding);
}

std::shared_ptr<std::byte> Driver::pin(size_t bytes) {
  const std::optional<Block> block = make_block(device_, on_, bytes, true);
  if (!block) base::fail("vulkan", "no memory for transfers on {}", on_.name());
  std::lock_guard lock(mutex_);
  pinned_.push_back(*block);
  return {block->host, [this, made = *block](std::byte*) {
            if (gpu::process_is_ending()) return;
            std::lock_guard inner(mutex_);
            std::erase_if(pinned_, [&](const Block& one) { return one.buffer == made.buffer; });
            vulkan::destroy(device_, made);
          }};
}

std::optional<std::pair<VkBuffer, size_t>> Driver::pinned_at(const std::byte* host) {
  std::lock_guard lock(mutex_);
  for (const Block& block : pinned_) {
    if (block.host <= host && host < block.host + block.bytes) return std::pair(block.buffer, host - block.host);
  }
  return std::nullopt;
}

// A captured command uses it whenever it runs.
void Driver::release_temporary(uint64_t handle) {
  if (capturing_)
    capturing_->temporaries.push_back(handle);
  else
    release(handle);
}

// When everything is done that was started until now.
void Driver::later(std::function<void()> what) {
  std::lock_guard lock(mutex_);
  later_.emplace_back(needed_.load(), std::move(what));
}

void Driver::collect() {
  uint64_t done = 0;
  require(vkGetSemaphoreCounterValue(device_, timeline_, &done), "a semaphore cannot be read");
  std::lock_guard lock(mutex_);
  std::erase_if(later_, [&](const auto& one) {
    if (one.first > done) return false;
    one.second();
    return true;
  });
}

// ---- command buffers ----

Driver::Batch Driver::new_batch() {
  if (free_batches_.empty()) {
    Batch batch;
    batch.pool = new_pool(device_, on_.queue_family);
    return batch;
  }
  Batch batch = std::move(free_batches_.back());
  free_batches_.pop_back();
  require(vkResetCommandPool(device_, batch.pool, 0), "commands cannot be forgotten");
  batch.sets.reset(device_);
  batch.used = batch.commands = 0;
  batch.submitted.clear();
  return batch;
}

// Where commands go now.
VkCommandBuffer Driver::commands() {
  if (capturing_) return capturing_->commands;
  if (open_) return open_;
  if (batch_.used == batch_.buffers.size()) batch_.buffers.push_back(new_buffer(device_, batch_.pool));
  open_ = batch_.buffers[batch_.used++];
  begin_writing(open_, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  needed_ = submitted_ + 1;
  return open_;
}

void Driver::close() {
  if (!open_) return;
  require(vkEndCommandBuffer(open_), "commands cannot be ended");
  batch_.submitted.push_back(std::exchange(open_, VK_NULL_HANDLE));
}

void Driver::barrier(VkCommandBuffer commands) const {
  VkMemoryBarrier all{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  all.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  all.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                      VK_ACCESS_TRANSFER_WRITE_BIT;
  vkCmdPipelineBarrier(commands, kStages, kStages, 0, 1, &all, 0, nullptr, 0, nullptr);
}

// Where a command goes that touches these.
VkCommandBuffer Driver::after(std::span<const Range> reads, std::span<const Range> writes) {
  VkCommandBuffer to = commands();
  if ((capturing_ ? capturing_->hazards : hazards_).add(reads, writes)) barrier(to);
  ++(capturing_ ? capturing_->count : batch_.commands);
  return to;
}

std::unique_ptr<Captured> Driver::capture(const std::function<void()>& start) {
  auto made = std::make_unique<Captured>();
  made->pool = new_pool(device_, on_.queue_family);
  try {
    made->commands = new_buffer(device_, made->pool);
    begin_writing(made->commands, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
    made->hazards.forget();  // it waits for whatever comes before it
    capturing_ = made.get();
    start();
    capturing_ = nullptr;
    require(vkEndCommandBuffer(made->commands), "captured commands cannot be ended");
  } catch (...) {
    capturing_ = nullptr;
    destroy(std::move(made));
    throw;
  }
  return made;
}

void Driver::launch(const Captured& captured) {
  close();
  batch_.submitted.push_back(captured.commands);
  batch_.commands += captured.count;
  needed_ = submitted_ + 1;
  hazards_.forget();
}

void Driver::destroy(std::unique_ptr<Captured> captured) {
  for (const uint64_t handle : captured->temporaries) release(handle);
  later([this, shared = std::shared_ptr<Captured>(std::move(captured))] {
    shared->sets.destroy(device_);
    vkDestroyCommandPool(device_, shared->pool, nullptr);
  });
}

// ---- kernels ----

void Driver::bind(VkCommandBuffer to, const gpu::Step& step, const device::Launch& launch, uint64_t fault_words) {
  const auto& built = static_cast<const Built&>(*step.built);
  const gpu::Arguments arguments = gpu::arguments_of(step, launch, fault_words);
  const size_t count = step.buffers.size(), numbers = arguments.words.size() - 2 * count - 1;
  const VkPhysicalDeviceLimits& limits = on_.properties.limits;
  base::SmallVector<VkDescriptorBufferInfo, 20> buffers;
  base::SmallVector<uint32_t, 64> pushed;
  for (size_t i = 0; i < numbers; ++i) {
    const uint64_t number = arguments.words[2 * count + i];
    pushed.push_back(static_cast<uint32_t>(number));
    pushed.push_back(static_cast<uint32_t>(number >> 32));
  }
  // Where a buffer does not begin at a place that can be bound, elements before it are skipped.
  const auto add = [&](const Place& place, size_t bytes) {
    const Piece& piece = piece_of(place.handle);
    const size_t begins = piece.offset + std::min(place.offset, piece.bytes - 1);
    const size_t bound = begins / limits.minStorageBufferOffsetAlignment * limits.minStorageBufferOffsetAlignment;
    const size_t words = (begins - bound + std::max<size_t>(bytes, 1) + 3) / 4;
    buffers.push_back({piece.block->buffer, bound, std::min<VkDeviceSize>(4 * words, limits.maxStorageBufferRange)});
    return static_cast<uint32_t>(begins - bound);
  };
  for (size_t i = 0; i < count; ++i) {
    const size_t offset = step.buffers[i].offset, all = launch.args[step.buffers[i].arg].bytes;
    const uint32_t skipped = add({arguments.words[2 * i], arguments.words[2 * i + 1]}, all > offset ? all - offset : 0);
    pushed.push_back(skipped / built.element_bytes[i]);
  }
  add({fault_words, 0}, codegen::FaultWords::kCount * sizeof(int32_t));
  pushed.push_back(arguments.guards);
  const auto bytes = static_cast<uint32_t>(pushed.size() * sizeof(uint32_t));
  if (bytes > pushed_bytes(on_))
    base::fail("vulkan", "kernel {} takes {} bytes of arguments, but {} takes no more than {}", step.name, bytes,
               on_.name(), pushed_bytes(on_));

  const Layout& layout = layout_of(count + 1);
  VkDescriptorSet set = (capturing_ ? capturing_->sets : batch_.sets).take(device_, layout.set);
  VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
  write.dstSet = set;
  write.descriptorCount = static_cast<uint32_t>(buffers.size());  // this many bindings, from the first one on
  write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  write.pBufferInfo = buffers.data();
  vkUpdateDescriptorSets(device_, 1, &write, 0, nullptr);
  vkCmdBindPipeline(to, VK_PIPELINE_BIND_POINT_COMPUTE, built.pipeline);
  vkCmdBindDescriptorSets(to, VK_PIPELINE_BIND_POINT_COMPUTE, layout.pipeline, 0, 1, &set, 0, nullptr);
  vkCmdPushConstants(to, layout.pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0, bytes, pushed.data());
}

// In parts, where it has more blocks than the device takes at once. The validation layer looks at plain ones alone.
void Driver::dispatch(VkCommandBuffer to, const std::array<uint64_t, 3>& blocks) const {
  const uint32_t* most = on_.properties.limits.maxComputeWorkGroupCount;
  const auto part = [&](size_t axis, uint64_t from) {
    return static_cast<uint32_t>(std::min<uint64_t>(blocks[axis] - from, most[axis]));
  };
  if (blocks[0] <= most[0] && blocks[1] <= most[1] && blocks[2] <= most[2])
    return vkCmdDispatch(to, part(0, 0), part(1, 0), part(2, 0));
  for (uint64_t z = 0; z < blocks[2]; z += most[2]) {
    for (uint64_t y = 0; y < blocks[1]; y += most[1]) {
      for (uint64_t x = 0; x < blocks[0]; x += most[0])
        vkCmdDispatchBase(to, static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(z), part(0, x),
                          part(1, y), part(2, z));
    }
  }
}

void Driver::launch(const gpu::Step& step, const device::Launch& launch, uint64_t fault_words) {
  base::SmallVector<Range, 20> reads, writes;
  for (const codegen::Dispatch::Binding& buffer : step.buffers) {
    const device::Arg& arg = launch.args[buffer.arg];
    (buffer.arg < launch.inputs ? reads : writes).push_back(range_of({arg.buffer.handle, arg.offset}, arg.bytes));
  }
  // Every kernel can read the fault words, whether it does or not.
  (step.may_fault ? writes : reads).push_back(range_of({fault_words, 0}, 1));
  VkCommandBuffer to = after({reads.data(), reads.size()}, {writes.data(), writes.size()});
  bind(to, step, launch, fault_words);
  dispatch(to, step.blocks);
}

// ---- timestamps ----

/// Timestamps that are let go of together.
struct Driver::Stamps {
  static constexpr uint32_t kCount = 512;
  VkDevice device;
  VkQueryPool pool = VK_NULL_HANDLE;
  uint32_t taken = 0;
  explicit Stamps(VkDevice of) : device(of) {
    VkQueryPoolCreateInfo create{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    create.queryType = VK_QUERY_TYPE_TIMESTAMP;
    create.queryCount = kCount;
    require(vkCreateQueryPool(device, &create, nullptr, &pool), "no more timestamps");
  }
  Stamps(const Stamps&) = delete;
  ~Stamps() {
    if (!gpu::process_is_ending()) vkDestroyQueryPool(device, pool, nullptr);
  }
};

/// Two of them.
struct Driver::Run : gpu::Event {
  std::shared_ptr<Stamps> stamps;
  uint32_t first;
  Run(std::shared_ptr<Stamps> of, uint32_t from) : stamps(std::move(of)), first(from) {}
};

std::shared_ptr<Driver::Run> Driver::new_run() {
  if (!stamps_ || stamps_->taken == Stamps::kCount) stamps_ = std::make_shared<Stamps>(device_);
  auto made = std::make_shared<Run>(stamps_, stamps_->taken);
  stamps_->taken += 2;
  vkCmdResetQueryPool(commands(), stamps_->pool, made->first, 2);
  return made;
}

// When everything before it is done.
void Driver::stamp(const Run& run, uint32_t which) {
  vkCmdWriteTimestamp(commands(), VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, run.stamps->pool, run.first + which);
}

uint64_t Driver::nanoseconds_at(uint64_t ticks) const {
  const double period = on_.properties.limits.timestampPeriod;
  return period == 1 ? ticks : static_cast<uint64_t>(static_cast<double>(ticks) * period);
}

uint64_t Driver::device_now() {
  const std::shared_ptr<Run> run = new_run();
  stamp(*run, 0);
  const gpu::EventRef all = mark();
  begin(*all);
  wait(*all);
  uint64_t ticks = 0;
  vkGetQueryPoolResults(device_, run->stamps->pool, run->first, 1, sizeof ticks, &ticks, sizeof ticks,
                        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  return nanoseconds_at(ticks);
}

// What is timed runs alone. A captured command has no time: it runs whenever its list does.
gpu::EventRef Driver::begin_run() {
  if (capturing_ || on_.properties.limits.timestampPeriod == 0) return nullptr;
  clock_.align([this] { return device_now(); });
  std::shared_ptr<Run> run = new_run();
  barrier(commands());
  stamp(*run, 0);
  hazards_.forget();
  return run;
}

void Driver::end_run(const gpu::Event& run) {
  stamp(static_cast<const Run&>(run), 1);
  hazards_.forget();
}

gpu::Times Driver::times_of(const gpu::Event& event) {
  const auto& run = static_cast<const Run&>(event);
  uint64_t ticks[2] = {0, 0};
  const VkResult code = vkGetQueryPoolResults(device_, run.stamps->pool, run.first, 2, sizeof ticks, ticks,
                                              sizeof *ticks, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  if (code != VK_SUCCESS) return {};
  return {clock_.on_host(nanoseconds_at(ticks[0])), clock_.on_host(nanoseconds_at(ticks[1]))};
}

// ---- transfers ----

void Driver::copy(const Place& from, const Place& to, size_t bytes) {
  const Range read = range_of(from, bytes), written = range_of(to, bytes);
  const VkBufferCopy region{offset_of(from), offset_of(to), bytes};
  vkCmdCopyBuffer(after({&read, 1}, {&written, 1}), buffer_of(from), buffer_of(to), 1, &region);
}

void Driver::upload(const std::byte* from, const Place& to, size_t bytes) {
  const auto [buffer, offset] = pinned_at(from).value();
  const Range written = range_of(to, bytes);
  const VkBufferCopy region{offset, offset_of(to), bytes};
  vkCmdCopyBuffer(after({}, {&written, 1}), buffer, buffer_of(to), 1, &region);
}

// They become part of the commands.
bool Driver::upload_small(std::span<const gpu::SmallUpload> uploads) {
  const auto is_odd = [](const gpu::SmallUpload& one) { return (offset_of(one.to) | one.from.size()) % 4 != 0; };
  if (std::any_of(uploads.begin(), uploads.end(), is_odd)) return false;
  for (const gpu::SmallUpload& one : uploads) {
    const Range written = range_of(one.to, one.from.size());
    vkCmdUpdateBuffer(after({}, {&written, 1}), buffer_of(one.to), offset_of(one.to), one.from.size(), one.from.data());
  }
  return true;
}

Block Driver::take_for_host(size_t bytes) {
  {
    std::lock_guard lock(mutex_);
    const auto fits = std::find_if(free_for_host_.begin(), free_for_host_.end(),
                                   [&](const Block& one) { return one.bytes >= bytes; });
    if (fits != free_for_host_.end()) {
      const Block taken = *fits;
      free_for_host_.erase(fits);
      return taken;
    }
  }
  const std::optional<Block> made = make_block(device_, on_, std::max(bytes, kLeast), true);
  if (!made) base::fail("memory", "there are no {} bytes for a download from {}", bytes, on_.name());
  return *made;
}

// Into memory that the device reaches, at once; from there on when somebody has waited for it.
void Driver::download(const Place& from, std::byte* to, size_t bytes) {
  const Range read = range_of(from, bytes);
  VkCommandBuffer commands = after({&read, 1}, {});
  downloads_now_ = true;
  if (const auto pinned = pinned_at(to)) {
    const VkBufferCopy region{offset_of(from), pinned->second, bytes};
    return vkCmdCopyBuffer(commands, buffer_of(from), pinned->first, 1, &region);
  }
  const Block between = take_for_host(bytes);
  const VkBufferCopy region{offset_of(from), 0, bytes};
  vkCmdCopyBuffer(commands, buffer_of(from), between.buffer, 1, &region);
  std::lock_guard lock(mutex_);
  downloads_.push_back({submitted_ + 1, between, to, bytes});
}

void Driver::write_edge(const Place& to, std::byte value, size_t bytes) {
  if (bytes > 0) upload(patterns_.get() + static_cast<size_t>(value) * kPattern, to, bytes);
}

// Words; what lies beside them is copied.
void Driver::fill(const Place& to, std::byte value, size_t bytes) {
  const size_t head = std::min<size_t>(bytes, (4 - offset_of(to) % 4) % 4);
  const size_t tail = (bytes - head) % 4, words = bytes - head - tail;
  write_edge(to, value, head);
  write_edge({to.handle, to.offset + head + words}, value, tail);
  if (words == 0) return;
  const Place middle{to.handle, to.offset + head};
  const Range written = range_of(middle, words);
  vkCmdFillBuffer(after({}, {&written, 1}), buffer_of(middle), offset_of(middle), words,
                  static_cast<uint32_t>(value) * 0x01010101u);
}

// ---- time ----

struct Driver::Moment : gpu::Event {
  uint64_t value;
  explicit Moment(uint64_t of) : value(of) {}
};

// Each submission costs the device some 9 us on an H200 that it does nothing in. While it is busy, a few short commands
// wait for more; many of them take long enough, and go at once.
gpu::EventRef Driver::mark() {
  if (downloads_now_) {
    VkMemoryBarrier seen{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    seen.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    seen.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    vkCmdPipelineBarrier(commands(), VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &seen, 0,
                         nullptr, 0, nullptr);
    downloads_now_ = false;
  }
  close();
  if (batch_.submitted.empty()) return std::make_shared<Moment>(submitted_);
  const uint64_t value = submitted_ + 1;
  uint64_t done = 0;
  require(vkGetSemaphoreCounterValue(device_, timeline_, &done), "a semaphore cannot be read");
  while (!in_flight_.empty() && in_flight_.front().value <= done) {
    free_batches_.push_back(std::move(in_flight_.front()));
    in_flight_.pop_front();
  }
  if (in_flight_.size() < kEnoughInFlight || batch_.commands >= kFewCommands) submit();
  return std::make_shared<Moment>(value);
}

void Driver::begin(const gpu::Event& event) {
  if (static_cast<const Moment&>(event).value <= submitted_) return;
  close();
  submit();
}

void Driver::submit() {
  batch_.value = submitted_ + 1;
  VkTimelineSemaphoreSubmitInfo values{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
  values.signalSemaphoreValueCount = 1;
  values.pSignalSemaphoreValues = &batch_.value;
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO, &values};
  info.commandBufferCount = static_cast<uint32_t>(batch_.submitted.size());
  info.pCommandBuffers = batch_.submitted.data();
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &timeline_;
  require(vkQueueSubmit(queue_, 1, &info, VK_NULL_HANDLE), "commands cannot be submitted");
  submitted_ = batch_.value;
  in_flight_.push_back(std::move(batch_));
  batch_ = new_batch();
}

void Driver::wait_for(uint64_t value) {
  VkSemaphoreWaitInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline_;
  info.pValues = &value;
  require(vkWaitSemaphores(device_, &info, ~uint64_t{0}), "a wait");
  std::lock_guard lock(mutex_);
  while (!downloads_.empty() && downloads_.front().value <= value) {
    const Download& one = downloads_.front();
    std::memcpy(one.to, one.from.host, one.bytes);
    if (free_for_host_.size() < kMostKept && one.from.bytes <= 16 * kLeast)
      free_for_host_.push_back(one.from);
    else
      vulkan::destroy(device_, one.from);
    downloads_.pop_front();
  }
}

void Driver::wait(const gpu::Event& event) {
  wait_for(static_cast<const Moment&>(event).value);
  collect();
}

// While commands are captured, those are finished that were not.
bool Driver::finish() {
  Captured* const capturing = std::exchange(capturing_, nullptr);
  bool is_there = true;
  try {
    const gpu::EventRef all = mark();
    begin(*all);
    wait(*all);
  } catch (const gpu::Gone&) {
    is_there = false;
  }
  capturing_ = capturing;
  return is_there;
}

}  // namespace tenon::backends::vulkan
