// A cuDNN for tests: convolutions of tensors in memory of the host, as the descriptors say and no faster. The stream is
// not looked at: whoever tests it has nothing under way.
//
// There are five engines. 12 is proposed first and may give other bits each time. 10 has one setting, 2 = 3, needs
// memory and rounds operands of f32 to tf32. 11 has no setting and sums backwards. 13 transforms its operands. 14 is
// not proposed. As in the real one there are no sums in f32 of 16-bit numbers. The environment says more:
//
//   STAND_IN_DNN_WITHOUT=10,11   which ones are not there

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "tenon/backends/cuda/api.h"
#include "tenon/base/half.h"

namespace {

using namespace tenon::backends::cuda;

constexpr int kBadParameter = 2000, kNotFinished = 2004, kNotSupported = 3000;

struct Object {
  int kind = 0;
  bool is_finished = false;
  std::map<int, std::vector<unsigned char>> values;
  std::map<int, std::vector<std::shared_ptr<Object>>> objects;

  template <typename T>
  std::vector<T> all(int attribute) const {
    const auto found = values.find(attribute);
    std::vector<T> made(found == values.end() ? 0 : found->second.size() / sizeof(T));
    if (!made.empty()) std::memcpy(made.data(), found->second.data(), made.size() * sizeof(T));
    return made;
  }
  template <typename T>
  T one(int attribute) const {
    const std::vector<T> made = all<T>(attribute);
    return made.empty() ? T{} : made[0];
  }
  const Object& object(int attribute) const { return *objects.at(attribute).at(0); }
  bool has(int attribute) const { return values.contains(attribute) || objects.contains(attribute); }
};

std::map<void*, std::shared_ptr<Object>>& world() {
  static auto& all = *new std::map<void*, std::shared_ptr<Object>>;
  return all;
}

std::shared_ptr<Object> made(int kind) {
  auto object = std::make_shared<Object>();
  object->kind = kind;
  world().emplace(object.get(), object);
  return object;
}

size_t size_of_type(int type) {
  switch (type) {
    case Dnn::kTypeBool: return 1;
    case Dnn::kTypeHandle:
    case Dnn::kTypeInt64:
    case Dnn::kTypePointer: return 8;
    default: return 4;
  }
}

template <typename T>
void put(Object& object, int attribute, const T& value) {
  const auto* from = reinterpret_cast<const unsigned char*>(&value);
  object.values[attribute] = {from, from + sizeof value};
}

bool is_named(const char* variable, int64_t number) {
  const char* text = std::getenv(variable);
  while (text && *text) {
    char* end = nullptr;
    if (std::strtol(text, &end, 10) == number) return true;
    text = *end == ',' ? end + 1 : nullptr;
  }
  return false;
}

bool is_engine(int64_t number) { return number >= 10 && number <= 14 && !is_named("STAND_IN_DNN_WITHOUT", number); }

std::vector<int> notes_of(int64_t engine) {
  switch (engine) {
    case 10: return {Dnn::kTensorCores};
    case 12: return {Dnn::kTensorCores, Dnn::kNondeterministic};
    case 13: return {Dnn::kWinograd};
    default: return {};
  }
}

// What differs between the three sides.
struct Sides {
  int convolution, x, w, y;
};
Sides sides_of(const Object& operation) {
  switch (operation.kind) {
    case Dnn::kForward: return {Dnn::kForwardConvolution, Dnn::kForwardX, Dnn::kForwardW, Dnn::kForwardY};
    case Dnn::kBackwardImages: return {Dnn::kImagesConvolution, Dnn::kImagesX, Dnn::kImagesW, Dnn::kImagesY};
    default: return {Dnn::kWeightsConvolution, Dnn::kWeightsX, Dnn::kWeightsW, Dnn::kWeightsY};
  }
}

struct Problem {
  const Object &x, &w, &y, &convolution;
  std::vector<int64_t> xs, ws, ys, stride, dilation, before, after;

  explicit Problem(const Object& operation)
      : x(operation.object(sides_of(operation).x)),
        w(operation.object(sides_of(operation).w)),
        y(operation.object(sides_of(operation).y)),
        convolution(operation.object(sides_of(operation).convolution)),
        xs(x.all<int64_t>(Dnn::kTensorSizes)),
        ws(w.all<int64_t>(Dnn::kTensorSizes)),
        ys(y.all<int64_t>(Dnn::kTensorSizes)),
        stride(convolution.all<int64_t>(Dnn::kStrides)),
        dilation(convolution.all<int64_t>(Dnn::kDilations)),
        before(convolution.all<int64_t>(Dnn::kPaddingBefore)),
        after(convolution.all<int64_t>(Dnn::kPaddingAfter)) {}

