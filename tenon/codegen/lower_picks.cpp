// Sums of a row in which all but one element are 0: the one whose position a value of the row names, as the logit of
// the target in a loss. It is looked up instead of being compared with every element.
//
// What is added up is 0 everywhere else, so the sum is that element, bit for bit, or 0 where the position is outside of
// the row.

#include <algorithm>
#include <set>

#include "tenon/codegen/lowering.h"

namespace tenon::codegen {

using ir::Instr;

bool counts_elements(const ir::LoopNest& nest, const Instr& instr, int64_t& first) {
  if (instr.kind != Instr::Kind::ramp || instr.per_row || !instr.map.is_strided()) return false;
  const ir::View& view = instr.map.views()[0];
  for (size_t i = 0; i + 1 < view.shape.size(); ++i) {
    if (view.shape[i] != 1 && view.strides[i] != 0) return false;
  }
  first = view.offset;
  return nest.row_rank + 1 == nest.space.size() && !view.strides.empty() && view.strides.back() == 1;
}

namespace {

// All that an element's value is made of, in the nest's order; nothing where a part of it may not be left out.
std::optional<std::vector<uint32_t>> parts_of(const ir::LoopNest& nest, uint32_t value) {
  std::set<uint32_t> found, open{value};
  while (!open.empty()) {
    const uint32_t i = *open.begin();
    open.erase(open.begin());
    const Instr& instr = nest.code[i];
    if (instr.per_row || instr.kind == Instr::Kind::number || !found.insert(i).second) continue;
    const bool is_of_one_element =
        instr.kind == Instr::Kind::load || instr.kind == Instr::Kind::apply || instr.kind == Instr::Kind::ramp;
    if (!is_of_one_element) return std::nullopt;
    if (instr.per_column) return std::nullopt;
    open.insert(instr.args.begin(), instr.args.end());
  }
  return std::vector<uint32_t>(found.begin(), found.end());
}

}  // namespace

std::optional<Lowering::Pick> Lowering::pick_of(uint32_t fold) const {
  const Instr& sum = nest_.code[fold];
  if (sum.op != ir::Op::sum) return std::nullopt;
  const Instr& chosen = nest_.code[sum.args[0]];
  if (chosen.kind != Instr::Kind::apply || chosen.op != ir::Op::where || chosen.per_row) return std::nullopt;
  const Instr& zero = nest_.code[chosen.args[2]];
  const std::optional<Hit> hit = hit_of(chosen.args[0]);
  if (!hit || zero.kind != Instr::Kind::number || zero.bits != 0) return std::nullopt;
  const auto parts = parts_of(nest_, chosen.args[1]);
  if (!parts) return std::nullopt;
  return Pick{.fold = fold, .value = chosen.args[1], .index = hit->index, .first = hit->first, .code = *parts};
}

std::optional<Lowering::Hit> Lowering::hit_of(uint32_t i) const {
  const Instr& instr = nest_.code[i];
  if (instr.kind != Instr::Kind::apply || instr.op != ir::Op::equal) return std::nullopt;
  for (const auto& [position, index] :
       {std::pair{instr.args[0], instr.args[1]}, std::pair{instr.args[1], instr.args[0]}}) {
    const DType dtype = nest_.code[index].dtype;
    Hit made{i, index};
    if (!nest_.code[index].per_row || (dtype != DType::i64 && dtype != DType::i32)) continue;
    if (counts_elements(nest_, nest_.code[position], made.first)) return made;
  }
  return std::nullopt;
}

// Takes such sums out of their stages, with all that is done for their sake alone.
void Lowering::pick_elements() {
  for (uint32_t number = 0; number < stages_.stages.size(); ++number) {
    Stage& stage = stages_.stages[number];
    std::vector<uint32_t> kept_folds;
    for (const uint32_t fold : stage.row_folds) {
      if (const auto pick = pick_of(fold))
        picks_[number].push_back(*pick);
      else
        kept_folds.push_back(fold);
    }
    if (kept_folds.size() == stage.row_folds.size()) continue;
    stage.row_folds = kept_folds;
    std::set<uint32_t> read;
    const auto is_left = [&](uint32_t i) {
      const bool is_target = is_store(nest_.code[i]) || (is_fold(nest_.code[i]) && nest_.code[i].per_column);
      const bool is_kept =
          is_target || read.contains(i) || std::find(kept_folds.begin(), kept_folds.end(), i) != kept_folds.end();
      if (is_kept) read.insert(nest_.code[i].args.begin(), nest_.code[i].args.end());
      return is_kept;
    };
    std::vector<uint32_t> left;
    for (auto i = stage.per_element.rbegin(); i != stage.per_element.rend(); ++i) {
      if (is_left(*i)) left.insert(left.begin(), *i);
    }
    stage.per_element = left;
  }
  if (picks_.empty()) return;
  // What a stage no longer does may be done for the first time in a later one.
  std::set<uint32_t> done;
  for (uint32_t number = 0; number < stages_.stages.size(); ++number) {
    Stage& stage = stages_.stages[number];
    stage.first_time.clear();
    for (const uint32_t i : stage.per_element) {
      if (!done.insert(i).second) continue;
      stage.first_time.push_back(i);
      stages_.values[i].made = number;
    }
  }
}

void Lowering::write_picks(Writing& to, uint32_t stage) {
  const auto found = picks_.find(stage);
  if (found == picks_.end()) return;
  for (const Pick& pick : found->second) {
    const Instr& sum = nest_.code[pick.fold];
    const Id index = to.value(pick.index, 0);
    const Scalar type = to.b.type_of(index), plain = type == Scalar::i64 ? Scalar::u64 : Scalar::u32;
    const Id place = to.b.sub(to.b.bitcast(index, plain), to.b.whole(plain, pick.first));
    const Id is_there = to.b.less(place, to.b.whole(plain, size_));
    const Place before = to.place;
    const std::vector<std::vector<Id>> known = to.known;
    to.place.element = {{to.w.index(to.b.select(is_there, place, to.b.whole(plain, 0)))}};
    to.place.is_run = false;
    for (const uint32_t i : pick.code) to.known[i] = to.w.values(i, to.place, to.operands());
    const Id nothing = identity_of(to.b, sum.op, sum.dtype);
    const Id value = join(to.b, sum.op, sum.dtype, nothing, to.value(pick.value, 0));
    to.place = before;
    to.known = known;
    to.known[pick.fold] = {rounded(to.b, sum.dtype, to.b.select(is_there, value, nothing))};
  }
}

}  // namespace tenon::codegen
