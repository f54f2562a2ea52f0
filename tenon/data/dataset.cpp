#include "tenon/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tenon/base/error.h"
#include "tenon/base/hash.h"
#include "tenon/base/mapped.h"
#include "tenon/base/turn.h"
#include "tenon/data/host_bytes.h"
#include "tenon/data/permutation.h"
#include "tenon/tensor/creation.h"

namespace tenon::data {
namespace {

void require_inside(std::string_view what, int64_t i, int64_t size) {
  if (i < 0 || i >= size) base::fail(what, "there is no sample {}; there are {}", i, size);
}

/// Of a field, for messages: `tensor "label"` or `tensor 1`.
std::string shown_field(const Sample& sample, int64_t place) {
  const std::string& name = sample.fields()[static_cast<size_t>(place)].name;
  return name.empty() ? fmt::format("tensor {}", place) : fmt::format("tensor \"{}\"", name);
}

/// Of one row, or of so many.
Dims shape_of_rows(const Tensor& tensor, std::optional<int64_t> rows = {}) {
  Dims shape;
  if (rows) shape.push_back(*rows);
  for (int64_t dim = 1; dim < tensor.dim(); ++dim) shape.push_back(tensor.size(dim));
  return shape;
}

}  // namespace

void SharedDataset::require_one() const {
  if (!held_) base::fail("dataset", "the pointer to the dataset is null");
}

TensorDataset::TensorDataset(const Sample& tensors) {
  if (tensors.size() == 0) base::fail("tensor_dataset", "no tensors are given");
  for (int64_t place = 0; place < tensors.size(); ++place) {
    const Tensor& given = tensors[place];
    if (!given.defined()) base::fail("tensor_dataset", "{} is undefined", shown_field(tensors, place));
    if (given.dim() == 0)
      base::fail("tensor_dataset", "{} is a single number; it needs rows", shown_field(tensors, place));
    if (given.size(0) != tensors[0].size(0)) {
      base::fail("tensor_dataset", "{} has {} rows, {} has {}", shown_field(tensors, 0), tensors[0].size(0),
                 shown_field(tensors, place), given.size(0));
    }
    // Evaluated here, once, so that workers only read.
    Tensor rows = given.detach().to(host()).contiguous();
    wait({rows});
    static_cast<void>(HostBytes(rows));
    tensors_.add(tensors.fields()[static_cast<size_t>(place)].name, std::move(rows));
  }
  size_ = tensors[0].size(0);
}

TensorDataset::TensorDataset(const std::map<std::string, Tensor>& tensors)
    : TensorDataset([&] {
        Sample fields;
        for (const auto& [name, tensor] : tensors) fields.add(name, tensor);
        return fields;
      }()) {}

Sample TensorDataset::get(int64_t i) const {
  require_inside("tensor_dataset", i, size_);
  const base::InTurn nobody_writes;  // a worker reads what belongs to everybody
  Sample row;
  for (const auto& [name, tensor] : tensors_.fields()) {
    const HostBytes all(tensor);
    const size_t bytes = all.bytes().size() / static_cast<size_t>(size_);
    row.add(name, from_bytes(all.bytes().subspan(static_cast<size_t>(i) * bytes, bytes), shape_of_rows(tensor),
                             Options(tensor.dtype(), host())));
  }
  base::require_whole_maps();  // the rows may lie in a file that was cut
  return row;
}

// A tensor for every row would cost 4 us each, copying a row of MNIST takes 0.05.
std::optional<Sample> TensorDataset::stacked(std::span<const int64_t> indices, Device device) const {
  const base::InTurn nobody_writes;
  Sample rows;
  std::vector<std::byte> gathered;
  for (const auto& [name, tensor] : tensors_.fields()) {
    const HostBytes all(tensor);
    const size_t bytes = size_ > 0 ? all.bytes().size() / static_cast<size_t>(size_) : 0;
    gathered.clear();
    gathered.reserve(indices.size() * bytes);
    for (const int64_t i : indices) {
      require_inside("tensor_dataset", i, size_);
      const auto row = all.bytes().subspan(static_cast<size_t>(i) * bytes, bytes);
      gathered.insert(gathered.end(), row.begin(), row.end());
    }
    const Dims shape = shape_of_rows(tensor, static_cast<int64_t>(indices.size()));
    rows.add(name, from_bytes(gathered, shape, Options(tensor.dtype(), device)));
  }
  base::require_whole_maps();
  return rows;
}

ConcatDataset::ConcatDataset(std::vector<SharedDataset> parts) : parts_(std::move(parts)) {
  int64_t end = 0;
  for (const SharedDataset& part : parts_) ends_.push_back(end += part->size());
}

std::pair<const Dataset*, int64_t> ConcatDataset::find(int64_t i) const {
  require_inside("concat_dataset", i, size());
  const auto part = std::upper_bound(ends_.begin(), ends_.end(), i) - ends_.begin();
  const int64_t begin = part == 0 ? 0 : ends_[static_cast<size_t>(part) - 1];
  return {&*parts_[static_cast<size_t>(part)], i - begin};
}

Sample ConcatDataset::get(int64_t i) const {
  const auto [part, place] = find(i);
  return part->get(place);
}
Sample ConcatDataset::draw(int64_t i, Random& random) const {
  const auto [part, place] = find(i);
  return part->draw(place, random);
}

Subset::Subset(SharedDataset of, std::vector<int64_t> indices)
    : of_(std::move(of)), indices_(std::make_shared<const std::vector<int64_t>>(std::move(indices))) {
  for (const int64_t index : *indices_) require_inside("subset", index, of_->size());
}

int64_t Subset::index_at(int64_t i) const {
  require_inside("subset", i, size());
  return (*indices_)[static_cast<size_t>(i)];
}
Sample Subset::get(int64_t i) const { return of_->get(index_at(i)); }
Sample Subset::draw(int64_t i, Random& random) const { return of_->draw(index_at(i), random); }
std::optional<Sample> Subset::stacked(std::span<const int64_t> indices, Device device) const {
  std::vector<int64_t> inside;
  for (const int64_t i : indices) inside.push_back(index_at(i));
  return of_->stacked(inside, device);
}

std::vector<Subset> random_split(const SharedDataset& dataset, const std::vector<int64_t>& counts, uint64_t seed) {
  const int64_t size = dataset->size();
  int64_t total = 0;
  for (const int64_t count : counts) {
    if (count < 0 || count > size) base::fail("random_split", "a part of {} samples, of a dataset of {}", count, size);
    total += count;
    if (total > size) break;
  }
  if (total != size) {
    base::fail("random_split", "parts of {} samples do not make up a dataset of {}", fmt::join(counts, " + "), size);
  }
  const Permutation shuffled(static_cast<uint64_t>(size), base::mix(0x53504C4954, seed));
  std::vector<Subset> parts;
  uint64_t place = 0;
  for (const int64_t count : counts) {
    std::vector<int64_t> indices(static_cast<size_t>(count));
    for (int64_t& index : indices) index = static_cast<int64_t>(shuffled(place++));
    parts.emplace_back(dataset, std::move(indices));
  }
  return parts;
}

std::vector<Subset> random_split(const SharedDataset& dataset, const std::vector<double>& fractions, uint64_t seed) {
  double sum = 0;
  for (const double fraction : fractions) {
    if (!(fraction >= 0 && fraction <= 1))
      base::fail("random_split", "a fraction of {}; it must be from 0 to 1", fraction);
    sum += fraction;
  }
  if (std::abs(sum - 1) > 1e-6) {
    base::fail("random_split", "the fractions {} add up to {}, not to 1", fmt::join(fractions, " + "), sum);
  }
  const int64_t size = dataset->size();
  std::vector<int64_t> counts;
  for (const double fraction : fractions) {
    counts.push_back(static_cast<int64_t>(std::floor(static_cast<double>(size) * fraction)));
  }
  int64_t left = size - std::accumulate(counts.begin(), counts.end(), int64_t{0});
  for (size_t i = 0; left > 0; i = (i + 1) % counts.size(), --left) ++counts[i];
  return random_split(dataset, counts, seed);
}

Sample MappedDataset::get(int64_t i) const {
  Random random(0, 0, i);
  return draw(i, random);
}
Sample MappedDataset::draw(int64_t i, Random& random) const { return f_(of_->draw(i, random), random); }

MappedDataset transformed(SharedDataset dataset, Transform transform, std::variant<int64_t, std::string> field) {
  return {
      std::move(dataset), [transform = std::move(transform), field = std::move(field)](Sample sample, Random& random) {
        const int64_t place = std::holds_alternative<int64_t>(field) ? std::get<int64_t>(field)
                                                                     : sample.place_of(std::get<std::string>(field));
        sample.set(place, transform(sample[place], random));
        return sample;
      }};
}

}  // namespace tenon::data
