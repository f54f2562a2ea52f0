// The environment variables that Tenon reads: one table, which `tenon info --env` prints and docs/guide/debugging.md
// repeats.

#pragma once

#include <optional>
#include <string>

namespace tenon::base::env {

struct Variable {
  const char *name, *values, *help;
};

inline constexpr Variable kDevice{"TENON_DEVICE", "a name of `tenon info`, `cpu` unless set",
                                  "the device of new tensors, and of `tenon` commands where the config names none"};
inline constexpr Variable kThreads{"TENON_THREADS", "a number from 1; all cores unless set",
                                   "threads of the `cpu` device and of tokenizers"};
inline constexpr Variable kLog{"TENON_LOG", "any of `stats`, `capture`, `bits`, joined by commas",
                               "on standard error: what every plan costs; why something was recorded again; at the "
                               "end, a hash of all that was read"};
inline constexpr Variable kProfile{
    "TENON_PROFILE", "`1`",
    "at the end, where the time of all devices and of the host went, by kernel, module and pass"};
inline constexpr Variable kCheckNan{"TENON_CHECK_NAN", "`1`", "stops at the first op that makes a NaN"};
inline constexpr Variable kVerifyCapture{
    "TENON_VERIFY_CAPTURE", "a number n",
    "checks every n-th replay of captured functions; `1` all of them, bit for bit; `0` none"};
inline constexpr Variable kCacheDir{"TENON_CACHE_DIR", "a folder; empty: none",
                                    "where compiled kernels and timings are kept, instead of `tenon` in "
                                    "`$XDG_CACHE_HOME` or `~/.cache`; files of other users in it are not used"};
inline constexpr Variable kKeepKernels{"TENON_KEEP_KERNELS", "a folder",
                                       "keeps the source of every kernel that is compiled for a GPU"};
inline constexpr Variable kMatmul{"TENON_MATMUL", "`own`, `onednn`, `amx`",
                                  "which library multiplies matrices on `cpu`; `own` also on `cuda`"};
inline constexpr Variable kTiles{"TENON_TILES", "`0`", "products and attention on GPUs without matrix units"};
inline constexpr Variable kAttention{"TENON_ATTENTION", "`own`", "on `cuda`: attention without the kernels for Hopper"};
inline constexpr Variable kConvolution{"TENON_CONVOLUTION", "`own`", "on `cuda`: convolutions without cuDNN"};
inline constexpr Variable kTune{"TENON_TUNE", "`0`",
                                "on `cuda`: takes the library's first algorithm instead of timing several"};
inline constexpr Variable kTuned{"TENON_TUNED", "a file of `tenon tune --out`", "uses the choices in it"};
inline constexpr Variable kCudaLibraries{"TENON_CUDA_LIBRARIES", "folders, separated by colons",
                                         "looks there first for NVRTC, cuBLASLt and cuDNN"};
inline constexpr Variable kCudaDriver{"TENON_CUDA_DRIVER", "a file", "loaded in place of `libcuda.so.1`; for tests"};

// Those of the system.
inline constexpr Variable kCudaHome{"CUDA_HOME", "a folder", "where CUDA's libraries lie"};
inline constexpr Variable kCudaPath{"CUDA_PATH", "a folder", "where CUDA's libraries lie"};
inline constexpr Variable kOclIcdVendors{"OCL_ICD_VENDORS", "a folder", "where OpenCL's loader looks for drivers"};
inline constexpr Variable kXdgCacheHome{"XDG_CACHE_HOME", "a folder",
                                        "where `tenon` keeps compiled kernels, unless `TENON_CACHE_DIR` is set"};
inline constexpr Variable kHome{"HOME", "a folder",
                                "its `.cache/tenon` keeps compiled kernels where nothing else is set"};
inline constexpr Variable kColumns{"COLUMNS", "a number",
                                   "the width of progress lines where the terminal does not say"};
inline constexpr Variable kTerm{"TERM", "`dumb`: no terminal", "how progress is drawn"};
inline constexpr Variable kLcAll{"LC_ALL", "a locale", "how progress is drawn: blocks where it is UTF-8"};
inline constexpr Variable kLcCtype{"LC_CTYPE", "a locale", "as `LC_ALL`, where that is not set"};
inline constexpr Variable kLang{"LANG", "a locale", "as `LC_ALL`, where neither is set"};

inline constexpr const Variable* kAll[] = {
    &kDevice,        &kThreads,    &kLog,      &kProfile,   &kCheckNan,      &kVerifyCapture, &kCacheDir,
    &kKeepKernels,   &kMatmul,     &kTiles,    &kAttention, &kConvolution,   &kTune,          &kTuned,
    &kCudaLibraries, &kCudaDriver, &kCudaHome, &kCudaPath,  &kOclIcdVendors, &kXdgCacheHome,  &kHome,
    &kColumns,       &kTerm,       &kLcAll,    &kLcCtype,   &kLang};

/// Its text; nothing where it is not set, or empty.
std::optional<std::string> value(const Variable& variable);
/// Whether it is set, be it to nothing.
bool is_set(const Variable& variable);
/// Whether it is set to this.
bool is(const Variable& variable, const char* text);

}  // namespace tenon::base::env
