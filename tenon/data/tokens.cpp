#include "tenon/data/tokens.h"

#include <algorithm>

#include "tenon/base/error.h"

namespace tenon::data {

Tokens::Tokens(std::shared_ptr<const TokenFile> file) : file_(std::move(file)), size_(file_->size()) {}

Tokens::Tokens(std::vector<int32_t> tokens)
    : memory_(std::make_shared<const std::vector<int32_t>>(std::move(tokens))),
      size_(static_cast<int64_t>(memory_->size())) {}

void Tokens::check(int64_t from, int64_t count) const {
  if (from >= 0 && count >= 0 && count <= size_ && from <= size_ - count) return;
  base::fail("tokens", "{} tokens from {} on, of {}", count, from, size_);
}

void Tokens::copy(int64_t from, std::span<int32_t> to) const {
  check(from, static_cast<int64_t>(to.size()));
  if (to.empty()) return;
  if (file_) {
    file_->copy(begin_ + from, to);
  } else {
    std::copy_n(memory_->begin() + begin_ + from, to.size(), to.begin());
  }
}

Tokens Tokens::slice(int64_t from, int64_t count) const {
  check(from, count);
  Tokens part = *this;
  part.begin_ += from;
  part.size_ = count;
  return part;
}

int64_t tokens_before_validation(int64_t tokens, double validation_fraction) {
  if (!(validation_fraction >= 0 && validation_fraction < 1)) {
    base::fail("split", "a validation fraction of {}: it must be at least 0 and below 1", validation_fraction);
  }
  return static_cast<int64_t>(static_cast<double>(tokens) * (1 - validation_fraction));
}

Split split(const Tokens& tokens, double validation_fraction) {
  const int64_t train = tokens_before_validation(tokens.size(), validation_fraction);
  return {tokens.slice(0, train), tokens.slice(train, tokens.size() - train)};
}

}  // namespace tenon::data
