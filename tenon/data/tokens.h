// Tokens: what loaders read. A range of a token file or of a vector in memory, cheap to copy and to cut.
//
//   data::Tokens all(data::TokenFile::open("corpus.tokens"));
//   auto [train, validation] = data::split(all, 0.1);

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tenon/data/token_file.h"

namespace tenon::data {

/// A range of tokens.
class Tokens {
 public:
  Tokens() = default;
  explicit Tokens(std::shared_ptr<const TokenFile> file);
  explicit Tokens(std::vector<int32_t> tokens);

  /// How many tokens there are.
  int64_t size() const { return size_; }
  /// The tokens from a place on, as many as fit; all must lie inside.
  void copy(int64_t from, std::span<int32_t> to) const;
  /// A part of this; nothing is copied.
  Tokens slice(int64_t from, int64_t count) const;

 private:
  void check(int64_t from, int64_t count) const;

  std::shared_ptr<const TokenFile> file_;  // or, where there is none,
  std::shared_ptr<const std::vector<int32_t>> memory_;
  int64_t begin_ = 0, size_ = 0;
};

/// What split() gives.
struct Split {
  Tokens train, validation;  // the first part, and the last
};

/// The last part is for validation, so that no window of it overlaps one of training.
///   data::split(data::Tokens(std::vector<int32_t>(100)), 0.1).validation.size();  // 10
Split split(const Tokens& tokens, double validation_fraction);

/// How many of so many tokens come before the part for validation.
int64_t tokens_before_validation(int64_t tokens, double validation_fraction);

}  // namespace tenon::data
