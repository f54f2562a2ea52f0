// The one table. Defaults are not in it: they are those of the structs.

#include "tenon/train/config_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "tenon/train/optimizer_table.h"

namespace tenon::train {
namespace {

using Model = ModelConfig;
using Data = DataConfig;
using Tokenizer = TokenizerConfig;
using Training = TrainingConfig;
using Optimizer = OptimizerConfig;
using Schedule = ScheduleConfig;
using Checkpoint = CheckpointConfig;
using Sample = SampleConfig;
using Device = DeviceConfig;

// The section that a struct is.
template <typename Section>
Section& part(Config& c) {
  return std::get<Section&>(
      std::tie(c.model, c.data, c.tokenizer, c.training, c.optimizer, c.schedule, c.checkpoint, c.sample, c.device));
}

template <typename Section, typename T>
Section section_of(T Section::*member);

// &ModelConfig::layers as a function from Config to the field.
template <auto Member>
Field at() {
  using Section = decltype(section_of(Member));
  using T = std::remove_reference_t<decltype(std::declval<Section&>().*Member)>;
  return FieldOf<T>([](Config& config) -> T& { return part<Section>(config).*Member; });
}

constexpr Field description = FieldOf<std::string>([](Config& config) -> std::string& { return config.description; });

constexpr double kMany = 1e9;                  // steps, tokens: more than any run has, less than 32 bits
constexpr double kAnySeed = 9007199254740992;  // 2^53: every JSON reader keeps such a number whole
constexpr Range kSteps{0, kMany}, kSomeSteps{1, kMany}, kSeed{0, kAnySeed};
constexpr Range kBelowOne{.least = 0, .most = 1, .below_most = true};
constexpr Range kPositive{.least = 0, .most = kMany, .above_least = true};

template <typename... Texts>
bool is_any(const std::string& text, const Texts&... choices) {
  return ((text == choices) || ...);
}

// A condition as a constant, which is there before anything runs.
struct Condition {
  bool (*holds)(const Config&);
  std::string_view text;
  operator When() const { return {holds, std::string(text)}; }  // NOLINT: rows take either
};
constexpr Condition kGpt2{[](const Config& c) { return c.model.architecture == "gpt2"; }, "model.architecture is gpt2"};
constexpr Condition kLlama{[](const Config& c) { return c.model.architecture == "llama"; },
                           "model.architecture is llama"};
constexpr Condition kLanguage{[](const Config& c) { return c.is_language(); }, "model.architecture is gpt2 or llama"};
constexpr Condition kText{[](const Config& c) { return c.is_text(); }, "model.architecture is bert"};
constexpr Condition kTokens{[](const Config& c) { return c.has_tokens(); },
                            "model.architecture is gpt2, llama or bert"};
constexpr Condition kCnn{[](const Config& c) { return c.model.architecture == "cnn"; }, "model.architecture is cnn"};
constexpr Condition kResNet{[](const Config& c) { return c.model.architecture == "resnet"; },
                            "model.architecture is resnet"};
constexpr Condition kPictures{[](const Config& c) { return c.is_picture(); }, "model.architecture is cnn or resnet"};
constexpr Condition kTellsApart{[](const Config& c) { return c.is_text() || c.is_picture(); },
                                "model.architecture is bert, cnn or resnet"};
constexpr Condition kFolder{[](const Config& c) { return c.is_picture() && c.data.dataset == "folder"; },
                            "data.dataset is folder"};
constexpr Condition kSplit{
    [](const Config& c) {
      return c.has_tokens() ? c.data.validation.empty() : c.is_picture() && c.data.dataset == "folder";
    },
    "model.architecture is gpt2, llama or bert and data.validation is empty, or data.dataset is folder"};
constexpr Condition kHasLayers{[](const Config& c) { return c.model.architecture != "custom"; },
                               "model.architecture is gpt2, llama, bert, cnn or resnet"};
constexpr Condition kHasHidden{
    [](const Config& c) { return is_any(c.model.architecture, "gpt2", "llama", "bert", "cnn"); },
    "model.architecture is gpt2, llama, bert or cnn"};
constexpr Condition kHasDropout{[](const Config& c) { return is_any(c.model.architecture, "gpt2", "bert", "cnn"); },
                                "model.architecture is gpt2, bert or cnn"};
constexpr Condition kStories{[](const Config& c) { return c.data.train == "stories"; }, "data.train is stories"};
constexpr Condition kDrawn{[](const Config& c) { return c.data.order != "sequential"; },
                           "data.order is random or shuffled"};
constexpr Condition kHasFields{[](const Config& c) {
                                 return c.is_text() || c.data.train.find(".json") != std::string::npos ||
                                        c.data.validation.find(".json") != std::string::npos;
                               },
                               "data.train or data.validation is a .jsonl file or model.architecture is bert"};
constexpr Condition kFile{[](const Config& c) { return c.tokenizer.kind == "file"; }, "tokenizer.kind is file"};
constexpr Condition kLearned{[](const Config& c) { return is_any(c.tokenizer.kind, "bpe", "word", "wordpiece"); },
                             "tokenizer.kind is bpe, word or wordpiece"};
constexpr Condition kMasked{[](const Config& c) { return c.training.method == "masked_lm"; },
                            "training.method is masked_lm"};
constexpr Condition kLora{[](const Config& c) { return c.training.mode == "lora"; }, "training.mode is lora"};
constexpr Condition kValidated{[](const Config& c) { return c.has_validation(); },
                               "data.validation is given or data.validation_fraction is above 0"};
constexpr Condition kEvaluated{[](const Config& c) { return c.has_validation() && c.training.eval_every > 0; },
                               "there are validation data and training.eval_every is above 0"};
constexpr Condition kDecays{[](const Config& c) { return c.optimizer.weight_decay > 0; },
                            "optimizer.weight_decay is above 0"};
constexpr Condition kFloor{
    [](const Config& c) { return is_any(c.schedule.kind, "linear", "cosine", "cosine_restarts", "plateau"); },
    "schedule.kind is linear, cosine, cosine_restarts or plateau"};
constexpr Condition kEnds{[](const Config& c) { return is_any(c.schedule.kind, "linear", "cosine", "one_cycle"); },
                          "schedule.kind is linear, cosine or one_cycle"};
constexpr Condition kRestarts{[](const Config& c) { return c.schedule.kind == "cosine_restarts"; },
                              "schedule.kind is cosine_restarts"};
constexpr Condition kGamma{[](const Config& c) { return is_any(c.schedule.kind, "step", "exponential", "plateau"); },
                           "schedule.kind is step, exponential or plateau"};
constexpr Condition kStepwise{[](const Config& c) { return c.schedule.kind == "step"; }, "schedule.kind is step"};
constexpr Condition kPlateau{[](const Config& c) { return c.schedule.kind == "plateau"; }, "schedule.kind is plateau"};
constexpr Condition kKept{[](const Config& c) { return c.checkpoint.every > 0; }, "checkpoint.every is above 0"};
constexpr Condition kSampled{[](const Config& c) { return c.sample.every > 0; }, "sample.every is above 0"};
constexpr Condition kDiced{[](const Config& c) { return c.sample.every > 0 && c.sample.temperature > 0; },
                           "sample.every and sample.temperature are above 0"};

// ---- what the table of optimizers says ----

std::vector<std::string_view> optimizers_that(const std::function<bool(const OptimizerRow&)>& holds) {
  std::vector<std::string_view> names;
  for_each_optimizer([&](const OptimizerRow& row, const auto&) {
    if (holds(row)) names.push_back(row.name);
  });
  return names;
}

// "adamw, adam or lion".
std::string listed(const std::vector<std::string_view>& names, std::string_view last_word) {
  if (names.empty()) return "none";
  std::string text(names.front());
  for (size_t i = 1; i < names.size(); ++i)
    text += i + 1 < names.size() ? fmt::format(", {}", names[i]) : fmt::format(" {} {}", last_word, names[i]);
  return text;
}

// When the optimizer is one that reads the key, by its name in the section.
When read_by_optimizer(std::string_view key) {
  const auto names =
      optimizers_that([&](const OptimizerRow& row) { return std::ranges::find(row.reads, key) != row.reads.end(); });
  return {[names](const Config& c) { return std::ranges::find(names, c.optimizer.kind) != names.end(); },
          "optimizer.kind is " + listed(names, "or")};
}

When both(const When& one, const When& other) {
  return {[one, other](const Config& c) { return one.holds(c) && other.holds(c); }, one.text + " and " + other.text};
}
constexpr Condition kHasMomentum{[](const Config& c) { return c.optimizer.momentum > 0; },
                                 "optimizer.momentum is above 0"};

std::string weight_decay_text() {
  const auto decoupled =
      optimizers_that([](const OptimizerRow& row) { return row.decay == Decay::taken_from_weights; });
  return fmt::format("Pull towards 0: {} take it from the weights, the others add it to the gradient.",
                     listed(decoupled, "and"));
}

// ---- rows ----

constexpr OnResume kStays = OnResume::stays, kMayChange = OnResume::may_change, kMayMove = OnResume::may_move;

Key number(std::string_view path, const Field& field, OnResume on_resume, const Range& range, std::string does,
           const When& when = {}) {
  return {path, field, on_resume, range, {}, std::move(does), when};
}
Key choice(std::string_view path, const Field& field, OnResume on_resume, std::vector<std::string_view> choices,
           std::string does, const When& when = {}) {
  return {path, field, on_resume, {}, std::move(choices), std::move(does), when};
}
// A flag, a text or a list: of these, all are allowed.
Key plain(std::string_view path, const Field& field, OnResume on_resume, std::string does, const When& when = {}) {
  return {path, field, on_resume, {}, {}, std::move(does), when};
}

const std::vector<Key>& table() {
  static const std::vector<Key> keys = {
      plain("description", description, kMayChange, "What this config is for; lists of presets and reports show it."),

      choice(
          "model.architecture", at<&Model::architecture>(), kStays,
          {"gpt2", "llama", "bert", "cnn", "resnet", "custom"},
          "gpt2 and llama write text. GPT-2: layer norms, learned positions, GELU. Llama: RMS norms, rotary positions, "
          "SwiGLU. bert: an encoder that tells texts apart. cnn, resnet: convolutions that tell images apart, a small "
          "network and torchvision's. custom: what a "
          "program brings along (docs/tasks.md)."),
      number(
          "model.layers", at<&Model::layers>(), kStays, {1, 1024},
          "Transformer blocks; of a cnn, stages: each has half the height and width of the one before, and twice the "
          "channels; of a resnet 18, 34, 50, 101 or 152.",
          kHasLayers),
      number("model.heads", at<&Model::heads>(), kStays, {1, 1024},
             "Attention heads of a block; they share the width evenly.", kTokens),
      number("model.kv_heads", at<&Model::kv_heads>(), kStays, {0, 1024},
             "Heads that keys and values have, each shared by a group of heads; 0: as many as heads.", kLlama),
      number("model.width", at<&Model::width>(), kStays, {1, 65536}, "Numbers that stand for a token between blocks.",
             kTokens),
      number("model.hidden", at<&Model::hidden>(), kStays, {0, 1048576},
             "Width inside of the MLPs; 0: 4 * width for gpt2 and bert, 8/3 * width rounded up to a multiple of 32 for "
             "llama. "
             "Of a cnn, the layer before the last; 0: none, and the means of the channels go to the last.",
             kHasHidden),
      number("model.context", at<&Model::context>(), kStays, {1, 1048576}, "The longest sequence, in tokens.", kTokens),
      number("model.vocabulary", at<&Model::vocabulary>(), kStays, {0, 16777216},
             "Tokens the model knows; 0: the tokenizer's.", kTokens),
      number("model.pad_vocabulary_to", at<&Model::pad_vocabulary_to>(), kStays, {1, 65536},
             "Rows of the embedding are filled up to a multiple of this, because round products run faster; 1: no "
             "padding.",
             kLanguage),
      number("model.dropout", at<&Model::dropout>(), kStays, kBelowOne,
             "Share of activations that a training step sets to 0, in embeddings, attention and residuals; of a cnn, "
             "before its last layer.",
             kHasDropout),
      plain("model.bias", at<&Model::bias>(), kStays, "Whether linear layers and layer norms have biases.", kGpt2),
      plain("model.tied_head", at<&Model::tied_head>(), kStays, "Whether the output layer is the token embedding.",
            kLanguage),
      number("model.rope_theta", at<&Model::rope_theta>(), kStays, {.least = 1, .most = 1e12},
             "Base of the rotary positions' wavelengths.", kLlama),
      plain("model.init_from", at<&Model::init_from>(), kStays,
            "Folder with config.json and model.safetensors, as Hugging Face writes them, to start from; empty: start "
            "from random weights. Sizes given here must then be the folder's.",
            kTokens),
      number("model.channels", at<&Model::channels>(), kStays, {1, 65536}, "Channels of the first stage.", kCnn),
      number("model.convolutions", at<&Model::convolutions>(), kStays, {1, 16},
             "Convolutions of each stage, of 3 by 3 pixels.", kCnn),
      plain("model.batch_norm", at<&Model::batch_norm>(), kStays,
            "Whether a batch norm follows every convolution, which then has no bias.", kCnn),
      plain(
          "model.small_pictures", at<&Model::small_pictures>(), kStays,
          "Whether a resnet begins with a convolution of 3 by 3 pixels and no pooling, for pictures of some 32 by 32.",
          kResNet),

      plain("data.train", at<&Data::train>(), kMayMove,
            "What to train on: a token file, a text file, or stories for the built-in corpus. Of a bert, CSV, "
            "tab-separated "
            "values (.tsv) or JSON lines (.jsonl) with a field of texts and one of labels.",
            kTokens),
      plain("data.validation", at<&Data::validation>(), kMayMove,
            "A second file to validate on; empty: the end of data.train.", kTokens),
      number(
          "data.validation_fraction", at<&Data::validation_fraction>(), kStays, {.least = 0, .most = 0.5},
          "Share of data.train, at its end, that is held back for validation; 0: none. Of a folder of pictures where "
          "there is no folder val, and of texts with labels, the share of each class, chosen by data.seed.",
          kSplit),
      number("data.story_megabytes", at<&Data::story_megabytes>(), kStays, {1, 4096},
             "Length of the built-in corpus, in millions of bytes.", both(kLanguage, kStories)),
      number("data.story_seed", at<&Data::story_seed>(), kStays, kSeed, "Seed of the built-in corpus.",
             both(kLanguage, kStories)),
      choice("data.order", at<&Data::order>(), kStays, {"random", "shuffled", "sequential"},
             "random: windows from anywhere; shuffled: every window once an epoch, in random order; sequential: one "
             "after the other.",
             kLanguage),
      number("data.seed", at<&Data::seed>(), kStays, kSeed, "Seed of the order.", kDrawn),
      plain("data.prefetch", at<&Data::prefetch>(), kMayChange,
            "Whether a thread prepares the next batch while a step runs."),
      plain("data.field", at<&Data::field>(), kStays, "The field of each line that holds the text.", kHasFields),
      plain("data.second_field", at<&Data::second_field>(), kStays,
            "The field that holds a second text, for pairs such as a question and an answer; empty: none.", kText),
      plain("data.label_field", at<&Data::label_field>(), kStays,
            "The field that holds the label, which may be any text or number.", kText),
      choice(
          "data.dataset", at<&Data::dataset>(), kStays, {"mnist", "fashion_mnist", "cifar10", "folder"},
          "The images to tell apart, and to validate on those that it has for tests. folder: PNG and JPEG files in a "
          "folder for each class, or in train and val with such folders.",
          kPictures),
      plain("data.path", at<&Data::path>(), kMayMove,
            "The folder of the files of data.dataset; empty: where Debian's package dataset-fashion-mnist has them.",
            kPictures),
      number("data.picture_size", at<&Data::picture_size>(), kStays, {1, 4096},
             "Height and width that pictures of a folder are brought to.", kFolder),
      number("data.least_area", at<&Data::least_area>(), kStays, {.least = 0, .most = 1, .above_least = true},
             "Training pictures of a folder are parts of chance size and ratio, of at least this share of the picture "
             "(0.08 is usual for ImageNet), and tests are on the middle; 1: the middle square in both.",
             kFolder),
      number("data.shift", at<&Data::shift>(), kStays, {0, 64},
             "Training images are moved by up to so many pixels, in every direction.", kPictures),
      plain("data.flip", at<&Data::flip>(), kStays, "Whether every other training image is turned left to right.",
            kPictures),

      choice(
          "tokenizer.kind", at<&Tokenizer::kind>(), kStays, {"char", "byte", "word", "bpe", "wordpiece", "file"},
          "char, word, bpe: learned from the training text; byte: every byte a token; file: read from tokenizer.path. "
          "wordpiece: words and letters of the training texts, for a bert.",
          kTokens),
      plain("tokenizer.path", at<&Tokenizer::path>(), kStays,
            "A tokenizer's file, or a folder that holds one; empty: that of model.init_from.", kFile),
      number("tokenizer.vocabulary", at<&Tokenizer::vocabulary>(), kStays, {2, 1048576}, "Tokens to learn.",
             both(kTokens, kLearned)),

      number("training.steps", at<&Training::steps>(), kMayChange, kSomeSteps, "Updates of the weights."),
      number("training.batch_size", at<&Training::batch_size>(), kStays, {1, 1048576},
             "Sequences, texts or images of one update, all micro-batches together."),
      number("training.micro_batches", at<&Training::micro_batches>(), kStays, {1, 65536},
             "Parts that a batch is computed in, one after the other: less memory, the same update."),
      number("training.sequence_length", at<&Training::sequence_length>(), kStays, {0, 1048576},
             "Tokens of a training sequence; of a bert the most of a text, which is cut there; 0: model.context.",
             kTokens),
      choice("training.precision", at<&Training::precision>(), kStays, {"f32", "tf32", "bf16", "f16"},
             "Type of the matrix products; weights stay f32. tf32 is f32 on devices without it; f16 scales the loss."),
      choice(
          "training.method", at<&Training::method>(), kStays, {"autoregressive", "masked_lm"},
          "autoregressive: every token is told from those before it; masked_lm: masked tokens from those around them.",
          kLanguage),
      number("training.mask_fraction", at<&Training::mask_fraction>(), kStays,
             {.least = 0, .most = 1, .above_least = true, .below_most = true}, "Share of tokens that are masked.",
             kMasked),
      choice(
          "training.mode", at<&Training::mode>(), kStays, {"scratch", "finetune", "lora"},
          "scratch: from random weights; finetune: all weights of model.init_from; lora: low-rank additions to them.",
          kTokens),
      number("training.lora_rank", at<&Training::lora_rank>(), kStays, {1, 4096}, "Rank of the additions.", kLora),
      number("training.lora_alpha", at<&Training::lora_alpha>(), kStays, kPositive,
             "The additions count alpha / rank times.", kLora),
      number("training.lora_dropout", at<&Training::lora_dropout>(), kStays, kBelowOne,
             "Dropout in front of the additions.", kLora),
      plain("training.lora_targets", at<&Training::lora_targets>(), kStays,
            "Names of the layers that get additions; empty: c_attn of gpt2, q_proj and v_proj of llama.", kLora),
      number("training.seed", at<&Training::seed>(), kStays, kSeed, "Seed of weights, dropout and masks."),
      number("training.clip_norm", at<&Training::clip_norm>(), kStays, {0, kMany},
             "Gradients are scaled down to this norm where theirs is greater; 0: never."),
      number("training.eval_every", at<&Training::eval_every>(), kMayChange, kSteps,
             "Steps between two evaluations; 0: none.", kValidated),
      number("training.eval_batches", at<&Training::eval_batches>(), kMayChange, kSteps,
             "Batches of an evaluation; 0: all validation data, each token, text or image once.", kEvaluated),
      number("training.log_every", at<&Training::log_every>(), kMayChange, kSomeSteps,
             "Steps between two lines of metrics."),
      number("training.loss_chunk", at<&Training::loss_chunk>(), kStays, kSteps,
             "Logits of this many tokens exist at a time, to save memory; 0: of all.", kLanguage),
      number("training.label_smoothing", at<&Training::label_smoothing>(), kStays, kBelowOne,
             "Share of the target that all classes have alike; validation is without.", kTellsApart),
      plain("training.check_finite", at<&Training::check_finite>(), kMayChange,
            "Whether a loss that is not finite stops the run."),
      plain("training.capture", at<&Training::capture>(), kMayChange,
            "Whether the step is recorded once and replayed; false: recorded anew every time."),

      choice("optimizer.kind", at<&Optimizer::kind>(), kStays,
             optimizers_that([](const OptimizerRow&) { return true; }), "The update rule."),
      number("optimizer.lr", at<&Optimizer::lr>(), kStays, {.least = 0, .most = 100, .above_least = true},
             "The learning rate that the schedule scales."),
      number("optimizer.beta1", at<&Optimizer::beta1>(), kStays, kBelowOne, "Decay of the mean of gradients.",
             read_by_optimizer("beta1")),
      number("optimizer.beta2", at<&Optimizer::beta2>(), kStays, kBelowOne,
             "Decay of the mean of squared gradients; for lion, of the kept mean.", read_by_optimizer("beta2")),
      number("optimizer.epsilon", at<&Optimizer::epsilon>(), kStays, {.least = 0, .most = 1, .above_least = true},
             "Added to what is divided by.", read_by_optimizer("epsilon")),
      number("optimizer.weight_decay", at<&Optimizer::weight_decay>(), kStays, {0, 100}, weight_decay_text()),
      choice("optimizer.decay", at<&Optimizer::decay>(), kStays, {"matrices", "all", "none"},
             "Which weights decay; matrices: those of two dimensions or more, so neither biases nor norms.", kDecays),
      number("optimizer.momentum", at<&Optimizer::momentum>(), kStays, kBelowOne,
             "Share of the last update in the next.", read_by_optimizer("momentum")),
      plain("optimizer.nesterov", at<&Optimizer::nesterov>(), kStays, "Whether momentum looks ahead.",
            both(read_by_optimizer("nesterov"), kHasMomentum)),
      number("optimizer.alpha", at<&Optimizer::alpha>(), kStays, kBelowOne, "Decay of the mean of squared gradients.",
             read_by_optimizer("alpha")),
      number(
          "optimizer.average", at<&Optimizer::average>(), kStays, kBelowOne,
          "Decay, step by step, of a moving mean of the weights and of running statistics: validation, samples and the "
          "finished model are with it; 0: none."),

      choice("schedule.kind", at<&Schedule::kind>(), kStays,
             {"constant", "linear", "cosine", "cosine_restarts", "one_cycle", "step", "exponential", "plateau"},
             "How the learning rate changes."),
      number("schedule.warmup_steps", at<&Schedule::warmup_steps>(), kStays, kSteps,
             "Steps over which the rate rises evenly at first; with one_cycle the steps of its rise, 0: three tenths "
             "of all."),
      number("schedule.min_lr", at<&Schedule::min_lr>(), kStays, {0, 100}, "The rate does not fall below.", kFloor),
      number("schedule.decay_steps", at<&Schedule::decay_steps>(), kStays, kSteps,
             "The step at which the rate is at its end; 0: training.steps.", kEnds),
      number("schedule.restart_every", at<&Schedule::restart_every>(), kStays, kSteps, "Steps of the first cycle.",
             kRestarts),
      number("schedule.restart_factor", at<&Schedule::restart_factor>(), kStays, {1, 100},
             "Each cycle is so many times as long as the one before.", kRestarts),
      number(
          "schedule.gamma", at<&Schedule::gamma>(), kStays, {.least = 0, .most = 1, .above_least = true},
          "What the rate is multiplied by: every schedule.step_every steps, every step (exponential), or on a plateau.",
          kGamma),
      number("schedule.step_every", at<&Schedule::step_every>(), kStays, kSteps, "Steps between two falls.", kStepwise),
      number("schedule.patience", at<&Schedule::patience>(), kStays, kSteps,
             "Evaluations without progress before the rate falls.", kPlateau),

      number("checkpoint.every", at<&Checkpoint::every>(), kMayChange, kSteps,
             "Steps between two checkpoints; 0: none on the way."),
      number("checkpoint.keep_last", at<&Checkpoint::keep_last>(), kMayChange, {1, 1000000},
             "Checkpoints that are kept; older ones are removed.", kKept),
      plain("checkpoint.keep_best", at<&Checkpoint::keep_best>(), kMayChange,
            "Whether the one with the lowest validation loss is kept beside them.", kEvaluated),
      plain("checkpoint.at_end", at<&Checkpoint::at_end>(), kMayChange, "Whether one is written behind the last step."),

      number("sample.every", at<&Sample::every>(), kMayChange, kSteps,
             "Steps between two samples; 0: none. A language model writes text; a bert, cnn or resnet shows texts or "
             "images that it takes for something else."),
      plain("sample.prompt", at<&Sample::prompt>(), kMayChange,
            "What samples begin with; empty: the end-of-text token, or the first token.", both(kLanguage, kSampled)),
      number("sample.tokens", at<&Sample::tokens>(), kMayChange, {1, 1048576},
             "Tokens of a sample; fewer where the context has no room for them.", both(kLanguage, kSampled)),
      number("sample.count", at<&Sample::count>(), kMayChange, {1, 1024}, "Samples, or texts or images, each time.",
             kSampled),
      number("sample.temperature", at<&Sample::temperature>(), kMayChange, {0, 100},
             "Above 1 more surprising, below 1 more likely tokens; 0: always the most likely.",
             both(kLanguage, kSampled)),
      number("sample.top_k", at<&Sample::top_k>(), kMayChange, {0, 16777216},
             "Draw among this many most likely tokens; 0: among all.", both(kLanguage, kDiced)),
      number("sample.top_p", at<&Sample::top_p>(), kMayChange, {.least = 0, .most = 1, .above_least = true},
             "Draw among the fewest tokens that have this probability together.", both(kLanguage, kDiced)),
      number("sample.min_p", at<&Sample::min_p>(), kMayChange, kBelowOne,
             "Draw among tokens at least this likely, relative to the most likely.", both(kLanguage, kDiced)),
      number("sample.repetition_penalty", at<&Sample::repetition_penalty>(), kMayChange,
             {.least = 0, .most = 100, .above_least = true},
             "Logits of tokens that occurred are divided by it (multiplied where negative); 1: none.",
             both(kLanguage, kSampled)),
      number("sample.seed", at<&Sample::seed>(), kMayChange, kSeed, "Seed of the draws.", both(kLanguage, kDiced)),

      plain(
          "device.name", at<&Device::name>(), kMayChange,
          "Where to compute: cpu, cuda, vulkan, opencl, a second GPU as vulkan:1 (tenon info lists what is there), or "
          "auto: the first of cuda, vulkan and opencl that is a GPU and can hold the model, else cpu; reference is "
          "slow "
          "and simple, for comparing. A run may go on on another device, with other last bits."),
      number("device.threads", at<&Device::threads>(), kMayChange, {0, 4096},
             "Threads on the host; 0: one for each core."),
      number("device.memory_limit", at<&Device::memory_limit>(), kMayChange, {0, 1 << 30},
             "Most MiB that tensors take on the device, what is kept for reuse included; 0: all there is."),
  };
  return keys;
}

}  // namespace

std::span<const Key> config_keys() { return table(); }

}  // namespace tenon::train
