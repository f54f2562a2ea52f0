#include "tenon/data/collate.h"

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/base/mapped.h"
#include "tenon/data/host_bytes.h"
#include "tenon/tensor/creation.h"

namespace tenon::data {
namespace {

std::string names_of(const Sample& sample) {
  std::vector<std::string> names;
  for (const Field& field : sample.fields()) names.push_back(field.name.empty() ? "-" : field.name);
  return fmt::format("({})", fmt::join(names, ", "));
}

void require_alike(const Sample& first, int64_t first_index, const Sample& other, int64_t index) {
  const auto same_name = [](const Field& a, const Field& b) { return a.name == b.name; };
  if (!std::equal(first.fields().begin(), first.fields().end(), other.fields().begin(), other.fields().end(),
                  same_name)) {
    base::fail("collate", "sample {} has the tensors {}, sample {} {}", index, names_of(other), first_index,
               names_of(first));
  }
  for (int64_t place = 0; place < first.size(); ++place) {
    const Tensor &a = first[place], &b = other[place];
    const std::string& name = first.fields()[static_cast<size_t>(place)].name;
    const std::string shown = name.empty() ? fmt::format("tensor {}", place) : fmt::format("tensor \"{}\"", name);
    if (!b.defined()) base::fail("collate", "{} of sample {} is undefined", shown, index);
    if (a.dtype() == b.dtype() && a.shape() == b.shape()) continue;
    base::fail("collate",
               "{} of sample {} is {}, that of sample {} {}: make them alike, or give the loader a collate of your own",
               shown, index, shown_type(b), first_index, shown_type(a));
  }
}

}  // namespace

Sample stack_samples(std::span<const Sample> samples, Device device, std::span<const int64_t> indices) {
  if (samples.empty()) base::fail("collate", "there are no samples");
  const auto index_of = [&](size_t i) { return indices.empty() ? static_cast<int64_t>(i) : indices[i]; };
  std::vector<Tensor> waiting;  // what no sample has computed yet, in one plan
  for (size_t i = 0; i < samples.size(); ++i) {
    require_alike(samples[0], index_of(0), samples[i], index_of(i));
    for (const Field& field : samples[i].fields()) {
      if (!field.value.is_evaluated()) waiting.push_back(field.value);
    }
  }
  if (!waiting.empty()) wait(waiting);

  Sample batch;
  std::vector<std::byte> stacked;
  for (int64_t place = 0; place < samples[0].size(); ++place) {
    const Tensor& first = samples[0][place];
    stacked.clear();
    stacked.reserve(samples.size() * static_cast<size_t>(first.nbytes()));
    for (const Sample& sample : samples) {
      const HostBytes row(sample[place]);
      stacked.insert(stacked.end(), row.bytes().begin(), row.bytes().end());
    }
    Dims shape = {static_cast<int64_t>(samples.size())};
    for (const int64_t size : first.shape()) shape.push_back(size);
    batch.add(samples[0].fields()[static_cast<size_t>(place)].name,
              from_bytes(stacked, shape, Options(first.dtype(), device)));
  }
  base::require_whole_maps();  // a sample may lie in a file that was cut
  return batch;
}

}  // namespace tenon::data
