// Sample: tensors that belong together, each at its place and, where wanted, under a name. What a dataset gives for one
// index, and what a DataLoader makes of several: a batch is a sample whose tensors have one more dim in front.
//
//   data::Sample pair = {image, label};
//   data::Sample named = {{"image", image}, {"label", label}};
//   named["label"].item<int64_t>();
//   auto [x, y] = pair.unpack<2>();

#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/tensor/tensor.h"

namespace tenon::data {

/// One of the tensors of a sample; the name may be empty.
struct Field {
  std::string name;  // which may be empty
  Tensor value;      // the tensor
};

/// Tensors by place and by name.
///   data::Sample sample = {{"image", zeros({1, 2, 2})}, {"label", scalar(3)}};
///   sample["label"];  // 3
class Sample {
 public:
  Sample() = default;
  Sample(std::initializer_list<Tensor> values);
  /// Fails where two have the same name.
  Sample(std::initializer_list<Field> fields);
  explicit Sample(std::vector<Field> fields);

  /// How many tensors there are.
  int64_t size() const { return static_cast<int64_t>(fields_.size()); }
  /// The tensor at a place or under a name; fails with one line that says what there is.
  const Tensor& operator[](int64_t place) const;
  const Tensor& operator[](std::string_view name) const;
  /// Whether there is one of that name.
  bool contains(std::string_view name) const;
  /// The place of a name; fails like operator[].
  int64_t place_of(std::string_view name) const;

  /// Puts a tensor in the place of another.
  void set(int64_t place, Tensor value);
  void set(std::string_view name, Tensor value);
  /// Puts one behind the others; without a name where that is empty.
  void add(std::string name, Tensor value);

  /// All of them, in order.
  const std::vector<Field>& fields() const { return fields_; }

  /// All tensors by place: auto [images, labels] = batch.unpack<2>(). Fails where there are more or fewer.
  template <size_t N>
  std::array<Tensor, N> unpack() const {
    require_size(N);
    std::array<Tensor, N> values;
    for (size_t i = 0; i < N; ++i) values[i] = fields_[i].value;
    return values;
  }

 private:
  void require_size(size_t wanted) const;
  std::vector<Field> fields_;
};

}  // namespace tenon::data
