// What the cuda device declares of NVIDIA's interfaces, against their headers where these are installed.

#include <gtest/gtest.h>

#include "tenon/backends/cuda/api.h"

#if __has_include(<cuda.h>) && __has_include(<nvrtc.h>) && __has_include(<cublasLt.h>)

#include <cublasLt.h>
#include <cuda.h>
#include <nvrtc.h>
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#endif

#include <type_traits>

namespace tenon::backends::cuda {
namespace {

// Pointers fit pointers, numbers and enumerations those of their size.
template <typename A, typename B>
constexpr bool is_alike() {
  if constexpr (std::is_void_v<A> || std::is_void_v<B>)
    return std::is_void_v<A> && std::is_void_v<B>;
  else if constexpr (std::is_pointer_v<A> || std::is_pointer_v<B>)
    return std::is_pointer_v<A> && std::is_pointer_v<B>;
  else
    return sizeof(A) == sizeof(B) && std::is_floating_point_v<A> == std::is_floating_point_v<B>;
}
template <typename A, typename B>
struct Alike : std::false_type {};
template <typename A, typename... As, typename B, typename... Bs>
requires(sizeof...(As) == sizeof...(Bs)) struct Alike<A (*)(As...), B (*)(Bs...)>
    : std::bool_constant<is_alike<A, B>() && (is_alike<As, Bs>() && ...)> {
};

#define SAME(ours, theirs) static_assert(Alike<decltype(ours), decltype(&theirs)>::value)

SAME(DriverApi::init, cuInit);
SAME(DriverApi::driver_version, cuDriverGetVersion);
SAME(DriverApi::device_count, cuDeviceGetCount);
SAME(DriverApi::device, cuDeviceGet);
SAME(DriverApi::device_name, cuDeviceGetName);
SAME(DriverApi::device_attribute, cuDeviceGetAttribute);
SAME(DriverApi::device_memory, cuDeviceTotalMem);
SAME(DriverApi::retain_primary_context, cuDevicePrimaryCtxRetain);
SAME(DriverApi::release_primary_context, cuDevicePrimaryCtxRelease);
SAME(DriverApi::set_current, cuCtxSetCurrent);
SAME(DriverApi::allocate, cuMemAlloc);
SAME(DriverApi::free, cuMemFree);
SAME(DriverApi::memory_left, cuMemGetInfo);
SAME(DriverApi::allocate_on_stream, cuMemAllocAsync);
SAME(DriverApi::free_on_stream, cuMemFreeAsync);
SAME(DriverApi::allocate_host, cuMemHostAlloc);
SAME(DriverApi::free_host, cuMemFreeHost);
SAME(DriverApi::upload, cuMemcpyHtoDAsync);
SAME(DriverApi::download, cuMemcpyDtoHAsync);
SAME(DriverApi::copy, cuMemcpyDtoDAsync);
SAME(DriverApi::fill, cuMemsetD8Async);
SAME(DriverApi::make_stream, cuStreamCreate);
SAME(DriverApi::destroy_stream, cuStreamDestroy);
SAME(DriverApi::finish_stream, cuStreamSynchronize);
SAME(DriverApi::make_event, cuEventCreate);
SAME(DriverApi::record_event, cuEventRecord);
SAME(DriverApi::wait_for_event, cuEventSynchronize);
SAME(DriverApi::let_wait, cuStreamWaitEvent);
SAME(DriverApi::time_between, cuEventElapsedTime);
SAME(DriverApi::destroy_event, cuEventDestroy);
SAME(DriverApi::load_module, cuModuleLoadData);
SAME(DriverApi::unload_module, cuModuleUnload);
SAME(DriverApi::function_of, cuModuleGetFunction);
SAME(DriverApi::set_function_attribute, cuFuncSetAttribute);
SAME(DriverApi::launch, cuLaunchKernel);
SAME(DriverApi::begin_capture, cuStreamBeginCapture);
SAME(DriverApi::end_capture, cuStreamEndCapture);
SAME(DriverApi::instantiate, cuGraphInstantiateWithFlags);
SAME(DriverApi::launch_graph, cuGraphLaunch);
SAME(DriverApi::destroy_runnable_graph, cuGraphExecDestroy);
SAME(DriverApi::destroy_graph, cuGraphDestroy);
SAME(DriverApi::error_name, cuGetErrorName);
SAME(DriverApi::error_text, cuGetErrorString);

static_assert(sizeof(Address) == sizeof(CUdeviceptr) && sizeof(Result) == sizeof(CUresult));
static_assert(Results::kSuccess == CUDA_SUCCESS && Results::kInvalidValue == CUDA_ERROR_INVALID_VALUE);
static_assert(Results::kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(Results::kNotInitialized == CUDA_ERROR_NOT_INITIALIZED);
static_assert(Results::kDeinitialized == CUDA_ERROR_DEINITIALIZED);
static_assert(Results::kStubLibrary == CUDA_ERROR_STUB_LIBRARY);
static_assert(Results::kDeviceUnavailable == CUDA_ERROR_DEVICE_UNAVAILABLE);
static_assert(Results::kNoDevice == CUDA_ERROR_NO_DEVICE && Results::kNoBinary == CUDA_ERROR_NO_BINARY_FOR_GPU);
static_assert(Results::kUncorrectable == CUDA_ERROR_ECC_UNCORRECTABLE);
static_assert(Results::kNvlinkUncorrectable == CUDA_ERROR_NVLINK_UNCORRECTABLE);
static_assert(Results::kContained == CUDA_ERROR_CONTAINED && Results::kNotReady == CUDA_ERROR_NOT_READY);
static_assert(Results::kIllegalAddress == CUDA_ERROR_ILLEGAL_ADDRESS);
static_assert(Results::kLaunchOutOfResources == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
static_assert(Results::kLaunchTimeout == CUDA_ERROR_LAUNCH_TIMEOUT);
static_assert(Results::kContextIsDestroyed == CUDA_ERROR_CONTEXT_IS_DESTROYED);
static_assert(Results::kAssert == CUDA_ERROR_ASSERT);
static_assert(Results::kHardwareStackError == CUDA_ERROR_HARDWARE_STACK_ERROR);
static_assert(Results::kIllegalInstruction == CUDA_ERROR_ILLEGAL_INSTRUCTION);
static_assert(Results::kMisalignedAddress == CUDA_ERROR_MISALIGNED_ADDRESS);
static_assert(Results::kInvalidAddressSpace == CUDA_ERROR_INVALID_ADDRESS_SPACE);
static_assert(Results::kInvalidPc == CUDA_ERROR_INVALID_PC && Results::kLaunchFailed == CUDA_ERROR_LAUNCH_FAILED);
static_assert(Results::kTensorMemoryLeak == CUDA_ERROR_TENSOR_MEMORY_LEAK);
static_assert(Results::kExternalDevice == CUDA_ERROR_EXTERNAL_DEVICE && Results::kUnknown == CUDA_ERROR_UNKNOWN);

static_assert(DeviceAttribute::kMaxThreads == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(DeviceAttribute::kSharedBytes == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
static_assert(DeviceAttribute::kWarp == CU_DEVICE_ATTRIBUTE_WARP_SIZE);
static_assert(DeviceAttribute::kProcessors == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(DeviceAttribute::kMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(DeviceAttribute::kMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(DeviceAttribute::kSharedBytesOptIn == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(DeviceAttribute::kHasMemoryPools == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
static_assert(Flags::kNonBlockingStream == CU_STREAM_NON_BLOCKING);
static_assert(Flags::kPortableHostMemory == CU_MEMHOSTALLOC_PORTABLE);
static_assert(Flags::kRelaxedCapture == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(Flags::kMaxDynamicSharedBytes == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);

SAME(CompilerApi::version, nvrtcVersion);
SAME(CompilerApi::architecture_count, nvrtcGetNumSupportedArchs);
SAME(CompilerApi::architectures, nvrtcGetSupportedArchs);
SAME(CompilerApi::create, nvrtcCreateProgram);
SAME(CompilerApi::destroy, nvrtcDestroyProgram);
SAME(CompilerApi::compile, nvrtcCompileProgram);
SAME(CompilerApi::binary_size, nvrtcGetCUBINSize);
SAME(CompilerApi::binary, nvrtcGetCUBIN);
SAME(CompilerApi::log_size, nvrtcGetProgramLogSize);
SAME(CompilerApi::log, nvrtcGetProgramLog);
SAME(CompilerApi::error_text, nvrtcGetErrorString);
static_assert(NVRTC_SUCCESS == 0);

SAME(ProductApi::create, cublasLtCreate);
SAME(ProductApi::version, cublasLtGetVersion);
SAME(ProductApi::create_product, cublasLtMatmulDescCreate);
SAME(ProductApi::destroy_product, cublasLtMatmulDescDestroy);
SAME(ProductApi::set_product, cublasLtMatmulDescSetAttribute);
SAME(ProductApi::create_layout, cublasLtMatrixLayoutCreate);
SAME(ProductApi::destroy_layout, cublasLtMatrixLayoutDestroy);
SAME(ProductApi::set_layout, cublasLtMatrixLayoutSetAttribute);
SAME(ProductApi::create_preference, cublasLtMatmulPreferenceCreate);
SAME(ProductApi::destroy_preference, cublasLtMatmulPreferenceDestroy);
SAME(ProductApi::set_preference, cublasLtMatmulPreferenceSetAttribute);
SAME(ProductApi::propose, cublasLtMatmulAlgoGetHeuristic);
SAME(ProductApi::init_algorithm, cublasLtMatmulAlgoInit);
SAME(ProductApi::set_algorithm, cublasLtMatmulAlgoConfigSetAttribute);
SAME(ProductApi::get_algorithm, cublasLtMatmulAlgoConfigGetAttribute);
SAME(ProductApi::check_algorithm, cublasLtMatmulAlgoCheck);
SAME(ProductApi::multiply, cublasLtMatmul);

static_assert(sizeof(LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(LtProposal) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(LtProposal, algorithm) == offsetof(cublasLtMatmulHeuristicResult_t, algo));
static_assert(offsetof(LtProposal, workspace_bytes) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(LtProposal, status) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(LtProposal, waves) == offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));
static_assert(Lt::kF32 == CUDA_R_32F && Lt::kF16 == CUDA_R_16F && Lt::kBf16 == CUDA_R_16BF);
static_assert(Lt::kComputeF32 == CUBLAS_COMPUTE_32F && Lt::kComputeTf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(Lt::kPlain == CUBLAS_OP_N && Lt::kTransposed == CUBLAS_OP_T && CUBLAS_STATUS_SUCCESS == 0);
static_assert(Lt::kTransposeA == CUBLASLT_MATMUL_DESC_TRANSA && Lt::kTransposeB == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(Lt::kEpilogue == CUBLASLT_MATMUL_DESC_EPILOGUE);
static_assert(Lt::kBiasPointer == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
static_assert(Lt::kBiasType == CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
static_assert(Lt::kAuxPointer == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
static_assert(Lt::kAuxLeading == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
static_assert(Lt::kAuxBatchStride == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE);
static_assert((Lt::kGelu | Lt::kAux | Lt::kBias) == CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
static_assert(Lt::kGelu == CUBLASLT_EPILOGUE_GELU && Lt::kGeluSlope == CUBLASLT_EPILOGUE_DGELU);
static_assert(Lt::kNoEpilogue == CUBLASLT_EPILOGUE_DEFAULT && Lt::kBias == CUBLASLT_EPILOGUE_BIAS);
static_assert(Lt::kBatchCount == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
static_assert(Lt::kBatchStride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(Lt::kMostWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(Lt::kReductions == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
static_assert(Lt::kNoReduction == CUBLASLT_REDUCTION_SCHEME_NONE);
static_assert(Lt::kAnyReduction == CUBLASLT_REDUCTION_SCHEME_MASK);
static_assert(Lt::kAlignmentA == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
static_assert(Lt::kAlignmentB == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
static_assert(Lt::kAlignmentC == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
static_assert(Lt::kAlignmentD == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(Lt::kSplits == CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
static_assert(Lt::kReduction == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
static_assert(Lt::kId == CUBLASLT_ALGO_CONFIG_ID && Lt::kTile == CUBLASLT_ALGO_CONFIG_TILE_ID);
static_assert(Lt::kStages == CUBLASLT_ALGO_CONFIG_STAGES_ID && Lt::kSwizzle == CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING);
static_assert(Lt::kCustom == CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
static_assert(Lt::kInnerShape == CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID);
static_assert(Lt::kClusterShape == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);

#if __has_include(<cudnn.h>)

SAME(ConvolutionApi::version, cudnnGetVersion);
SAME(ConvolutionApi::create, cudnnCreate);
SAME(ConvolutionApi::set_stream, cudnnSetStream);
SAME(ConvolutionApi::make, cudnnBackendCreateDescriptor);
SAME(ConvolutionApi::destroy, cudnnBackendDestroyDescriptor);
SAME(ConvolutionApi::finish, cudnnBackendFinalize);
SAME(ConvolutionApi::set, cudnnBackendSetAttribute);
SAME(ConvolutionApi::get, cudnnBackendGetAttribute);
SAME(ConvolutionApi::run, cudnnBackendExecute);
SAME(ConvolutionApi::last_error, cudnnGetLastErrorString);

static_assert(Dnn::kF32 == CUDNN_DATA_FLOAT);
static_assert(Dnn::kF16 == CUDNN_DATA_HALF);
static_assert(Dnn::kBf16 == CUDNN_DATA_BFLOAT16);
static_assert(Dnn::kTypeHandle == CUDNN_TYPE_HANDLE);
static_assert(Dnn::kTypeDataType == CUDNN_TYPE_DATA_TYPE);
static_assert(Dnn::kTypeBool == CUDNN_TYPE_BOOLEAN);
static_assert(Dnn::kTypeInt64 == CUDNN_TYPE_INT64);
static_assert(Dnn::kTypeFloat == CUDNN_TYPE_FLOAT);
static_assert(Dnn::kTypePointer == CUDNN_TYPE_VOID_PTR);
static_assert(Dnn::kTypeConvolutionMode == CUDNN_TYPE_CONVOLUTION_MODE);
static_assert(Dnn::kTypeHeuristic == CUDNN_TYPE_HEUR_MODE);
static_assert(Dnn::kTypeKnob == CUDNN_TYPE_KNOB_TYPE);
static_assert(Dnn::kTypeNote == CUDNN_TYPE_NUMERICAL_NOTE);
static_assert(Dnn::kTypeDescriptor == CUDNN_TYPE_BACKEND_DESCRIPTOR);
static_assert(Dnn::kConvolution == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
static_assert(Dnn::kEngine == CUDNN_BACKEND_ENGINE_DESCRIPTOR);
static_assert(Dnn::kConfig == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
static_assert(Dnn::kHeuristics == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
static_assert(Dnn::kPlan == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
static_assert(Dnn::kKnobChoice == CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
static_assert(Dnn::kForward == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
static_assert(Dnn::kBackwardWeights == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
static_assert(Dnn::kBackwardImages == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
static_assert(Dnn::kGraph == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
static_assert(Dnn::kPack == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
static_assert(Dnn::kTensor == CUDNN_BACKEND_TENSOR_DESCRIPTOR);
static_assert(Dnn::kComputeType == CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
static_assert(Dnn::kMode == CUDNN_ATTR_CONVOLUTION_CONV_MODE);
static_assert(Dnn::kDilations == CUDNN_ATTR_CONVOLUTION_DILATIONS);
static_assert(Dnn::kStrides == CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
static_assert(Dnn::kPaddingAfter == CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
static_assert(Dnn::kPaddingBefore == CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
static_assert(Dnn::kSpatialAxes == CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
static_assert(Dnn::kCrossCorrelation == CUDNN_CROSS_CORRELATION);
static_assert(Dnn::kHeuristicMode == CUDNN_ATTR_ENGINEHEUR_MODE);
static_assert(Dnn::kHeuristicGraph == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
static_assert(Dnn::kHeuristicResults == CUDNN_ATTR_ENGINEHEUR_RESULTS);
static_assert(Dnn::kFallback == CUDNN_HEUR_MODE_FALLBACK);
static_assert(Dnn::kBest == CUDNN_HEUR_MODE_A);
static_assert(Dnn::kConfigEngine == CUDNN_ATTR_ENGINECFG_ENGINE);
static_assert(Dnn::kConfigKnobs == CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
static_assert(Dnn::kPlanHandle == CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
static_assert(Dnn::kPlanConfig == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
static_assert(Dnn::kPlanWorkspace == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
static_assert(Dnn::kKnobType == CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE);
static_assert(Dnn::kKnobValue == CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
static_assert(Dnn::kForwardAlpha == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
static_assert(Dnn::kForwardBeta == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
static_assert(Dnn::kForwardConvolution == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
static_assert(Dnn::kForwardW == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
static_assert(Dnn::kForwardX == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
static_assert(Dnn::kForwardY == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
static_assert(Dnn::kImagesAlpha == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA);
static_assert(Dnn::kImagesBeta == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA);
static_assert(Dnn::kImagesConvolution == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
static_assert(Dnn::kImagesW == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W);
static_assert(Dnn::kImagesX == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX);
static_assert(Dnn::kImagesY == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
static_assert(Dnn::kWeightsAlpha == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA);
static_assert(Dnn::kWeightsBeta == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA);
static_assert(Dnn::kWeightsConvolution == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC);
static_assert(Dnn::kWeightsW == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW);
static_assert(Dnn::kWeightsX == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X);
static_assert(Dnn::kWeightsY == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
static_assert(Dnn::kGraphHandle == CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
static_assert(Dnn::kGraphOperations == CUDNN_ATTR_OPERATIONGRAPH_OPS);
static_assert(Dnn::kTensorAlignment == CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
static_assert(Dnn::kTensorType == CUDNN_ATTR_TENSOR_DATA_TYPE);
static_assert(Dnn::kTensorSizes == CUDNN_ATTR_TENSOR_DIMENSIONS);
static_assert(Dnn::kTensorStrides == CUDNN_ATTR_TENSOR_STRIDES);
static_assert(Dnn::kTensorId == CUDNN_ATTR_TENSOR_UNIQUE_ID);
static_assert(Dnn::kTensorIsVirtual == CUDNN_ATTR_TENSOR_IS_VIRTUAL);
static_assert(Dnn::kPackIds == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
static_assert(Dnn::kPackPointers == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
static_assert(Dnn::kPackWorkspace == CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
static_assert(Dnn::kEngineGraph == CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
static_assert(Dnn::kEngineNumber == CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
static_assert(Dnn::kEngineNotes == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
static_assert(Dnn::kTensorCores == CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
static_assert(Dnn::kRoundsOperands == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
static_assert(Dnn::kRoundsSums == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
static_assert(Dnn::kFft == CUDNN_NUMERICAL_NOTE_FFT);
static_assert(Dnn::kNondeterministic == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
static_assert(Dnn::kWinograd == CUDNN_NUMERICAL_NOTE_WINOGRAD);

#endif

TEST(CudaHeaders, AgreeWithWhatIsDeclared) { EXPECT_GE(CUDA_VERSION, 12000); }  // the rest is checked above

}  // namespace
}  // namespace tenon::backends::cuda

#else

TEST(CudaHeaders, AgreeWithWhatIsDeclared) { GTEST_SKIP() << "NVIDIA's headers are not installed"; }

#endif
