// What stories are made of. A plot is a cast, chosen from lists of words, and steps, each told in one of several ways.
//
// Text may hold {name}, which is what the cast has under that name, {a:name}, the same with "a" or "an" before it, and
// [one|other], of which one is taken. Both nest.

#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace tenon::data {

using Words = std::vector<std::string_view>;

/// Chooses an entry of a list. Entries may have parts, separated by ';', and so may the names they go by.
struct Choice {
  std::string_view names;
  Words entries;
};

struct Plot {
  bool for_animals;  // may be told of animals too
  std::vector<Choice> cast;
  std::vector<Words> steps;
};

/// Those that need nothing but people at home or outdoors, and those about growing up a little.
std::vector<Plot> plots_about_things();
std::vector<Plot> plots_about_people();

}  // namespace tenon::data
