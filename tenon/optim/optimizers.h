// The update rules, with PyTorch's names, defaults and arithmetic.
//
//   optim::AdamW optimizer(model.parameters(), {.lr = 3e-4});
//   optim::SGD other({{.parameters = a}, {.parameters = b, .lr = 0.01}}, {.lr = 0.1, .momentum = 0.9});

#pragma once

#include "tenon/optim/optimizer.h"

namespace tenon::optim {

/// How SGD steps.
struct SgdOptions {
  double lr = 1e-3;         // learning rate
  double momentum = 0;      // what is kept of the mean of gradients from step to step
  double dampening = 0;     // what a gradient lacks when it goes into that mean
  double weight_decay = 0;  // times the weights, added to the gradient
  bool nesterov = false;    // steps by what the mean will be
};
/// Steps down the gradient, or a mean of gradients.
///   optim::SGD sgd(net.parameters(), {.lr = 0.1, .momentum = 0.9});
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

/// How Adam steps.
struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;  // what is kept of the means of gradients, and of their squares, from step to step
  double eps = 1e-8;                  // added to the root of the mean square
  double weight_decay = 0;            // added to the gradient
  bool amsgrad = false;               // divides by the largest mean of squares so far
};
/// Means of gradients over the roots of their mean squares; Kingma and Ba, 2014.
///   optim::Adam adam(net.parameters(), {.lr = 1e-3});
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

/// How AdamW steps.
struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;  // taken from the weights themselves
  bool amsgrad = false;        // divides by the largest mean of squares so far
};
/// Adam whose weight decay does not go through the means; Loshchilov and Hutter, 2017.
///   optim::AdamW adamw(net.parameters(), {.lr = 3e-4, .weight_decay = 0.1});
class AdamW : public Adam {
 public:
  explicit AdamW(std::vector<ParamGroup> groups, const AdamWOptions& options = {});
  explicit AdamW(const std::vector<Tensor>& parameters, const AdamWOptions& options = {})
      : AdamW(std::vector<ParamGroup>{{parameters}}, options) {}
};

/// How RMSprop steps.
struct RmspropOptions {
  double lr = 1e-2;
  double alpha = 0.99;  // what is kept of the mean of squares from step to step
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;  // divides by the deviation of gradients, not by the root of their mean square
};
/// Gradients over the root of their mean square; Hinton, 2012.
///   optim::RMSprop rmsprop(net.parameters(), {.momentum = 0.9});
class RMSprop : public Optimizer {
 public:
  explicit RMSprop(std::vector<ParamGroup> groups, const RmspropOptions& options = {});
  explicit RMSprop(const std::vector<Tensor>& parameters, const RmspropOptions& options = {})
      : RMSprop(std::vector<ParamGroup>{{parameters}}, options) {}

 private:
  Tensor update(const Update& now, std::vector<Tensor>& moments) const override;
  RmspropOptions options_;
};

/// How Adagrad steps.
struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0;  // step n has the rate lr / (1 + (n - 1) * lr_decay)
  double weight_decay = 0;
  double initial_accumulator_value = 0;  // what sums of squares begin with
  double eps = 1e-10;
};
/// Gradients over the root of the sum of all their squares; Duchi et al., 2011.
///   optim::Adagrad adagrad(net.parameters());
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
  double rho = 0.9;  // what is kept of both means of squares from step to step
  double eps = 1e-6;
  double weight_decay = 0;
};
/// Steps in the units of the weights, without a rate to choose; Zeiler, 2012.
///   optim::Adadelta adadelta(net.parameters());
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
/// Adam with the largest gradient in the place of the mean square; Kingma and Ba, 2014.
///   optim::Adamax adamax(net.parameters());
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
/// Adam with Nesterov's momentum; Dozat, 2016.
///   optim::NAdam nadam(net.parameters());
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
/// Adam whose first steps are shortened; Liu et al., 2019.
///   optim::RAdam radam(net.parameters());
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
/// Steps by the signs of gradients; Riedmiller and Braun, 1993.
///   optim::Rprop rprop(net.parameters());
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
/// Steps by the sign of a mean of gradients; Chen et al., 2023.
///   optim::Lion lion(net.parameters(), {.lr = 1e-4});
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
