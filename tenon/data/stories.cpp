#include "tenon/data/stories.h"

#include <map>

#include "tenon/base/error.h"
#include "tenon/base/hash.h"
#include "tenon/data/story_plots.h"

namespace tenon::data {
namespace {

/// The same numbers on every machine, which std::shuffle and the distributions of the standard library do not promise.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  size_t below(size_t count) {
    state_ = base::mix(state_, count);
    return static_cast<size_t>(state_ % count);
  }
  bool once_in(size_t count) { return below(count) == 0; }
  const auto& one_of(const auto& list) { return list[below(list.size())]; }

 private:
  uint64_t state_;
};

const Words kGirls = {"Mia",  "Lily", "Anna", "Lucy", "Sara", "Emma", "Zoe", "Ella",
                      "Rosa", "Nina", "Amy",  "Kate", "Ruby", "Jane", "Tara"};
const Words kBoys = {"Tom",  "Ben",  "Sam",  "Max", "Tim",  "Leo",  "Jack", "Finn",
                     "Noah", "Omar", "Paul", "Dan", "Luke", "Theo", "Sid"};
const Words kAnimalGirls = {"Dot", "Coco", "Poppy", "Daisy", "Bella", "Honey", "Luna"};
const Words kAnimalBoys = {"Pip", "Bo", "Teddy", "Rusty", "Oscar", "Toby", "Hugo"};
const Words kAnimals = {"rabbit", "bear", "mouse", "fox", "duck", "frog", "squirrel", "cat", "dog", "pig"};
const Words kTraits = {"kind", "happy", "clever", "curious", "cheerful", "funny", "gentle", "friendly"};
const std::vector<Words> kParents = {{"mom", "Mom", "she", "She", "her"},
                                     {"dad", "Dad", "he", "He", "his"},
                                     {"grandma", "Grandma", "she", "She", "her"},
                                     {"grandpa", "Grandpa", "he", "He", "his"}};
const Choice kLairs = {"lair",
                       {"in the forest", "near a pond", "under an old tree", "on a green hill", "by the river"}};
const Choice kTowns = {"town",
                       {"town", "village", "house near a forest", "house by the sea", "house with a green door"}};

const Words kChildOpenings = {
    "Once upon a time, there was a {trait} little {kind} named {A}.",
    "{A} was a {trait} little {kind}. {He} lived in a small {town}.",
    "There was once a little {kind} named {A}. {He} was very {trait}.",
    "In a small {town}, there lived a {trait} {kind} named {A}.",
    "Once there was a {kind} named {A}. {He} lived in a [quiet|little] {town} with {his} {P}.",
};
const Words kAnimalOpenings = {
    "Once upon a time, a {trait} little {kind} named {A} lived {lair}.",
    "{A} was a {trait} {kind} who lived {lair}.",
    "There was once a little {kind} named {A}. {He} lived {lair} and was very {trait}.",
    "Once there was a {kind} named {A}. {He} lived {lair} with {his} {P}.",
};

const std::vector<Plot>& all_plots() {
  static const std::vector<Plot> plots = [] {
    std::vector<Plot> all = plots_about_things();
    for (Plot& plot : plots_about_people()) all.push_back(std::move(plot));
    return all;
  }();
  return plots;
}

class Story {
 public:
  explicit Story(uint64_t seed) : dice_(seed) {}

  std::string told() {
    const Plot& plot = dice_.one_of(all_plots());
    const bool are_animals = plot.for_animals && dice_.once_in(3);
    cast_people(are_animals);
    for (const Choice& choice : plot.cast) choose(choice);
    add(dice_.one_of(are_animals ? kAnimalOpenings : kChildOpenings));
    for (const Words& step : plot.steps) add(dice_.one_of(step));
    return std::move(story_);
  }

