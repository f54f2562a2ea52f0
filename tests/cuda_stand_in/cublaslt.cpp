// A cuBLASLt for tests: products of matrices in memory of the host, as the descriptors say and no faster. Columns lie
// side by side, as in the real one. The stream is not looked at: whoever tests it has nothing under way.
//
// There are four algorithms, 1 to 4, which sum in orders of their own, so that their last bits differ. With a bias 2 is
// proposed first and there is no 4. Where 16-bit numbers are summed into 32 bits, 3 is there and not proposed. The
// environment says more:
//
//   STAND_IN_LT_US=1000,50     the microseconds that 1 and 2 take; others take none
//   STAND_IN_LT_WITHOUT=2      which one is not there
//   STAND_IN_LT_REFUSES=2      which one is proposed, and refused when it is to run
//   STAND_IN_LT_VERSION=130100

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <type_traits>
#include <vector>

#include "tenon/backends/cuda/api.h"
#include "tenon/base/half.h"

namespace {

using namespace tenon::backends::cuda;

struct Attributes {
  std::map<int, std::vector<unsigned char>> values;
  template <typename T>
  T get(int attribute, T otherwise) const {
    const auto found = values.find(attribute);
    if (found == values.end() || found->second.size() != sizeof(T)) return otherwise;
    std::memcpy(&otherwise, found->second.data(), sizeof(T));
    return otherwise;
  }
  int set(int attribute, const void* value, size_t bytes) {
    const auto* from = static_cast<const unsigned char*>(value);
    values[attribute] = {from, from + bytes};
    return 0;
  }
};
struct FakeProduct : Attributes {
  bool tf32 = false;
};
struct FakePreference : Attributes {};
struct FakeLayout : Attributes {
  int type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
  int32_t batches() const { return get<int32_t>(Lt::kBatchCount, 1); }
  int64_t stride() const { return get<int64_t>(Lt::kBatchStride, 0); }
};

template <typename T>
T* of(auto handle) {
  return reinterpret_cast<T*>(handle);
}

constexpr int kInvalid = 7, kNotSupported = 15;

float read(const void* memory, int type, int64_t at) {
  if (type == Lt::kF32) return static_cast<const float*>(memory)[at];
  const uint16_t bits = static_cast<const uint16_t*>(memory)[at];
  return static_cast<float>(type == Lt::kF16 ? tenon::base::f16_to_double(bits) : tenon::base::bf16_to_double(bits));
}
void write(void* memory, int type, int64_t at, float value) {
  if (type == Lt::kF32)
    static_cast<float*>(memory)[at] = value;
  else
    static_cast<uint16_t*>(memory)[at] =
        type == Lt::kF16 ? tenon::base::double_to_f16(value) : tenon::base::double_to_bf16(value);
}

// The nearest number with 10 bits of mantissa, away from 0 where two are as near.
float as_tf32(float x) {
  if (!std::isfinite(x)) return x;
  return std::bit_cast<float>((std::bit_cast<uint32_t>(x) + 0x1000u) & ~uint32_t{0x1fff});
}

struct Shape {
  uint64_t m, n, k;
};
// Whether the layouts fit each other.
bool shape_of(const FakeProduct& product, const FakeLayout& a, const FakeLayout& b, const FakeLayout& d, Shape& to) {
  const bool ta = product.get<int32_t>(Lt::kTransposeA, 0) == Lt::kTransposed,
             tb = product.get<int32_t>(Lt::kTransposeB, 0) == Lt::kTransposed;
  to = {ta ? a.columns : a.rows, tb ? b.rows : b.columns, ta ? a.rows : a.columns};
  const auto fits = [](const FakeLayout& one) { return one.leading >= static_cast<int64_t>(one.rows); };
  return (tb ? b.columns : b.rows) == to.k && d.rows == to.m && d.columns == to.n && fits(a) && fits(b) && fits(d) &&
         a.batches() == d.batches() && b.batches() == d.batches();
}

// Numbers that the environment gives, separated by commas.
std::vector<long> numbers_in(const char* variable) {
  std::vector<long> made;
  const char* text = std::getenv(variable);
  while (text && *text) {
    char* end = nullptr;
    made.push_back(std::strtol(text, &end, 10));
    text = *end == ',' ? end + 1 : nullptr;
  }
  return made;
}

uint64_t& splits_of(LtAlgorithm& algorithm) { return algorithm.data[0]; }
uint64_t& id_of(LtAlgorithm& algorithm) { return algorithm.data[1]; }
uint64_t& tile_of(LtAlgorithm& algorithm) { return algorithm.data[2]; }
uint64_t& cluster_of(LtAlgorithm& algorithm) { return algorithm.data[3]; }
constexpr uint64_t kTile = 20, kCluster = 2;  // of all of them
size_t workspace_of(uint64_t id) { return id == 3 ? 2048 : 1024; }

// The places along the inner dimension in the order in which an algorithm adds.
int64_t place_of(uint64_t id, int64_t i, int64_t depth) {
  const int64_t half = (depth + 1) / 2;
  switch (id) {
    case 1: return i;
    case 2: return depth - 1 - i;
    case 3: return i < half ? 2 * i : 2 * (i - half) + 1;
    default: return i % 2 == 0 ? i / 2 : depth - 1 - i / 2;
  }
}

bool is_there(uint64_t id, bool has_bias) {
  const std::vector<long> without = numbers_in("STAND_IN_LT_WITHOUT");
  return id >= 1 && id <= (has_bias ? 3 : 4) && (without.empty() || without[0] != static_cast<long>(id));
}

bool adds_bias(const FakeProduct& product) {
  return (product.get<uint32_t>(Lt::kEpilogue, Lt::kNoEpilogue) & Lt::kBias) != 0;
}

float gelu(float x) { return 0.5f * x * (1 + std::tanh(0.79788456f * (x + 0.044715f * x * x * x))); }
float gelu_slope(float x) {
  const float t = std::tanh(0.79788456f * (x + 0.044715f * x * x * x));
  return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * 0.79788456f * (1 + 3 * 0.044715f * x * x);
}

void take_time(uint64_t id) {
  const std::vector<long> all = numbers_in("STAND_IN_LT_US");
  if (id > all.size()) return;
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(all[id - 1]);
  while (std::chrono::steady_clock::now() < end) continue;
}

}  // namespace

