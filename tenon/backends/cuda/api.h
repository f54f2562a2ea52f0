// The functions of CUDA that are used, looked up when a device is first asked for. Nothing of CUDA is needed to build:
// types and numbers stand here as the interfaces have them, and a test compares them with NVIDIA's headers where these
// are installed. A program that was built so starts with and without a driver.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tenon::backends::cuda {

// ---- the driver (libcuda.so.1) ----

using Result = int;  // CUresult
using DeviceNumber = int;
using Address = unsigned long long;  // CUdeviceptr
using Context = struct ContextOfDriver*;
using Stream = struct StreamOfDriver*;
using EventHandle = struct EventOfDriver*;
using Module = struct ModuleOfDriver*;
using Function = struct FunctionOfDriver*;
using Graph = struct GraphOfDriver*;
using RunnableGraph = struct GraphExecOfDriver*;

struct Results {
  static constexpr Result kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kDeinitialized = 4,
                          kStubLibrary = 34, kDeviceUnavailable = 46, kNoDevice = 100, kNoBinary = 209,
                          kUncorrectable = 214, kNvlinkUncorrectable = 220, kContained = 226, kNotReady = 600,
                          kIllegalAddress = 700, kLaunchOutOfResources = 701, kLaunchTimeout = 702,
                          kContextIsDestroyed = 709, kAssert = 710, kHardwareStackError = 714,
                          kIllegalInstruction = 715, kMisalignedAddress = 716, kInvalidAddressSpace = 717,
                          kInvalidPc = 718, kLaunchFailed = 719, kTensorMemoryLeak = 721, kExternalDevice = 911,
                          kUnknown = 999;
};
struct DeviceAttribute {
  static constexpr int kMaxThreads = 1, kSharedBytes = 8, kWarp = 10, kProcessors = 16, kMajor = 75, kMinor = 76,
                       kSharedBytesOptIn = 97, kHasMemoryPools = 115;
};
struct Flags {
  static constexpr unsigned kNonBlockingStream = 1, kEventWithoutTime = 2, kPortableHostMemory = 1;
  static constexpr int kRelaxedCapture = 2, kMaxDynamicSharedBytes = 8;
};

struct DriverApi {
  Result (*init)(unsigned flags);
  Result (*driver_version)(int* version);
  Result (*device_count)(int* count);
  Result (*device)(DeviceNumber* device, int ordinal);
  Result (*device_name)(char* name, int length, DeviceNumber device);
  Result (*device_attribute)(int* value, int attribute, DeviceNumber device);
  Result (*device_memory)(size_t* bytes, DeviceNumber device);
  Result (*retain_primary_context)(Context* context, DeviceNumber device);
  Result (*release_primary_context)(DeviceNumber device);
  Result (*set_current)(Context context);
  Result (*allocate)(Address* address, size_t bytes);
  Result (*free)(Address address);
  Result (*memory_left)(size_t* free, size_t* total);
  Result (*allocate_on_stream)(Address* address, size_t bytes, Stream stream);
  Result (*free_on_stream)(Address address, Stream stream);
  Result (*allocate_host)(void** memory, size_t bytes, unsigned flags);
  Result (*free_host)(void* memory);
  Result (*upload)(Address to, const void* from, size_t bytes, Stream stream);
  Result (*download)(void* to, Address from, size_t bytes, Stream stream);
  Result (*copy)(Address to, Address from, size_t bytes, Stream stream);
  Result (*fill)(Address to, unsigned char value, size_t bytes, Stream stream);
  Result (*make_stream)(Stream* stream, unsigned flags);
  Result (*destroy_stream)(Stream stream);
  Result (*finish_stream)(Stream stream);
  Result (*make_event)(EventHandle* event, unsigned flags);
  Result (*record_event)(EventHandle event, Stream stream);
  Result (*wait_for_event)(EventHandle event);
  Result (*let_wait)(Stream stream, EventHandle event, unsigned flags);
  Result (*time_between)(float* milliseconds, EventHandle begin, EventHandle end);
  Result (*destroy_event)(EventHandle event);
  Result (*load_module)(Module* module, const void* image);
  Result (*unload_module)(Module module);
  Result (*function_of)(Function* function, Module module, const char* name);
  Result (*set_function_attribute)(Function function, int attribute, int value);
  Result (*launch)(Function function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x,
                   unsigned threads_y, unsigned threads_z, unsigned shared_bytes, Stream stream, void** arguments,
                   void** extra);
  Result (*begin_capture)(Stream stream, int mode);
  Result (*end_capture)(Stream stream, Graph* graph);
  Result (*instantiate)(RunnableGraph* made, Graph graph, unsigned long long flags);
  Result (*launch_graph)(RunnableGraph graph, Stream stream);
  Result (*destroy_runnable_graph)(RunnableGraph graph);
  Result (*destroy_graph)(Graph graph);
  Result (*error_name)(Result code, const char** name);
  Result (*error_text)(Result code, const char** text);
};

