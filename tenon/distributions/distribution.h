// Distributions of random numbers, under PyTorch's names: draws, logarithms of densities, entropies.
//
//   distributions::Normal policy(mean, deviation);
//   Tensor action = policy.rsample();           // gradients lead to mean and deviation
//   Tensor loss = -policy.log_prob(action).sum() - policy.entropy().sum();
//
// Parameters are tensors or numbers that broadcast to the batch shape: one distribution for each element. Everything is
// made of ops of tensors: lazy, captured, on every device, with gradients; the same seed draws the same on every
// device, to the last digits of each device's own functions.

#pragma once

#include <string_view>

#include "tenon/tensor/creation.h"
#include "tenon/tensor/tensor.h"

namespace tenon::distributions {

/// What all distributions have. Parameters that lie outside of what is allowed are an error where their values are
/// there already and few; else they give NaN.
///   std::unique_ptr<distributions::Distribution> d = std::make_unique<distributions::Normal>(0.0, 1.0);
///   Tensor draws = d->sample({100});
class Distribution {
 public:
  virtual ~Distribution() = default;

  /// "Normal" ...
  virtual std::string_view name() const = 0;
  /// One distribution for each element of this shape.
  const Dims& batch_shape() const { return batch_; }
  /// The shape of one draw of one of them.
  const Dims& event_shape() const { return event_; }

  /// The mean, the variance and its root, of each.
  virtual Tensor mean() const = 0;
  virtual Tensor variance() const = 0;
  Tensor stddev() const;

  /// Draws of shape (shape, batch shape, event shape), without gradients.
  virtual Tensor sample(const Dims& shape = {}, Generator* generator = nullptr) const;
  /// The same with gradients that lead to the parameters: how the draw moves with them. Fails for those that draw
  /// integers.
  virtual Tensor rsample(const Dims& shape = {}, Generator* generator = nullptr) const;
  /// Whether rsample() works.
  virtual bool has_rsample() const { return true; }

  /// The logarithm of the density, or of the probability, at a value whose shape broadcasts with that of a draw: one
  /// number for each event.
  virtual Tensor log_prob(const Tensor& value) const = 0;
  /// The entropy of each, in nats.
  virtual Tensor entropy() const = 0;

 protected:
  Distribution(Dims batch, Dims event) : batch_(std::move(batch)), event_(std::move(event)) {}
  /// The shape of so many draws.
  Dims drawn(const Dims& shape) const;

 private:
  Dims batch_, event_;
};

/// The bell curve around loc with the deviation scale > 0.
///   distributions::Normal(0.0, 1.0).log_prob(scalar(0.0));  // -0.9189
class Normal : public Distribution {
 public:
  Normal(const Operand& loc, const Operand& scale);
  std::string_view name() const override { return "Normal"; }
  const Tensor& loc() const { return loc_; }
  const Tensor& scale() const { return scale_; }
  Tensor mean() const override { return loc_; }
  Tensor variance() const override;
  Tensor rsample(const Dims& shape = {}, Generator* generator = nullptr) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  explicit Normal(const std::vector<Tensor>& parameters);
  Tensor loc_, scale_;
};

/// Every number from low to below high alike.
///   distributions::Uniform(0.0, 2.0).mean();  // 1.0
class Uniform : public Distribution {
 public:
  Uniform(const Operand& low, const Operand& high);
  std::string_view name() const override { return "Uniform"; }
  const Tensor& low() const { return low_; }
  const Tensor& high() const { return high_; }
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor rsample(const Dims& shape = {}, Generator* generator = nullptr) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  explicit Uniform(const std::vector<Tensor>& parameters);
  Tensor low_, high_;
};

/// Whether a probability, or odds, is given.
enum class Given { probs, logits };

/// 1 with a probability, else 0; logits are log(p / (1 - p)).
///   distributions::Bernoulli(0.25).variance();  // 0.1875
class Bernoulli : public Distribution {
 public:
  explicit Bernoulli(const Operand& parameter, Given given = Given::probs);
  std::string_view name() const override { return "Bernoulli"; }
  Tensor probs() const;
  Tensor logits() const;
  Tensor mean() const override { return probs(); }
  Tensor variance() const override;
  Tensor sample(const Dims& shape = {}, Generator* generator = nullptr) const override;
  bool has_rsample() const override { return false; }
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Bernoulli(const std::vector<Tensor>& parameters, Given given);
  Tensor parameter_;
  Given given_;
};

/// One of 0, 1, ..., with the probabilities of the last dim, which need no particular sum, or their logarithms. Draws
/// are i64.
///   distributions::Categorical(tensor({1.0, 3.0})).probs();  // [0.25 0.75]
class Categorical : public Distribution {
 public:
  explicit Categorical(const Tensor& parameter, Given given = Given::probs);
  std::string_view name() const override { return "Categorical"; }
  /// Those that sum to 1, and their logarithms.
  Tensor probs() const;
  const Tensor& logits() const { return logits_; }
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor sample(const Dims& shape = {}, Generator* generator = nullptr) const override;
  bool has_rsample() const override { return false; }
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Tensor logits_, probs_;  // probs_: only where they were given
};

/// Positive numbers with the density x^(concentration - 1) exp(-rate x), up to a factor. Gradients of draws by the
/// concentration are implicit ones (Figurnov et al., 2018), as exact as PyTorch's: to within 1e-3 of themselves.
///   distributions::Gamma(4.0, 2.0).mean();  // 2.0
class Gamma : public Distribution {
 public:
  Gamma(const Operand& concentration, const Operand& rate);
  std::string_view name() const override { return "Gamma"; }
  const Tensor& concentration() const { return concentration_; }
  const Tensor& rate() const { return rate_; }
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor rsample(const Dims& shape = {}, Generator* generator = nullptr) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  explicit Gamma(const std::vector<Tensor>& parameters);
  Tensor concentration_, rate_;
};

/// Numbers between 0 and 1 with the density x^(a - 1) (1 - x)^(b - 1), up to a factor; gradients of draws as of Gamma.
///   distributions::Beta(1.0, 3.0).mean();  // 0.25
class Beta : public Distribution {
 public:
  Beta(const Operand& concentration1, const Operand& concentration0);
  std::string_view name() const override { return "Beta"; }
  const Tensor& concentration1() const { return a_; }
  const Tensor& concentration0() const { return b_; }
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor rsample(const Dims& shape = {}, Generator* generator = nullptr) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  explicit Beta(const std::vector<Tensor>& parameters);
  Tensor a_, b_;
};

/// Probabilities that sum to 1 along the last dim: gamma-distributed numbers over their sum.
///   distributions::Dirichlet(tensor({1.0, 3.0})).mean();  // [0.25 0.75]
class Dirichlet : public Distribution {
 public:
  explicit Dirichlet(const Tensor& concentration);
  std::string_view name() const override { return "Dirichlet"; }
  const Tensor& concentration() const { return concentration_; }
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor rsample(const Dims& shape = {}, Generator* generator = nullptr) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Tensor concentration_;
};

/// KL(p | q), the mean of log p - log q over p: of two distributions of one kind. Others are refused by name.
///   using distributions::Normal;
///   distributions::kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0));  // 0.5
Tensor kl_divergence(const Distribution& p, const Distribution& q);

}  // namespace tenon::distributions
