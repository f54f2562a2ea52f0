// Stories: always the same, never twice, and whole sentences in the right words.

#include "tenon/data/stories.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

namespace tenon::data {
namespace {

TEST(Stories, ASeedTellsTheSameStories) {
  EXPECT_EQ(stories(10'000, 3), stories(10'000, 3));
  EXPECT_NE(stories(10'000, 3), stories(10'000, 4));
}

TEST(Stories, AreTheSameOnEveryMachine) {
  EXPECT_EQ(StoryTeller(1).next().substr(0, 73),
            "Once upon a time, a curious little squirrel named Pip lived by the river.");
}

TEST(Stories, TenThousandAreAllDifferent) {
  StoryTeller teller(1);
  std::set<std::string> told;
  for (int i = 0; i < 10'000; ++i) told.insert(teller.next());
  EXPECT_EQ(told.size(), 10'000);
}

TEST(Stories, NoTwoSeedsTellTheSame) {
  std::set<std::string> told;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    StoryTeller teller(seed);
    for (int i = 0; i < 100; ++i) told.insert(teller.next());
  }
  EXPECT_EQ(told.size(), 2'000);
}

TEST(Stories, AreAsLongAsAskedFor) {
  const std::string text = stories(5'000, 1);
  EXPECT_GE(text.size(), 5'000);
  EXPECT_LT(text.size(), 8'000);
  EXPECT_TRUE(text.ends_with("\n\n"));
  EXPECT_NE(stories(5'000, 1, "\n<|endoftext|>\n").find(".\n<|endoftext|>\n"), std::string::npos);
}

TEST(Stories, HaveASmallVocabulary) {
  std::set<std::string> words;
  std::string word;
  for (char c : stories(2'000'000, 1)) {
    if (std::isalpha(static_cast<unsigned char>(c))) {
      word += static_cast<char>(std::tolower(c));
    } else if (!word.empty()) {
      words.insert(std::exchange(word, ""));
    }
  }
  EXPECT_GT(words.size(), 400);
  EXPECT_LT(words.size(), 1000);
}

TEST(Stories, AreWholeSentences) {
  StoryTeller teller(2);
  // What a slip in a plot would leave: signs of the grammar, a small letter where a sentence or paragraph begins, a
  // word twice, the wrong article, or a gap.
  const std::regex slip(
      R"([{}\[\]|;]|  |(^|\n|\. )[a-z]|\b([a-z]+) \2\b|\b[Aa] [aeiou]|\b[Aa]n [^aeiou]| [.,!?]|\.\.)");
  for (int i = 0; i < 1'000; ++i) {
    const std::string story = teller.next();
    std::smatch found;
    EXPECT_FALSE(std::regex_search(story, found, slip)) << found.str() << "\n" << story;
    EXPECT_TRUE(story.ends_with('.') || story.ends_with('"')) << story;
    EXPECT_EQ(std::count(story.begin(), story.end(), '"') % 2, 0) << story;
    EXPECT_GT(story.size(), 300) << story;
  }
}

TEST(Stories, KeepTheirHero) {
  StoryTeller teller(5);
  for (int i = 0; i < 200; ++i) {
    const std::string story = teller.next();
    const std::regex hero(R"(named ([A-Z][a-z]+)|^(?!There)([A-Z][a-z]+) was)");
    std::smatch found;
    ASSERT_TRUE(std::regex_search(story, found, hero)) << story;
    const std::string name = found[1].matched ? found[1].str() : found[2].str();
    const std::string last = story.substr(story.rfind('\n'));
    EXPECT_NE(last.find(name), std::string::npos) << "the last paragraph has forgotten " << name << "\n" << story;
  }
}

}  // namespace
}  // namespace tenon::data
