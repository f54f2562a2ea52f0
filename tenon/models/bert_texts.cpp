#include "tenon/models/bert_texts.h"

#include <algorithm>

#include "tenon/io/open_folder.h"
#include "tenon/tensor/creation.h"

namespace tenon::models {

std::shared_ptr<const text::WordPiece> as_wordpiece(std::shared_ptr<const text::Tokenizer> tokenizer,
                                                    const std::filesystem::path& path) {
  auto found = std::dynamic_pointer_cast<const text::WordPiece>(tokenizer);
  if (!found)
    base::fail("bert", "{}: is a tokenizer of kind {}; a BERT reads a WordPiece (vocab.txt or its tokenizer.json)",
               path.string(), tokenizer->kind());
  return found;
}

BertTokens bert_tokens(const text::WordPiece& tokenizer, const std::vector<std::string>& texts, int64_t longest,
                       const std::vector<std::string>& seconds, Device device) {
  if (texts.empty()) base::fail("bert", "there are no texts");
  if (!seconds.empty() && seconds.size() != texts.size())
    base::fail("bert", "{} texts and {} second ones do not make pairs", texts.size(), seconds.size());
  std::vector<text::BertInput> inputs;
  size_t most = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto second = seconds.empty() ? std::nullopt : std::optional<std::string_view>(seconds[i]);
    inputs.push_back(tokenizer.encode_for_bert(texts[i], second, longest));
    most = std::max(most, inputs.back().ids.size());
  }
  const size_t count = texts.size() * most;
  std::vector<int64_t> ids(count, padding_token(tokenizer)), mask(count), types(count);
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::ranges::copy(inputs[i].ids, ids.begin() + static_cast<ptrdiff_t>(i * most));
    std::ranges::copy(inputs[i].types, types.begin() + static_cast<ptrdiff_t>(i * most));
    std::fill_n(mask.begin() + static_cast<ptrdiff_t>(i * most), inputs[i].ids.size(), 1);
  }
  const Dims shape = {static_cast<int64_t>(texts.size()), static_cast<int64_t>(most)};
  return {from_vector(ids, shape, device), from_vector(mask, shape, device), from_vector(types, shape, device)};
}

int32_t padding_token(const text::WordPiece& tokenizer) {
  return text::special_named(tokenizer.model().specials, {"[PAD]", "<pad>", "<PAD>", "[pad]"}).value_or(0);
}

std::shared_ptr<const text::WordPiece> load_wordpiece(const std::filesystem::path& path) {
  return as_wordpiece(text::load_tokenizer(path), path);
}

std::shared_ptr<const text::WordPiece> load_wordpiece(const io::OpenFolder& folder) {
  return as_wordpiece(text::load_tokenizer(folder), folder.path());
}

}  // namespace tenon::models
