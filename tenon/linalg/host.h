// What every function has that LAPACK computes: matrices on the host by columns, results on their way back, and errors
// that name the matrix of the batch; for the files of this room only.

#pragma once

#include <limits>
#include <string>
#include <vector>

#include "tenon/base/parallel.h"
#include "tenon/linalg/lapack.h"
#include "tenon/linalg/linalg.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"

namespace tenon::linalg {

/// Fails unless x has matrices of f32 or f64.
void require_matrices(const char* op, const Tensor& x);
void require_square(const char* op, const Tensor& x);
/// Fails inside captured functions, for matrices too large for LAPACK's 32-bit sizes, and without LAPACK.
void require_host(const char* op, const Tensor& x);
/// Fails with LinAlgError for matrix i of a batch.
[[noreturn]] void fail_matrix(const char* op, const Dims& batch, size_t i, const std::string& what);
/// The same for the first of these that is not 0, which is put into the text.
void require_success(const char* op, const Dims& batch, const std::vector<int>& infos, const char* what);

inline Dims batch_of(const Tensor& x) { return Dims(x.shape().begin(), x.shape().end() - 2); }
inline Tensor transposed(const Tensor& x) { return x.transpose(-2, -1); }
inline Tensor scaled_columns(const Tensor& x, const Tensor& factors) { return x * factors.unsqueeze(-2); }
inline Tensor scaled_rows(const Tensor& x, const Tensor& factors) { return x * factors.unsqueeze(-1); }
/// Ones on the diagonal, in the dtype and on the device of x.
inline Tensor identity(int64_t n, const Tensor& x) { return eye(n, {}, Options(x.dtype(), x.device())); }
/// The inverse, with infinities where there is none.
Tensor inverse_or_infinite(const char* op, const Tensor& A);
/// The epsilon of a dtype times the longer side: below this part of the largest, singular values count as 0.
double default_tolerance(const Tensor& A);
/// The gradient of the pseudo-inverse of A, given that of the result.
Tensor pinv_backward(const Tensor& grad, const Tensor& pinv_of_A, const Tensor& A);

/// Matrices of a tensor, by columns.
template <typename T>
class Matrices {
 public:
  explicit Matrices(const Tensor& x)
      : size_(static_cast<size_t>(x.size(-1) * x.size(-2))), values_(transposed(x.detach()).template to_vector<T>()) {}
  T* at(int64_t i) { return values_.data() + static_cast<size_t>(i) * size_; }
  const std::vector<T>& values() const { return values_; }

 private:
  size_t size_;
  std::vector<T> values_;
};

/// The matrices that a function gives, several for each of the batch; they travel together.
template <typename T>
class Results {
 public:
  struct Part {
    int64_t rows, columns = 0;  // a vector has no columns
    int64_t size() const { return rows * (columns == 0 && is_vector ? 1 : columns); }
    bool is_vector = false;
  };

  Results(Dims batch, std::vector<Part> parts) : batch_(std::move(batch)), parts_(std::move(parts)) {
    for (const int64_t size : batch_) count_ *= size;
    size_t all = 0;
    for (const Part& part : parts_) {
      begins_.push_back(all);
      all += static_cast<size_t>(part.size() * count_);
    }
    values_.resize(all);
  }
  int64_t count() const { return count_; }
  const Dims& batch() const { return batch_; }
  T* at(size_t part, int64_t i) {
    return values_.data() + begins_[part] + static_cast<size_t>(i * parts_[part].size());
  }

  std::vector<Tensor> tensors(Device device) const {
    const Tensor all = from_vector(values_, {static_cast<int64_t>(values_.size())}, Options(device));
    std::vector<Tensor> made;
    for (size_t p = 0; p < parts_.size(); ++p) {
      Dims shape = batch_;
      if (!parts_[p].is_vector) shape.push_back(parts_[p].columns);
      shape.push_back(parts_[p].rows);
      const Tensor part =
          all.slice(0, static_cast<int64_t>(begins_[p]), static_cast<int64_t>(begins_[p]) + parts_[p].size() * count_)
              .reshape(shape);
      made.push_back(parts_[p].is_vector ? part : transposed(part));
    }
    return made;
  }

 private:
  Dims batch_;
  std::vector<Part> parts_;
  std::vector<size_t> begins_;
  std::vector<T> values_;
  int64_t count_ = 1;
};
template <typename T>
typename Results<T>::Part vector_part(int64_t size) {
  return {size, 0, true};
}
template <typename T>
typename Results<T>::Part matrix_part(int64_t rows, int64_t columns) {
  return {rows, columns, false};
}

/// Calls f<float>() or f<double>().
template <typename F>
auto with_type(DType dtype, F&& f) {
  return dtype == DType::f32 ? f.template operator()<float>() : f.template operator()<double>();
}

/// Calls f(i) for every matrix of a batch, on several threads, and gives what it returned.
template <typename F>
std::vector<int> for_each_matrix(int64_t count, F&& f) {
  std::vector<int> infos(static_cast<size_t>(count));
  base::parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) infos[static_cast<size_t>(i)] = f(i);
  });
  return infos;
}

}  // namespace tenon::linalg
