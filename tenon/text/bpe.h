// Byte-level BPE, as GPT-2 has it: text is cut into pieces (pieces.h), and inside each the bytes are merged into
// tokens.
//
//   text::Bpe tokenizer = text::load_bpe("vocab.json", "merges.txt");
//   tokenizer.encode("Hello world");   // 15496 995 with GPT-2's files

#pragma once

#include "tenon/text/bpe_model.h"
#include "tenon/text/tokenizer.h"

namespace tenon::text {

/// A byte-level BPE tokenizer.
///   text::BpeTrainer trainer({.vocabulary = 260});
///   trainer.add("low lower lowest");
///   text::Bpe tokenizer(trainer.train());
///   tokenizer.decode(tokenizer.encode("lower"));  // lower
class Bpe : public Tokenizer {
 public:
  explicit Bpe(BpeModel model);
  ~Bpe() override;
  Bpe(Bpe&&) noexcept;
  Bpe& operator=(Bpe&&) = delete;

  using Tokenizer::encode;
  void encode(std::string_view text, std::vector<int32_t>& ids, Special special = Special::kAsText) const override;
  std::string_view token(int32_t id) const override;
  int64_t vocabulary() const override;
  std::optional<int32_t> end_of_text() const override;
  size_t cut(std::string_view text, size_t from) const override;
  std::string_view kind() const override { return "bpe"; }
  std::string json() const override;

  /// What it was made of.
  const BpeModel& model() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads vocab.json and merges.txt, or encoder.json and vocab.bpe.
Bpe load_bpe(const std::filesystem::path& vocabulary, const std::filesystem::path& merges);
/// The same of files in an open folder.
Bpe load_bpe(const io::OpenFolder& folder, const std::string& vocabulary, const std::string& merges);

}  // namespace tenon::text
