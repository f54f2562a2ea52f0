// Byte-level BPE: GPT-2's tokens, exact round trips, and the same tokens however they are found.

#include "tenon/text/bpe.h"

#include <thread>

#include "tenon/base/parallel.h"
#include "tenon/text/bpe_merge.h"
#include "tests/text/support.h"

namespace tenon::text {
namespace {

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

class OnGpt2 : public io::OnSharedData {
 protected:
  OnGpt2() : OnSharedData("gpt2_bpe") {}
  const Tokenizer& gpt2() const {
    static const std::unique_ptr<Tokenizer> loaded = load_tokenizer(shared_);
    return *loaded;
  }
  std::string wikipedia() const { return io::content_of(io::shared_data() / "enwiki" / "enwiki_plain.txt"); }
};

TEST_F(OnGpt2, EveryRecordedCaseHasTheSameIdsAndComesBack) {
  std::ifstream lines(shared_ / "golden.jsonl");
  int cases = 0;
  for (std::string line; std::getline(lines, line); ++cases) {
    const auto recorded = nlohmann::json::parse(line);
    const std::string text = from_hex(recorded["utf8_hex"]);
    const Special special = recorded.value("special", false) ? Special::kAllowed : Special::kAsText;
    const Ids ids = gpt2().encode(text, special);
    EXPECT_EQ(ids, recorded["ids"].get<Ids>()) << line;
    EXPECT_EQ(gpt2().decode(ids), text) << line;
  }
  EXPECT_EQ(cases, 130);
}

TEST_F(OnGpt2, HasItsEndOfTextAndNoOtherSpecialToken) {
  EXPECT_EQ(gpt2().vocabulary(), 50257);
  EXPECT_EQ(gpt2().end_of_text(), 50256);
  EXPECT_EQ(dynamic_cast<const Bpe&>(gpt2()).model().specials.size(), 1U);
  EXPECT_EQ(gpt2().encode("<|endoftext|>"), (Ids{27, 91, 437, 1659, 5239, 91, 29}));
}

TEST_F(OnGpt2, AnyBytesComeBack) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    const std::string text = i % 2 ? random_bytes(random, random() % 200) : random_text(random, random() % 100);
    ASSERT_EQ(gpt2().decode(gpt2().encode(text)), text);
  }
}

TEST_F(OnGpt2, ThreadsFindWhatOneThreadFinds) {
  const std::string text = wikipedia().substr(0, 1 << 20) + "<|endoftext|> é";
  const Ids alone = gpt2().encode(text, Special::kAllowed);
  const int before = base::num_threads();
  base::set_num_threads(4);
  const Ids together = encode_parallel(gpt2(), text, Special::kAllowed);
  base::set_num_threads(before);
  EXPECT_TRUE(together == alone);
}

TEST_F(OnGpt2, OneTokenizerServesSeveralThreadsAtOnce) {
  const std::string text = wikipedia().substr(0, 1 << 16);
  const Ids expected = gpt2().encode(text);
  std::array<Ids, 4> found;
  std::vector<std::thread> threads;
  for (Ids& ids : found) threads.emplace_back([&] { ids = gpt2().encode(text); });
  for (std::thread& thread : threads) thread.join();
  for (const Ids& ids : found) EXPECT_TRUE(ids == expected);
}

TEST_F(OnGpt2, SavedAndLoadedItIsTheSame) {
  gpt2().save(folder_ / "new" / "folder");
  const std::unique_ptr<Tokenizer> again = load_tokenizer(folder_ / "new" / "folder");
  const BpeModel &a = dynamic_cast<const Bpe&>(gpt2()).model(), &b = dynamic_cast<const Bpe&>(*again).model();
  EXPECT_TRUE(a.tokens == b.tokens);
  EXPECT_EQ(a.merges.size(), b.merges.size());
  EXPECT_TRUE(again->json() == gpt2().json());
  EXPECT_EQ(again->end_of_text(), 50256);
  const std::string text = wikipedia().substr(0, 20000);
  EXPECT_EQ(again->encode(text), gpt2().encode(text));
}

TEST(Bpe, MergesTheEarliestRuleFirstAndTheLeftmostOfEquals) {
  const Bpe tokenizer = TinyFiles({"b c", "a b", "a bc"}).tokenizer();
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("abc")), "abc");
  EXPECT_EQ(tokenizer.encode("abc"), (Ids{258}));
  const Bpe doubles = TinyFiles({"a a"}).tokenizer();
  EXPECT_EQ(doubles.encode("aaa"), (Ids{256, 'a'}));
}

