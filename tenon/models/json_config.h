// Reading config.json, for the files of this room: a key that is absent or null means transformers' default, and a
// value that changes what the model computes must be one that we compute. And what all configs check about their sizes.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::models {

/// Fails, naming the model and the size, where one is so large that products of two would not be countable.
void require_sizes(std::string_view model, std::initializer_list<std::pair<std::string_view, int64_t>> sizes);
/// Fails where there are more layers than can be built before memory is gone: each is modules, however narrow.
void require_layers(std::string_view model, int64_t layers);

class JsonConfig {
 public:
  /// Fails unless the text is an object whose model_type, if it has one, is this one.
  JsonConfig(const std::string& text, const std::string& model_type);

  /// Leaves `into` as it is when the key is absent or null; fails when the value is of another type.
  void read(const char* key, int64_t& into) const;
  void read(const char* key, double& into) const;
  void read(const char* key, bool& into) const;
  void read(const char* key, std::string& into) const;
  void read(const char* key, std::vector<int64_t>& into) const;
  void read(const char* key, std::vector<double>& into) const;
  void read(const char* key, std::vector<std::string>& into) const;
  /// The same for the number of a token: -1 where it is null, the first of a list.
  void read_token(const char* key, int64_t& into) const;

  /// Fails when the key is there with another value.
  void require(const char* key, bool wanted) const;
  void require(const char* key, const char* wanted) const;

  /// The object under a key; an empty one where there is none.
  JsonConfig part(const char* key) const;

 private:
  struct Object;  // the JSON library shows in no header: users of the installed library need not have it
  JsonConfig(std::shared_ptr<const Object> object, std::string type);

  std::shared_ptr<const Object> object_;
  std::string type_;
};

}  // namespace tenon::models