 private:
  void cast_people(bool are_animals) {
    const bool hero_is_girl = dice_.once_in(2), friend_is_girl = dice_.once_in(2);
    const auto name_for = [&](bool is_girl) {
      return dice_.one_of(are_animals ? (is_girl ? kAnimalGirls : kAnimalBoys) : (is_girl ? kGirls : kBoys));
    };
    cast_["A"] = name_for(hero_is_girl);
    do cast_["F"] = name_for(friend_is_girl);
    while (cast_["F"] == cast_["A"]);
    cast_pronouns("he", "He", "him", "his", "His", hero_is_girl);
    cast_pronouns("fhe", "Fhe", "fhim", "fhis", "Fhis", friend_is_girl);
    cast_["kind"] = are_animals ? dice_.one_of(kAnimals) : hero_is_girl ? "girl" : "boy";
    do cast_["fkind"] = are_animals ? dice_.one_of(kAnimals) : friend_is_girl ? "girl" : "boy";
    while (are_animals && cast_["fkind"] == cast_["kind"]);
    cast_["friend"] = are_animals ? "{his} friend {F} the {fkind}" : "{his} friend {F}";
    cast_["Friend"] = are_animals ? "{His} friend {F} the {fkind}" : "{His} friend {F}";
    const Words& parent = dice_.one_of(kParents);
    cast_["P"] = parent[0];
    cast_["Pname"] = parent[1];
    cast_["phe"] = parent[2];
    cast_["Phe"] = parent[3];
    cast_["phis"] = parent[4];
    cast_["trait"] = dice_.one_of(kTraits);
    choose(kLairs);
    choose(kTowns);
  }

  void cast_pronouns(const char* he, const char* big_he, const char* him, const char* his, const char* big_his,
                     bool is_girl) {
    cast_[he] = is_girl ? "she" : "he";
    cast_[big_he] = is_girl ? "She" : "He";
    cast_[him] = is_girl ? "her" : "him";
    cast_[his] = is_girl ? "her" : "his";
    cast_[big_his] = is_girl ? "Her" : "His";
  }

  void choose(const Choice& choice) {
    std::string_view names = choice.names, parts = dice_.one_of(choice.entries);
    while (!names.empty()) cast_[std::string(cut(names))] = cut(parts);
  }
  /// Takes the first part off.
  static std::string_view cut(std::string_view& parts) {
    const size_t end = std::min(parts.find(';'), parts.size());
    const std::string_view first = parts.substr(0, end);
    parts.remove_prefix(std::min(end + 1, parts.size()));
    return first;
  }

  /// Steps that begin with a line end begin a paragraph; others continue one.
  void add(std::string_view step) {
    if (step.empty()) return;
    if (!story_.empty() && step[0] != '\n') story_ += ' ';
    story_ += expanded(step);
  }

  std::string expanded(std::string_view text) {
    std::string out;
    while (!text.empty()) {
      if (text[0] == '{') {
        out += name_at(text);
      } else if (text[0] == '[') {
        out += choice_at(text);
      } else {
        out += text[0];
        text.remove_prefix(1);
      }
    }
    return out;
  }

  /// What a {name} at the start stands for; takes it off the text.
  std::string name_at(std::string_view& text) {
    const size_t end = text.find('}');
    std::string_view name = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    const bool with_article = name.starts_with("a:");
    if (with_article) name.remove_prefix(2);
    const auto found = cast_.find(std::string(name));
    if (found == cast_.end()) base::fail("stories", "a plot has no {}", name);
    const std::string value = expanded(std::string(found->second));
    if (!with_article) return value;
    return (std::string_view("aeiou").find(value[0]) == std::string_view::npos ? "a " : "an ") + value;
  }

  /// One of the ways of a [choice|like this] at the start; takes it off the text.
  std::string choice_at(std::string_view& text) {
    std::vector<std::string_view> ways;
    size_t depth = 0, begin = 1, at = 0;
    for (;; ++at) {
      const char c = text[at];
      if (c == '[') ++depth;
      if (c == ']') --depth;
      if ((c == '|' && depth == 1) || depth == 0) {
        ways.push_back(text.substr(begin, at - begin));
        begin = at + 1;
      }
      if (depth == 0) break;
    }
    text.remove_prefix(at + 1);
    return expanded(dice_.one_of(ways));
  }

  Dice dice_;
  std::map<std::string, std::string, std::less<>> cast_;
  std::string story_;
};

}  // namespace

// Mixed twice: mixed once, small seeds and small numbers meet, and two seeds would tell the same stories.
std::string StoryTeller::next() { return Story(base::mix(base::mix(0, seed_), told_++)).told(); }

std::string stories(int64_t bytes, uint64_t seed, std::string_view between) {
  StoryTeller teller(seed);
  std::string all;
  while (static_cast<int64_t>(all.size()) < bytes) {
    all += teller.next();
    all += between;
  }
  return all;
}

}  // namespace tenon::data