/// What merging means, spelled out.
Ids merged_slowly(Ids ids, const std::vector<MergeRule>& rules) {
  while (true) {
    const MergeRule* best = nullptr;
    size_t place = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      for (const MergeRule& rule : rules) {
        if (rule.left != ids[i] || rule.right != ids[i + 1] || (best && best->rank <= rule.rank)) continue;
        best = &rule;
        place = i;
      }
    }
    if (!best) return ids;
    ids[place] = best->result;
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(place) + 1);
  }
}

TEST(Merger, WordsAndLongPiecesAreMergedByTheSameRule) {
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    std::vector<MergeRule> rules;  // over a few tokens, each result a new one; some ranks are equal
    for (int32_t left = 0; left < 12; ++left) {
      const auto right = static_cast<int32_t>(random() % 6);
      rules.push_back({left, right, static_cast<int32_t>(6 + rules.size()), static_cast<uint32_t>(random() % 8)});
    }
    const Merger merger(rules);
    for (const size_t length : {3U, 20U, 64U, 65U, 150U}) {
      MergeScratch scratch;
      for (size_t i = 0; i < length; ++i) scratch.parts.push_back(static_cast<int32_t>(random() % 6));
      const Ids expected = merged_slowly(scratch.parts, rules);
      Ids ids;
      merger.merge(scratch, ids);
      ASSERT_EQ(ids, expected);
    }
  }
}

TEST(Bpe, APieceWithoutEndTakesNoSquareOfItsLength) {
  const Bpe tokenizer = TinyFiles({"a a", "aa aa"}).tokenizer();
  const Ids ids = tokenizer.encode(std::string(4000000, 'a'));
  EXPECT_TRUE(ids == Ids(1000000, 257));
}

TEST(Bpe, WordsThatDifferOnlyInZeroBytesAreNotConfused) {
  const Bpe tokenizer = TinyFiles().tokenizer();
  for (const std::string& text :
       {std::string("\x01\x02"), std::string("\x01\x02\0", 3), std::string("\x01\x02\0\0", 4)}) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
}

TEST(Bpe, OfSpecialNamesTheLongestIsTaken) {
  auto json = TinyFiles().hugging_face();
  json["added_tokens"] = {
      {{"id", 256}, {"content", "<a>"}}, {{"id", 257}, {"content", "<a>b"}}, {{"id", 258}, {"content", "x y"}}};
  const auto tokenizer = from_json(json.dump());
  EXPECT_EQ(tokenizer->encode("1<a>b<a>cx y", Special::kAllowed), (Ids{'1', 257, 256, 'c', 258}));
  EXPECT_EQ(tokenizer->decode(Ids{257, 258}), "<a>bx y");
  EXPECT_EQ(tokenizer->encode("<a>"), (Ids{'<', 'a', '>'}));
  EXPECT_EQ(tokenizer->cut("12 x y z", 4), 6U);  // not inside of "x y"
  EXPECT_EQ(from_json(tokenizer->json())->json(), tokenizer->json());
}

TEST(Bpe, APrefixSpaceIsPutBeforeEveryPartThatHasNone) {
  auto json = TinyFiles({"Ġ a"}).hugging_face();
  json["pre_tokenizer"]["add_prefix_space"] = true;
  json["added_tokens"] = {{{"id", 257}, {"content", "<s>"}, {"special", true}}};
  const auto tokenizer = from_json(json.dump());
  EXPECT_EQ(tokenizer->encode("a a"), (Ids{256, 256}));
  EXPECT_EQ(tokenizer->encode("a<s>a<s> a", Special::kAllowed), (Ids{256, 257, 256, 257, 256}));
  EXPECT_EQ(tokenizer->encode(""), Ids());
  EXPECT_EQ(from_json(tokenizer->json())->encode("a"), (Ids{256}));
}

TEST(Bpe, NoTokenHasThatNumber) {
  const Bpe tokenizer = TinyFiles().tokenizer();
  EXPECT_EQ(text_of([&] {
              tokenizer.decode(Ids{1, 256});
            }),
            "[tokenizer] there is no token 256; the vocabulary has 0 to 255");
  EXPECT_EQ(text_of([&] { tokenizer.token(-1); }), "[tokenizer] there is no token -1; the vocabulary has 0 to 255");
}

TEST(Bpe, CutsChangeNoToken) {
  const Bpe tokenizer = TinyFiles({"a b", "Ġ a", "Ġa b", "Ċ Ċ"}).tokenizer();
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random_text(random, 12);
    const size_t at = tokenizer.cut(text, random() % text.size());
    Ids joined = tokenizer.encode(std::string_view(text).substr(0, at));
    tokenizer.encode(std::string_view(text).substr(at), joined);
    ASSERT_EQ(joined, tokenizer.encode(text)) << testing::PrintToString(text) << " at " << at;
  }
}

}  // namespace
}  // namespace tenon::text