extern "C" {

int cublasLtCreate(LtHandle* handle) {
  *handle = reinterpret_cast<LtHandle>(uintptr_t{1});
  return 0;
}
size_t cublasLtGetVersion() {
  const std::vector<long> told = numbers_in("STAND_IN_LT_VERSION");
  return told.empty() ? 130000 : static_cast<size_t>(told[0]);
}
int cublasLtMatmulDescCreate(LtProduct* product, int compute, int scale) {
  if ((compute != Lt::kComputeF32 && compute != Lt::kComputeTf32) || scale != Lt::kF32) return kNotSupported;
  auto* made = new FakeProduct;
  made->tf32 = compute == Lt::kComputeTf32;
  *product = reinterpret_cast<LtProduct>(made);
  return 0;
}
int cublasLtMatmulDescDestroy(LtProduct product) {
  delete of<FakeProduct>(product);
  return 0;
}
int cublasLtMatmulDescSetAttribute(LtProduct product, int attribute, const void* value, size_t bytes) {
  return of<FakeProduct>(product)->set(attribute, value, bytes);
}
int cublasLtMatrixLayoutCreate(LtLayout* layout, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  auto* made = new FakeLayout;
  made->type = type;
  made->rows = rows;
  made->columns = columns;
  made->leading = leading;
  *layout = reinterpret_cast<LtLayout>(made);
  return 0;
}
int cublasLtMatrixLayoutDestroy(LtLayout layout) {
  delete of<FakeLayout>(layout);
  return 0;
}
int cublasLtMatrixLayoutSetAttribute(LtLayout layout, int attribute, const void* value, size_t bytes) {
  return of<FakeLayout>(layout)->set(attribute, value, bytes);
}
int cublasLtMatmulPreferenceCreate(LtPreference* preference) {
  *preference = reinterpret_cast<LtPreference>(new FakePreference);
  return 0;
}
int cublasLtMatmulPreferenceDestroy(LtPreference preference) {
  delete of<FakePreference>(preference);
  return 0;
}
int cublasLtMatmulPreferenceSetAttribute(LtPreference preference, int attribute, const void* value, size_t bytes) {
  return of<FakePreference>(preference)->set(attribute, value, bytes);
}

// The first one splits the sums although nobody wants that, as libraries do.
int cublasLtMatmulAlgoGetHeuristic(LtHandle, LtProduct product, LtLayout a, LtLayout b, LtLayout, LtLayout d,
                                   LtPreference preference, int most, LtProposal* proposals, int* count) {
  Shape shape;
  *count = 0;
  if (!shape_of(*of<FakeProduct>(product), *of<FakeLayout>(a), *of<FakeLayout>(b), *of<FakeLayout>(d), shape))
    return kInvalid;
  const FakePreference& wanted = *of<FakePreference>(preference);
  if (wanted.get<uint32_t>(Lt::kReductions, 7) != Lt::kNoReduction) return kInvalid;
  if (of<FakeLayout>(a)->type != Lt::kF32 && wanted.get<uint32_t>(Lt::kAlignmentA, 256) < 16) return kNotSupported;
  const bool has_bias = adds_bias(*of<FakeProduct>(product));
  const auto add = [&](uint64_t id, uint64_t splits) {
    if (*count == most || !is_there(id, has_bias)) return;
    LtProposal& made = proposals[(*count)++];
    made = {};
    id_of(made.algorithm) = id;
    splits_of(made.algorithm) = splits;
    tile_of(made.algorithm) = kTile;
    cluster_of(made.algorithm) = kCluster;
    made.workspace_bytes = splits > 1 ? 0 : workspace_of(id);
  };
  add(1, 2);
  if (has_bias) add(2, 1);
  add(1, 1);
  if (!has_bias) add(2, 1);
  if (of<FakeLayout>(a)->type == of<FakeLayout>(d)->type) add(3, 1);
  add(4, 1);
  return 0;
}
int cublasLtMatmulAlgoInit(LtHandle, int compute, int scale, int, int, int, int, int id, LtAlgorithm* algorithm) {
  if ((compute != Lt::kComputeF32 && compute != Lt::kComputeTf32) || scale != Lt::kF32 || id < 1 || id > 4)
    return kNotSupported;
  *algorithm = {};
  id_of(*algorithm) = static_cast<uint64_t>(id);
  splits_of(*algorithm) = 1;
  return 0;
}
int cublasLtMatmulAlgoConfigSetAttribute(LtAlgorithm* algorithm, int attribute, const void* value, size_t bytes) {
  uint32_t number = 0;
  if (bytes > sizeof number) return kInvalid;
  std::memcpy(&number, value, bytes);
  if (attribute == Lt::kTile && bytes == 4)
    tile_of(*algorithm) = number;
  else if (attribute == Lt::kClusterShape && bytes == 2)
    cluster_of(*algorithm) = number;
  else
    return kInvalid;
  return 0;
}
int cublasLtMatmulAlgoCheck(LtHandle, LtProduct product, LtLayout a, LtLayout b, LtLayout, LtLayout d,
                            const LtAlgorithm* algorithm, LtProposal* result) {
  Shape shape;
  LtAlgorithm asked = *algorithm;
  const FakeProduct& of_product = *of<FakeProduct>(product);
  if (!shape_of(of_product, *of<FakeLayout>(a), *of<FakeLayout>(b), *of<FakeLayout>(d), shape)) return kInvalid;
  const bool has_bias = adds_bias(of_product);
  if (!is_there(id_of(asked), has_bias) || tile_of(asked) != kTile || cluster_of(asked) != kCluster)
    return kNotSupported;
  result->workspace_bytes = workspace_of(id_of(asked));
  result->status = 0;
  return 0;
}
int cublasLtMatmulAlgoConfigGetAttribute(const LtAlgorithm* algorithm, int attribute, void* value, size_t bytes,
                                         size_t* written) {
  const bool is_short = attribute == Lt::kInnerShape || attribute == Lt::kClusterShape;
  if (attribute < Lt::kId || attribute > Lt::kClusterShape || bytes != (is_short ? 2 : 4)) return kInvalid;
  LtAlgorithm asked = *algorithm;
  uint32_t number = 0;
  if (attribute == Lt::kId) number = static_cast<uint32_t>(id_of(asked));
  if (attribute == Lt::kTile) number = static_cast<uint32_t>(tile_of(asked));
  if (attribute == Lt::kSplits) number = static_cast<uint32_t>(splits_of(asked));
  if (attribute == Lt::kClusterShape) number = static_cast<uint32_t>(cluster_of(asked));
  const auto half = static_cast<uint16_t>(number);
  is_short ? std::memcpy(value, &half, 2) : std::memcpy(value, &number, 4);
  *written = bytes;
  return 0;
}

int cublasLtMatmul(LtHandle, LtProduct desc, const void* alpha, const void* a, LtLayout layout_a, const void* b,
                   LtLayout layout_b, const void* beta, const void* c, LtLayout layout_c, void* d, LtLayout layout_d,
                   const LtAlgorithm* algorithm, void* workspace, size_t workspace_bytes, Stream) {
  const FakeProduct& product = *of<FakeProduct>(desc);
  const FakeLayout &la = *of<FakeLayout>(layout_a), &lb = *of<FakeLayout>(layout_b), &lc = *of<FakeLayout>(layout_c),
                   &ld = *of<FakeLayout>(layout_d);
  Shape shape;
  LtAlgorithm chosen = *algorithm;
  const uint64_t id = id_of(chosen);
  if (!shape_of(product, la, lb, ld, shape) || splits_of(chosen) != 1 || id < 1 || id > 4) return kInvalid;
  if (workspace_bytes < workspace_of(id) || !workspace || reinterpret_cast<uintptr_t>(workspace) % 256 != 0)
    return kInvalid;
  std::memset(workspace, 0xAB, workspace_bytes);
  const bool ta = product.get<int32_t>(Lt::kTransposeA, 0) == Lt::kTransposed,
             tb = product.get<int32_t>(Lt::kTransposeB, 0) == Lt::kTransposed;
  const bool has_bias = adds_bias(product);
  const auto epilogue = product.get<uint32_t>(Lt::kEpilogue, Lt::kNoEpilogue);
  const bool by_slope = epilogue == Lt::kGeluSlope, is_gelu = !by_slope && (epilogue & Lt::kGelu) != 0;
  auto* aux = epilogue & Lt::kAux ? product.get<void*>(Lt::kAuxPointer, nullptr) : nullptr;
  const auto aux_leading = product.get<int64_t>(Lt::kAuxLeading, 0),
             aux_stride = product.get<int64_t>(Lt::kAuxBatchStride, 0);
  if ((epilogue & Lt::kAux) && (!aux || aux_leading < ld.leading || reinterpret_cast<uintptr_t>(aux) % 16 != 0))
    return kInvalid;
  const auto* bias = product.get<const void*>(Lt::kBiasPointer, nullptr);
  const int bias_type = product.get<int32_t>(Lt::kBiasType, ld.type);
  if (has_bias && bias_type != ld.type) return kNotSupported;
  const std::vector<long> refused = numbers_in("STAND_IN_LT_REFUSES");
  if (!refused.empty() && refused[0] == static_cast<long>(id)) return kNotSupported;
  take_time(id);
  const float scale = *static_cast<const float*>(alpha), add = *static_cast<const float*>(beta);
  for (int64_t batch = 0; batch < ld.batches(); ++batch) {
    for (int64_t column = 0; column < static_cast<int64_t>(shape.n); ++column) {
      for (int64_t row = 0; row < static_cast<int64_t>(shape.m); ++row) {
        float sum = 0;
        for (int64_t i = 0; i < static_cast<int64_t>(shape.k); ++i) {
          const int64_t k = place_of(id, i, static_cast<int64_t>(shape.k));
          const int64_t at_a = batch * la.stride() + (ta ? k + row * la.leading : row + k * la.leading),
                        at_b = batch * lb.stride() + (tb ? column + k * lb.leading : k + column * lb.leading);
          const float x = read(a, la.type, at_a), y = read(b, lb.type, at_b);
          sum += product.tf32 ? as_tf32(x) * as_tf32(y) : x * y;
        }
        sum *= scale;
        const int64_t at = batch * ld.stride() + row + column * ld.leading;
        if (add != 0) sum += add * read(c, lc.type, at);
        if (has_bias) sum += read(bias, bias_type, row);
        const int64_t at_aux = batch * aux_stride + row + column * aux_leading;
        if (is_gelu && aux) write(aux, ld.type, at_aux, sum);
        if (is_gelu) sum = gelu(sum);
        if (by_slope) sum *= gelu_slope(read(aux, ld.type, at_aux));
        write(d, ld.type, at, sum);
      }
    }
  }
  return 0;
}

}  // extern "C"

static_assert(std::is_same_v<decltype(&cublasLtMatmul), decltype(ProductApi::multiply)>);
static_assert(std::is_same_v<decltype(&cublasLtMatmulAlgoGetHeuristic), decltype(ProductApi::propose)>);
static_assert(std::is_same_v<decltype(&cublasLtMatmulAlgoInit), decltype(ProductApi::init_algorithm)>);
static_assert(std::is_same_v<decltype(&cublasLtMatmulAlgoCheck), decltype(ProductApi::check_algorithm)>);