/// Why there is no driver's library; empty where there is one.
const std::string& why_no_driver();
/// The functions; only where there is a library.
const DriverApi& cu();

/// The name of an error, as CUDA has it.
std::string error_name(Result code);
/// Fails, with what could not be done, unless the code says success.
void require(Result code, const char* what);

// ---- the compiler (libnvrtc) ----

using Program = struct ProgramOfNvrtc*;

struct CompilerApi {
  int (*version)(int* major, int* minor);
  int (*architecture_count)(int* count);
  int (*architectures)(int* list);
  int (*create)(Program* program, const char* source, const char* name, int headers, const char* const* header_texts,
                const char* const* header_names);
  int (*destroy)(Program* program);
  int (*compile)(Program program, int options, const char* const* texts);
  int (*binary_size)(Program program, size_t* bytes);
  int (*binary)(Program program, char* to);
  int (*log_size)(Program program, size_t* bytes);
  int (*log)(Program program, char* to);
  const char* (*error_text)(int code);
};

/// None where it was not found; `why_no_compiler` says what is missing.
const CompilerApi* nvrtc();
const std::string& why_no_compiler();

// ---- products (libcublasLt) ----

using LtHandle = struct HandleOfLt*;
using LtProduct = struct ProductOfLt*;
using LtLayout = struct LayoutOfLt*;
using LtPreference = struct PreferenceOfLt*;

struct LtAlgorithm {
  uint64_t data[8];
};
struct LtProposal {
  LtAlgorithm algorithm;
  size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};
struct Lt {
  // Types and operations.
  static constexpr int kF32 = 0, kF16 = 2, kBf16 = 14;
  static constexpr int kComputeF32 = 68, kComputeTf32 = 77;
  static constexpr int kPlain = 0, kTransposed = 1;
  // Attributes of a product.
  static constexpr int kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8, kBiasType = 26,
                       kAuxPointer = 11, kAuxLeading = 12, kAuxBatchStride = 13;
  static constexpr uint32_t kNoEpilogue = 1, kBias = 4, kGelu = 32, kAux = 128, kGeluSlope = 64 | kAux;
  // Attributes of a layout.
  static constexpr int kBatchCount = 5, kBatchStride = 6;
  // Preferences.
  static constexpr int kMostWorkspace = 1, kReductions = 3, kAlignmentA = 5, kAlignmentB = 6, kAlignmentC = 7,
                       kAlignmentD = 8;
  static constexpr uint32_t kNoReduction = 0, kAnyReduction = 7;
  // Of an algorithm.
  static constexpr int kId = 0, kTile = 1, kSplits = 2, kReduction = 3, kSwizzle = 4, kCustom = 5, kStages = 6,
                       kInnerShape = 7, kClusterShape = 8;
};

struct ProductApi {
  int (*create)(LtHandle* handle);
  size_t (*version)();
  int (*create_product)(LtProduct* product, int compute, int scale);
  int (*destroy_product)(LtProduct product);
  int (*set_product)(LtProduct product, int attribute, const void* value, size_t bytes);
  int (*create_layout)(LtLayout* layout, int type, uint64_t rows, uint64_t columns, int64_t leading);
  int (*destroy_layout)(LtLayout layout);
  int (*set_layout)(LtLayout layout, int attribute, const void* value, size_t bytes);
  int (*create_preference)(LtPreference* preference);
  int (*destroy_preference)(LtPreference preference);
  int (*set_preference)(LtPreference preference, int attribute, const void* value, size_t bytes);
  int (*propose)(LtHandle handle, LtProduct product, LtLayout a, LtLayout b, LtLayout c, LtLayout d,
                 LtPreference preference, int most, LtProposal* proposals, int* count);
  int (*init_algorithm)(LtHandle handle, int compute, int scale, int a, int b, int c, int d, int id,
                        LtAlgorithm* algorithm);
  int (*set_algorithm)(LtAlgorithm* algorithm, int attribute, const void* value, size_t bytes);
  int (*get_algorithm)(const LtAlgorithm* algorithm, int attribute, void* value, size_t bytes, size_t* written);
  int (*check_algorithm)(LtHandle handle, LtProduct product, LtLayout a, LtLayout b, LtLayout c, LtLayout d,
                         const LtAlgorithm* algorithm, LtProposal* result);
  int (*multiply)(LtHandle handle, LtProduct product, const void* alpha, const void* a, LtLayout layout_a,
                  const void* b, LtLayout layout_b, const void* beta, const void* c, LtLayout layout_c, void* d,
                  LtLayout layout_d, const LtAlgorithm* algorithm, void* workspace, size_t workspace_bytes,
                  Stream stream);
};