  bool fits() const {
    if (xs.size() != 4 || ws.size() != 4 || ys.size() != 4 || convolution.one<int64_t>(Dnn::kSpatialAxes) != 2)
      return false;
    if (ws[1] == 0 || xs[1] % ws[1] != 0 || ws[0] % (xs[1] / ws[1]) != 0 || xs[0] != ys[0] || ws[0] != ys[1])
      return false;
    for (size_t i = 0; i < 2; ++i) {
      const int64_t all = xs[i + 2] + before[i] + after[i], reach = dilation[i] * (ws[i + 2] - 1) + 1;
      if (all < reach || (all - reach) / stride[i] + 1 != ys[i + 2]) return false;
    }
    return true;
  }
};

float read(const void* memory, int type, int64_t at) {
  if (type == Dnn::kF32) return static_cast<const float*>(memory)[at];
  const uint16_t bits = static_cast<const uint16_t*>(memory)[at];
  return static_cast<float>(type == Dnn::kF16 ? tenon::base::f16_to_double(bits) : tenon::base::bf16_to_double(bits));
}
void write(void* memory, int type, int64_t at, float value) {
  if (type == Dnn::kF32)
    static_cast<float*>(memory)[at] = value;
  else
    static_cast<uint16_t*>(memory)[at] =
        type == Dnn::kF16 ? tenon::base::double_to_f16(value) : tenon::base::double_to_bf16(value);
}

// The nearest number with 10 bits of mantissa, away from 0 where two are as near.
float as_tf32(float x) {
  if (!std::isfinite(x)) return x;
  return std::bit_cast<float>((std::bit_cast<uint32_t>(x) + 0x1000u) & ~uint32_t{0x1fff});
}

void convolve(const Object& operation, int64_t engine, void* x, void* w, void* y) {
  const Problem p(operation);
  const auto xt = p.x.one<int>(Dnn::kTensorType), wt = p.w.one<int>(Dnn::kTensorType),
             yt = p.y.one<int>(Dnn::kTensorType);
  const auto xs = p.x.all<int64_t>(Dnn::kTensorStrides), ws = p.w.all<int64_t>(Dnn::kTensorStrides),
             ys = p.y.all<int64_t>(Dnn::kTensorStrides);
  const auto place = [](const std::vector<int64_t>& strides, int64_t a, int64_t b, int64_t c, int64_t d) {
    return static_cast<size_t>(a * strides[0] + b * strides[1] + c * strides[2] + d * strides[3]);
  };
  const bool makes_x = operation.kind == Dnn::kBackwardImages, makes_w = operation.kind == Dnn::kBackwardWeights;
  const auto& of = makes_x ? p.xs : makes_w ? p.ws : p.ys;
  std::vector<std::vector<float>> terms(static_cast<size_t>(of[0] * of[1] * of[2] * of[3]));
  const auto number = [&](const void* memory, int type, size_t at) {
    const float value = read(memory, type, static_cast<int64_t>(at));
    return engine == 10 && type == Dnn::kF32 ? as_tf32(value) : value;
  };
  const int64_t groups = p.xs[1] / p.ws[1], of_group = p.ws[0] / groups;
  for (int64_t n = 0; n < p.ys[0]; ++n) {
    for (int64_t o = 0; o < p.ws[0]; ++o) {
      for (int64_t c = 0; c < p.ws[1]; ++c) {
        for (int64_t i = 0; i < p.ys[2]; ++i) {
          for (int64_t j = 0; j < p.ys[3]; ++j) {
            for (int64_t k = 0; k < p.ws[2]; ++k) {
              for (int64_t l = 0; l < p.ws[3]; ++l) {
                const int64_t row = i * p.stride[0] + k * p.dilation[0] - p.before[0],
                              column = j * p.stride[1] + l * p.dilation[1] - p.before[1];
                if (row < 0 || row >= p.xs[2] || column < 0 || column >= p.xs[3]) continue;
                const size_t at_x = place(xs, n, o / of_group * p.ws[1] + c, row, column), at_w = place(ws, o, c, k, l),
                             at_y = place(ys, n, o, i, j);
                if (makes_x)
                  terms[at_x].push_back(number(y, yt, at_y) * number(w, wt, at_w));
                else if (makes_w)
                  terms[at_w].push_back(number(x, xt, at_x) * number(y, yt, at_y));
                else
                  terms[at_y].push_back(number(x, xt, at_x) * number(w, wt, at_w));
              }
            }
          }
        }
      }
    }
  }
  void* to = makes_x ? x : makes_w ? w : y;
  const int type = makes_x ? xt : makes_w ? wt : yt;
  for (size_t i = 0; i < terms.size(); ++i) {
    float sum = 0;
    for (size_t k = 0; k < terms[i].size(); ++k) sum += terms[i][engine == 11 ? terms[i].size() - 1 - k : k];
    write(to, type, static_cast<int64_t>(i), sum);
  }
}

std::vector<int64_t> proposals(int mode) {
  const std::vector<int64_t> all = mode == Dnn::kBest ? std::vector<int64_t>{12, 10, 13} : std::vector<int64_t>{11, 12};
  std::vector<int64_t> there;
  for (const int64_t engine : all) {
    if (is_engine(engine)) there.push_back(engine);
  }
  return there;
}

void fill_engine(Object& engine, int64_t number, const std::shared_ptr<Object>& graph) {
  engine.kind = Dnn::kEngine;
  put(engine, Dnn::kEngineNumber, number);
  engine.objects[Dnn::kEngineGraph] = {graph};
  engine.is_finished = true;
}

}  // namespace

