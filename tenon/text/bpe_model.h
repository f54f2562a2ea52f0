// A byte-level BPE as data: what its files say and training finds, checked, before it is made into a tokenizer.

#pragma once

#include <array>
#include <string>
#include <vector>

#include "tenon/io/input.h"
#include "tenon/text/special_tokens.h"

namespace tenon::text {

class JsonView;

/// Two tokens that become one.
struct BpeMerge {
  int32_t left = 0, right = 0, result = 0;  // before, behind it, and what they become
};

/// A vocabulary and its merges.
struct BpeModel {
  std::vector<std::string> tokens;      // the bytes of each token
  std::array<int32_t, 256> byte_ids{};  // the token of each single byte
  std::vector<BpeMerge> merges;         // the first is done first
  std::vector<SpecialToken> specials;   // those that stand for names
  bool add_prefix_space = false;        // a text that does not start with a blank is given one
};

/// vocab.json and merges.txt, or GPT-2's own encoder.json and vocab.bpe, which differ in their names only. Tokens that
/// no merge makes must look like special ones (<...>, [...]): else the merges are not all there.
BpeModel parse_bpe_files(const io::Input& vocabulary, const io::Input& merges);

/// tokenizer.json of Hugging Face: a model of type BPE behind a ByteLevel pre-tokenizer. What would change the tokens
/// and is not done here is refused by name.
BpeModel parse_hugging_face_bpe(const JsonView& root);

/// The model as a tokenizer.json that this room and Hugging Face read.
std::string hugging_face_json(const BpeModel& model);

/// Adds special tokens behind the last token; fails where a name is empty, taken or no UTF-8.
///   text::BpeTrainer trainer({.vocabulary = 260});
///   text::BpeModel model = trainer.train();
///   const std::vector<std::string> names = {"<|user|>"};
///   text::add_specials(model, names);
void add_specials(BpeModel& model, std::span<const std::string> names);

}  // namespace tenon::text