/// None where it was not found; products then are kernels of our own.
const ProductApi* lt();

// ---- convolutions (libcudnn, version 9) ----

using DnnHandle = struct HandleOfDnn*;
using DnnDescriptor = void*;

struct Dnn {
  // Types of elements.
  static constexpr int kF32 = 0, kF16 = 2, kBf16 = 9;
  // Types of attributes.
  static constexpr int kTypeHandle = 0, kTypeDataType = 1, kTypeBool = 2, kTypeInt64 = 3, kTypeFloat = 4,
                       kTypePointer = 6, kTypeConvolutionMode = 7, kTypeHeuristic = 8, kTypeKnob = 9, kTypeNote = 11,
                       kTypeDescriptor = 15;
  // Kinds of descriptors.
  static constexpr int kConvolution = 1, kEngine = 2, kConfig = 3, kHeuristics = 4, kPlan = 5, kKnobChoice = 7,
                       kForward = 10, kBackwardWeights = 11, kBackwardImages = 12, kGraph = 15, kPack = 16,
                       kTensor = 17;
  // Attributes of a convolution.
  static constexpr int kComputeType = 100, kMode = 101, kDilations = 102, kStrides = 103, kPaddingAfter = 104,
                       kPaddingBefore = 105, kSpatialAxes = 106, kCrossCorrelation = 1;
  // Of heuristics, configurations and plans.
  static constexpr int kHeuristicMode = 200, kHeuristicGraph = 201, kHeuristicResults = 202, kFallback = 2, kBest = 3;
  static constexpr int kConfigEngine = 300, kConfigKnobs = 302;
  static constexpr int kPlanHandle = 400, kPlanConfig = 401, kPlanWorkspace = 402;
  static constexpr int kKnobType = 600, kKnobValue = 601;
  // Of the three sides of a convolution.
  static constexpr int kForwardAlpha = 700, kForwardBeta = 701, kForwardConvolution = 702, kForwardW = 703,
                       kForwardX = 704, kForwardY = 705;
  static constexpr int kImagesAlpha = 706, kImagesBeta = 707, kImagesConvolution = 708, kImagesW = 709, kImagesX = 710,
                       kImagesY = 711;
  static constexpr int kWeightsAlpha = 712, kWeightsBeta = 713, kWeightsConvolution = 714, kWeightsW = 715,
                       kWeightsX = 716, kWeightsY = 717;
  // Of graphs, tensors, what is run on, and engines.
  static constexpr int kGraphHandle = 800, kGraphOperations = 801;
  static constexpr int kTensorAlignment = 900, kTensorType = 901, kTensorSizes = 902, kTensorStrides = 903,
                       kTensorId = 906, kTensorIsVirtual = 907;
  static constexpr int kPackIds = 1000, kPackPointers = 1001, kPackWorkspace = 1003;
  static constexpr int kEngineGraph = 1300, kEngineNumber = 1301, kEngineNotes = 1303;
  // What an engine says of its numbers.
  static constexpr int kTensorCores = 0, kRoundsOperands = 1, kRoundsSums = 2, kFft = 3, kNondeterministic = 4,
                       kWinograd = 5;
};

struct ConvolutionApi {
  size_t (*version)();
  int (*create)(DnnHandle* handle);
  int (*set_stream)(DnnHandle handle, Stream stream);
  int (*make)(int kind, DnnDescriptor* descriptor);
  int (*destroy)(DnnDescriptor descriptor);
  int (*finish)(DnnDescriptor descriptor);
  int (*set)(DnnDescriptor descriptor, int attribute, int type, int64_t count, const void* values);
  int (*get)(DnnDescriptor descriptor, int attribute, int type, int64_t most, int64_t* count, void* values);
  int (*run)(DnnHandle handle, DnnDescriptor plan, DnnDescriptor pack);
  void (*last_error)(char* text, size_t bytes);
};

/// None where it was not found; convolutions then are kernels of our own.
const ConvolutionApi* dnn();

}  // namespace tenon::backends::cuda