extern "C" {

size_t cudnnGetVersion() { return 91900; }
int cudnnCreate(DnnHandle* handle) {
  *handle = reinterpret_cast<DnnHandle>(uintptr_t{1});
  return 0;
}
int cudnnSetStream(DnnHandle, Stream) { return 0; }
void cudnnGetLastErrorString(char* text, size_t bytes) { std::strncpy(text, "the stand-in says no", bytes); }

int cudnnBackendCreateDescriptor(int kind, DnnDescriptor* descriptor) {
  *descriptor = made(kind).get();
  return 0;
}
int cudnnBackendDestroyDescriptor(DnnDescriptor descriptor) {
  return world().erase(descriptor) == 1 ? 0 : kBadParameter;
}

int cudnnBackendSetAttribute(DnnDescriptor descriptor, int attribute, int type, int64_t count, const void* values) {
  const auto found = world().find(descriptor);
  if (found == world().end() || found->second->is_finished || count < 1) return kBadParameter;
  if (type == Dnn::kTypeDescriptor) {
    for (int64_t i = 0; i < count; ++i) {
      const auto part = world().find(static_cast<DnnDescriptor const*>(values)[i]);
      if (part == world().end() || !part->second->is_finished) return kNotFinished;
      found->second->objects[attribute].push_back(part->second);
    }
    return 0;
  }
  const auto* from = static_cast<const unsigned char*>(values);
  found->second->values[attribute] = {from, from + static_cast<size_t>(count) * size_of_type(type)};
  return 0;
}

int cudnnBackendFinalize(DnnDescriptor descriptor) {
  const auto found = world().find(descriptor);
  if (found == world().end() || found->second->is_finished) return kBadParameter;
  Object& object = *found->second;
  switch (object.kind) {
    case Dnn::kTensor:
      if (object.all<int64_t>(Dnn::kTensorSizes).size() != object.all<int64_t>(Dnn::kTensorStrides).size())
        return kBadParameter;
      break;
    case Dnn::kForward:
    case Dnn::kBackwardImages:
    case Dnn::kBackwardWeights: {
      const Problem problem(object);
      if (!problem.fits()) return kBadParameter;
      break;
    }
    case Dnn::kEngine:
      if (!is_engine(object.one<int64_t>(Dnn::kEngineNumber))) return kNotSupported;
      break;
    case Dnn::kConfig: {
      const int64_t engine = object.object(Dnn::kConfigEngine).one<int64_t>(Dnn::kEngineNumber);
      const auto knobs = object.objects.find(Dnn::kConfigKnobs);
      if ((knobs != object.objects.end()) != (engine == 10)) return kNotSupported;
      if (engine == 10 && (knobs->second.size() != 1 || knobs->second[0]->one<int64_t>(Dnn::kKnobValue) != 3 ||
                           knobs->second[0]->one<int>(Dnn::kKnobType) != 2))
        return kNotSupported;
      break;
    }
    case Dnn::kPlan: {
      const Object& graph = object.object(Dnn::kPlanConfig).object(Dnn::kConfigEngine).object(Dnn::kEngineGraph);
      const Problem problem(graph.object(Dnn::kGraphOperations));
      const int x = problem.x.one<int>(Dnn::kTensorType);
      if (problem.w.one<int>(Dnn::kTensorType) != x || problem.y.one<int>(Dnn::kTensorType) != x) return kNotSupported;
      break;
    }
    default: break;
  }
  object.is_finished = true;
  return 0;
}

int cudnnBackendGetAttribute(DnnDescriptor descriptor, int attribute, int type, int64_t most, int64_t* count,
                             void* values) {
  const auto found = world().find(descriptor);
  if (found == world().end()) return kBadParameter;
  Object& object = *found->second;
  if (!object.is_finished) return kNotFinished;
  const auto target = [&](int64_t i) -> Object& { return *world().at(static_cast<DnnDescriptor*>(values)[i]); };
  if (attribute == Dnn::kHeuristicResults) {
    const std::vector<int64_t> all = proposals(object.one<int>(Dnn::kHeuristicMode));
    *count = static_cast<int64_t>(all.size());
    for (int64_t i = 0; i < std::min(*count, most); ++i) {
      Object& config = target(i);
      auto engine = std::make_shared<Object>();
      fill_engine(*engine, all[static_cast<size_t>(i)], object.objects.at(Dnn::kHeuristicGraph)[0]);
      config.objects[Dnn::kConfigEngine] = {engine};
      if (all[static_cast<size_t>(i)] == 10) {
        auto knob = std::make_shared<Object>();
        put(*knob, Dnn::kKnobType, int{2});
        put(*knob, Dnn::kKnobValue, int64_t{3});
        knob->is_finished = true;
        config.objects[Dnn::kConfigKnobs] = {knob};
      }
      config.is_finished = true;
    }
    return 0;
  }
  if (attribute == Dnn::kEngineNotes) {
    const std::vector<int> notes = notes_of(object.one<int64_t>(Dnn::kEngineNumber));
    *count = static_cast<int64_t>(notes.size());
    std::memcpy(values, notes.data(), notes.size() * sizeof(int));
    return 0;
  }
  if (attribute == Dnn::kPlanWorkspace) {
    const Object& engine = object.object(Dnn::kPlanConfig).object(Dnn::kConfigEngine);
    const int64_t bytes = engine.one<int64_t>(Dnn::kEngineNumber) == 10 ? 4096 : 0;
    *count = 1;
    std::memcpy(values, &bytes, sizeof bytes);
    return 0;
  }
  if (type == Dnn::kTypeDescriptor) {
    const auto parts = object.objects.find(attribute);
    *count = parts == object.objects.end() ? 0 : static_cast<int64_t>(parts->second.size());
    for (int64_t i = 0; i < std::min(*count, most); ++i) {
      const int kind = target(i).kind;
      target(i) = *parts->second[static_cast<size_t>(i)];
      target(i).kind = kind;
    }
    return 0;
  }
  if (!object.has(attribute)) return kBadParameter;
  const std::vector<unsigned char>& bytes = object.values.at(attribute);
  *count = static_cast<int64_t>(bytes.size() / size_of_type(type));
  std::memcpy(values, bytes.data(), bytes.size());
  return 0;
}

int cudnnBackendExecute(DnnHandle, DnnDescriptor plan, DnnDescriptor pack) {
  const Object &run = *world().at(plan), &on = *world().at(pack);
  const Object& engine = run.object(Dnn::kPlanConfig).object(Dnn::kConfigEngine);
  const auto number = engine.one<int64_t>(Dnn::kEngineNumber);
  if (number == 10) {
    void* workspace = on.one<void*>(Dnn::kPackWorkspace);
    if (!workspace || reinterpret_cast<uintptr_t>(workspace) % 256 != 0) return kBadParameter;
    std::memset(workspace, 0x77, 4096);
  }
  const std::vector<int64_t> ids = on.all<int64_t>(Dnn::kPackIds);
  const std::vector<void*> pointers = on.all<void*>(Dnn::kPackPointers);
  const Object& operation = engine.object(Dnn::kEngineGraph).object(Dnn::kGraphOperations);
  const auto memory = [&](const Object& tensor) -> void* {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == tensor.one<int64_t>(Dnn::kTensorId)) return pointers[i];
    }
    return nullptr;
  };
  const Problem problem(operation);
  void *x = memory(problem.x), *w = memory(problem.w), *y = memory(problem.y);
  if (!x || !w || !y) return kBadParameter;
  convolve(operation, number, x, w, y);
  return 0;
}

}  // extern "C"
