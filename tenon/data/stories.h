// Stories for a first model: short, in simple English, made up from plots, people, places and things.
//
//   std::string text = data::stories(1'000'000, 7);   // a megabyte of them
//
// A story of a few hundred words has people who keep their names, things that stay what they are, and events that
// follow from each other, so that a small model has something to learn that a reader can judge. Everything is built in
// and the same on every machine; a vocabulary of some hundred words is enough.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::data {

/// Tells one story after another, without end.
///   data::StoryTeller teller(7);
///   const std::string story = teller.next();
class StoryTeller {
 public:
  explicit StoryTeller(uint64_t seed) : seed_(seed) {}
  /// Paragraphs are lines; there is no line end behind the last one.
  std::string next();

 private:
  uint64_t seed_;
  uint64_t told_ = 0;
};

/// Whole stories, at least so many bytes of them, with this between each two and behind the last one.
std::string stories(int64_t bytes, uint64_t seed, std::string_view between = "\n\n");

}  // namespace tenon::data
