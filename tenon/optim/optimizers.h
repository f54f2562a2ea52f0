// The update rules, with PyTorch's names, defaults and arithmetic.
//
//   optim::AdamW optimizer(model.parameters(), {.lr = 3e-4});
//   optim::SGD other({{.parameters = a}, {.parameters = b, .lr = 0.01}}, {.lr = 0.1, .momentum = 0.9});

#pragma once

#include "tenon/optim/optimizer.h"

namespace tenon::optim {

struct SgdOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
};
class SGD : public Optimizer {
 public:
  explicit SGD(std::vector<ParamGroup> groups, const SgdOptions& options = {});
  explicit SGD(const std::vector<Tensor>& parameters, const SgdOptions& options = {})
      : SGD(std::vector<ParamGroup>{{parameters}}, options) {}

  void set_momentum(double momentum) override;

 private:
  Tensor update(const Update& now, std::vector<Tensor>& moments) const override;
  SgdOptions options_;
};

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  // added to the gradient
  bool amsgrad = false;     // divides by the largest mean of squares so far
};
class Adam : public Optimizer {
 public:
  explicit Adam(std::vector<ParamGroup> groups, const AdamOptions& options = {});
  explicit Adam(const std::vector<Tensor>& parameters, const AdamOptions& options = {})
      : Adam(std::vector<ParamGroup>{{parameters}}, options) {}

 protected:
  Adam(std::vector<ParamGroup> groups, const AdamOptions& options, bool decoupled);

 private:
  Tensor update(const Update& now, std::vector<Tensor>& moments) const override;
  AdamOptions options_;
  bool decoupled_;
};

struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;  // taken from the weights themselves
  bool amsgrad = false;        // divides by the largest mean of squares so far
};
class AdamW : public Adam {
 public:
  explicit AdamW(std::vector<ParamGroup> groups, const AdamWOptions& options = {});
  explicit AdamW(const std::vector<Tensor>& parameters, const AdamWOptions& options = {})
      : AdamW(std::vector<ParamGroup>{{parameters}}, options) {}
};

struct RmspropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;
};
class RMSprop : public Optimizer {
 public:
  explicit RMSprop(std::vector<ParamGroup> groups, const RmspropOptions& options = {});
  explicit RMSprop(const std::vector<Tensor>& parameters, const RmspropOptions& options = {})
      : RMSprop(std::vector<ParamGroup>{{parameters}}, options) {}

 private:
  Tensor update(const Update& now, std::vector<Tensor>& moments) const override;
  RmspropOptions options_;
};

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0;
  double weight_decay = 0;
  double initial_accumulator_value = 0;
  double eps = 1e-10;
};
class Adagrad : public Optimizer {
 public:
  explicit Adagrad(std::vector<ParamGroup> groups, const AdagradOptions& options = {});
  explicit Adagrad(const std::vector<Tensor>& parameters, const AdagradOptions& options = {})
      : Adagrad(std::vector<ParamGroup>{{parameters}}, options) {}

 private:
  Tensor update(const Update& now, std::vector<Tensor>& moments) const override;
  AdagradOptions options_;
};

/// Zeiler, 2012.
struct AdadeltaOptions {
  double lr = 1;
  double rho = 0.9;
  double eps = 1e-6;
  double weight_decay = 0;
};
class Adadelta : public Optimizer {
 public:
  explicit Adadelta(std::vector<ParamGroup> groups, const AdadeltaOptions& options = {});
  explicit Adadelta(const std::vector<Tensor>& parameters, const AdadeltaOptions& options = {})
      : Adadelta(std::vector<ParamGroup>{{parameters}}, options) {}

 private:
  Tensor update(const Update& now, std::vector<Tensor>& moments) const override;
  AdadeltaOptions options_;
};

/// Adam with the largest gradient in the place of the mean square; Kingma and Ba, 2014.
struct AdamaxOptions {
  double lr = 2e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
};
class Adamax : public Optimizer {
 public:
  explicit Adamax(std::vector<ParamGroup> groups, const AdamaxOptions& options = {});
  explicit Adamax(const std::vector<Tensor>& parameters, const AdamaxOptions& options = {})
      : Adamax(std::vector<ParamGroup>{{parameters}}, options) {}

 private:
  Tensor update(const Update& now, std::vector<Tensor>& moments) const override;
  AdamaxOptions options_;
};

/// Adam with Nesterov's momentum; Dozat, 2016.
struct NAdamOptions {
  double lr = 2e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum_decay = 4e-3;         // how fast the momentum rises from half of beta1 to all of it
  bool decoupled_weight_decay = false;  // taken from the weights themselves, as AdamW does
};
class NAdam : public Optimizer {
 public:
  explicit NAdam(std::vector<ParamGroup> groups, const NAdamOptions& options = {});
  explicit NAdam(const std::vector<Tensor>& parameters, const NAdamOptions& options = {})
      : NAdam(std::vector<ParamGroup>{{parameters}}, options) {}

 private:
  Tensor update(const Update& now, std::vector<Tensor>& moments) const override;
  NAdamOptions options_;
};

/// Adam whose first steps are shortened; Liu et al., 2019.
struct RAdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  bool decoupled_weight_decay = false;  // taken from the weights themselves, as AdamW does
};
class RAdam : public Optimizer {
 public:
  explicit RAdam(std::vector<ParamGroup> groups, const RAdamOptions& options = {});
  explicit RAdam(const std::vector<Tensor>& parameters, const RAdamOptions& options = {})
      : RAdam(std::vector<ParamGroup>{{parameters}}, options) {}

 private:
  Tensor update(const Update& now, std::vector<Tensor>& moments) const override;
  RAdamOptions options_;
};

/// Steps that grow while a gradient keeps its sign and shrink when it turns, whatever its size; Riedmiller and Braun,
/// 1993. There is no weight decay.
struct RpropOptions {
  double lr = 1e-2;                          // the first steps
  double shrink = 0.5, grow = 1.2;           // PyTorch's etas
  double least_step = 1e-6, most_step = 50;  // PyTorch's step_sizes
};
class Rprop : public Optimizer {
 public:
  explicit Rprop(std::vector<ParamGroup> groups, const RpropOptions& options = {});
  explicit Rprop(const std::vector<Tensor>& parameters, const RpropOptions& options = {})
      : Rprop(std::vector<ParamGroup>{{parameters}}, options) {}

 private:
  Tensor update(const Update& now, std::vector<Tensor>& moments) const override;
  RpropOptions options_;
};

/// Chen et al., 2023: the sign of a mean of gradients.
struct LionOptions {
  double lr = 1e-4;
  double beta1 = 0.9, beta2 = 0.99;
  double weight_decay = 0;
};
class Lion : public Optimizer {
 public:
  explicit Lion(std::vector<ParamGroup> groups, const LionOptions& options = {});
  explicit Lion(const std::vector<Tensor>& parameters, const LionOptions& options = {})
      : Lion(std::vector<ParamGroup>{{parameters}}, options) {}

 private:
  Tensor update(const Update& now, std::vector<Tensor>& moments) const override;
  LionOptions options_;
};

}  // namespace tenon::optim
