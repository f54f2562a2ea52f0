// What the types refer to is declared before all other types: a type that was declared later moves there.

#include "tenon/render/matrix_types.h"

#include <algorithm>
#include <map>
#include <span>

namespace tenon::render {
namespace {

constexpr uint32_t kHeader = 5, kBound = 3;  // words; the one that says how many identifiers there are
constexpr uint32_t kTypeVoid = 19, kTypeInt = 21, kTypeFloat = 22, kConstant = 43, kTypeCooperativeMatrix = 4456;
constexpr uint32_t kBfloat16 = 0;  // an encoding of SPV_KHR_bfloat16

using Words = std::vector<uint32_t>;
using Instruction = std::span<const uint32_t>;

uint32_t op_of(Instruction one) { return one[0] & 0xffff; }

std::vector<Instruction> instructions_of(const Words& module) {
  std::vector<Instruction> all;
  for (size_t at = kHeader; at < module.size();) {
    const size_t words = std::clamp<size_t>(module[at] >> 16, 1, module.size() - at);
    all.push_back(Instruction(module).subspan(at, words));
    at += words;
  }
  return all;
}

// A type of so many bits, unsigned where it is a whole number.
bool is_type(Instruction one, uint32_t op, uint32_t bits) {
  return op_of(one) == op && one[2] == bits && (op == kTypeFloat || one[3] == 0);
}

class Declared {
 public:
  Declared(std::span<const Instruction> module, uint32_t bound) : module_(module), bound_(bound) {}

  uint32_t type(uint32_t op, uint32_t bits, std::vector<uint32_t> rest) {
    const auto known = types_.find({op, bits});
    if (known != types_.end()) return known->second;
    const auto found =
        std::find_if(module_.begin(), module_.end(), [&](Instruction one) { return is_type(one, op, bits); });
    const uint32_t id = found == module_.end() ? bound_++ : (*found)[1];
    rest.insert(rest.begin(), {id, bits});
    declare(op, rest);
    return types_[{op, bits}] = id;
  }
  uint32_t constant(uint32_t value) {
    const auto known = constants_.find(value);
    if (known != constants_.end()) return known->second;
    const uint32_t of = type(kTypeInt, 32, {0}), id = bound_++;
    declare(kConstant, {{of, id, value}});
    return constants_[value] = id;
  }
  bool has(Instruction one) const {
    return (op_of(one) == kTypeInt || op_of(one) == kTypeFloat) &&
           std::any_of(types_.begin(), types_.end(), [&](const auto& type) { return type.second == one[1]; });
  }
  const Words& words() const { return words_; }
  uint32_t bound() const { return bound_; }

 private:
  void declare(uint32_t op, const std::vector<uint32_t>& operands) {
    words_.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | op);
    words_.insert(words_.end(), operands.begin(), operands.end());
  }

  std::span<const Instruction> module_;
  uint32_t bound_;
  Words words_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> types_;  // by op and bits
  std::map<uint32_t, uint32_t> constants_;                   // by value
};

// Of a matrix: the type of its numbers, then scope, rows, columns and use.
std::vector<uint32_t> operands_of(Instruction matrix, Declared& declared) {
  const uint32_t component = matrix[2];
  std::vector<uint32_t> made{matrix[1]};
  if (component == MatrixComponent::kF32)
    made.push_back(declared.type(kTypeFloat, 32, {}));
  else if (component == MatrixComponent::kF16)
    made.push_back(declared.type(kTypeFloat, 16, {}));
  else
    made.push_back(declared.type(kTypeFloat, 16, {kBfloat16}));
  for (const uint32_t number : matrix.subspan(3)) made.push_back(declared.constant(number));
  return made;
}

}  // namespace

std::vector<uint32_t> with_matrix_types(std::vector<uint32_t> module) {
  const std::vector<Instruction> all = instructions_of(module);
  Declared declared(all, module[kBound]);
  std::map<uint32_t, std::vector<uint32_t>> matrices;  // operands by identifier
  for (const Instruction one : all) {
    if (op_of(one) == kTypeCooperativeMatrix) matrices[one[1]] = operands_of(one, declared);
  }
  if (matrices.empty()) return module;
  Words made(module.begin(), module.begin() + kHeader);
  made[kBound] = declared.bound();
  for (const Instruction one : all) {
    if (op_of(one) == kTypeVoid) made.insert(made.end(), declared.words().begin(), declared.words().end());
    if (declared.has(one)) continue;
    if (op_of(one) != kTypeCooperativeMatrix) {
      made.insert(made.end(), one.begin(), one.end());
      continue;
    }
    const std::vector<uint32_t>& operands = matrices[one[1]];
    made.push_back(one[0]);
    made.insert(made.end(), operands.begin(), operands.end());
  }
  return made;
}

}  // namespace tenon::render
