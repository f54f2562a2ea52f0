// Functions of Tenon as functions and methods of Python, with little between them.
//
// A recorded op costs a few hundred nanoseconds, and a general binding would double that: arguments are found by
// Python's fast calling convention and converted by their C++ types. A signature such as "x, dim=None, keepdim=False"
// stands beside each function; it names the arguments, gives their defaults, and is what help() and the stubs show.
// "*shape" takes the rest of the positions, or one list in their place.

#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "convert.h"

namespace tenon::python {

/// A text as an argument of templates.
template <size_t N>
struct Text {
  char chars[N];
  constexpr Text(const char (&text)[N]) { std::copy_n(text, N, chars); }  // NOLINT: literals convert
};
/// "abs_" of "abs".
template <size_t N>
constexpr Text<N + 1> with_underscore(const Text<N>& name) {
  char chars[N + 1] = {};
  std::copy_n(name.chars, N - 1, chars);
  chars[N - 1] = '_';
  return chars;
}

/// "x", "dim=None": the parts of a signature.
std::vector<std::string_view> parts_of(std::string_view signature);

/// The parameters of a function, made of its signature. Those behind a "*" alone are given by name.
class Parameters {
 public:
  static constexpr size_t kMost = 16;
  using Slots = std::array<PyObject*, kMost>;
  /// What a call gives beyond the parameters: a tuple and a dict, whose slots are behind those of the parameters.
  using Rest = std::array<py::object, 2>;

  explicit Parameters(std::string_view signature, bool takes_rest = false, bool takes_keywords = false);
  size_t size() const { return size_; }
  const char* name(size_t i) const { return PyUnicode_AsUTF8(names_[i]); }
  PyObject* fallback(size_t i) const { return defaults_[i]; }

  /// Puts every argument, or its default, in its slot; `first` stands before `args` if it is not null.
  void place(const char* function, PyObject* first, PyObject* const* args, size_t positional, PyObject* keywords,
             Slots& slots, Rest& rest) const;

 private:
  /// The parameter of a name, also one of PyTorch's or numpy's; size() where there is none.
  size_t find(PyObject* name) const;
  /// A name that no argument has; the first `skipped` are given otherwise.
  [[noreturn]] void throw_unknown(const char* function, const char* name, size_t skipped) const;

  size_t size_ = 0;
  size_t starred_ = kMost, by_name_ = kMost;
  bool takes_rest_, takes_keywords_;
  Slots names_{}, defaults_{};
};

/// What a function gives that changes its first argument: that object itself.
struct Same {};

/// Throws the error that a conversion threw again, with the function and the argument that it is about.
[[noreturn]] void rethrow_naming(const py::builtin_exception& error, const char* function, const char* argument);

namespace detail {

template <typename F>
struct Signature;
template <typename R, typename... A>
struct Signature<R (*)(A...)> {
  using Result = R;
  using Arguments = std::tuple<std::remove_cvref_t<A>...>;
};
template <typename F>
struct Signature : Signature<decltype(+std::declval<F>())> {};

/// `converting` is the argument that is being converted, or Parameters::kMost.
template <typename F, typename Arguments, size_t... I>
auto apply_slots(const F& f, Parameters::Slots& slots, size_t& converting, std::index_sequence<I...>) {
  const auto in_turn = [&f, &converting](auto&&... converted) {
    converting = Parameters::kMost;
    turn::await();  // conversions may have called code of the user's
    return f(std::forward<decltype(converted)>(converted)...);
  };
  const auto convert = [&]<size_t at>() -> decltype(auto) {
    converting = at;
    return Convert<std::tuple_element_t<at, Arguments>>::from(slots[at]);
  };
  // Braces, so that the first wrong argument is the one that is named.
  std::tuple<decltype(convert.template operator()<I>())...> converted{convert.template operator()<I>()...};
  return std::apply(in_turn, std::move(converted));
}

/// A tensor that is the first argument's is that object: what changes in place, or converts nothing, gives it back.
inline PyObject* object_of_result(Tensor result, PyObject* first) {
  const bool is_first = is_tensor(first) && tensor_in(first).identity() == result.identity();
  return is_first ? Py_NewRef(first) : to_python(std::move(result));
}

template <typename R>
PyObject* as_result(R&& result, PyObject* first) {
  if constexpr (std::same_as<R, Same>)
    return Py_NewRef(first);
  else if constexpr (std::same_as<R, Tensor>)
    return object_of_result(std::move(result), first);
  else
    return to_python(std::forward<R>(result));
}

template <auto F, Text kName, Text kSignature>
PyObject* invoke(PyObject* first, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  static const Parameters parameters(kSignature.chars);
  using Arguments = typename Signature<std::remove_cv_t<decltype(F)>>::Arguments;
  constexpr size_t kCount = std::tuple_size_v<Arguments>;
  try {
    turn::await();
    Parameters::Slots slots;
    Parameters::Rest rest;
    parameters.place(kName.chars, first, args, static_cast<size_t>(count), keywords, slots, rest);
    size_t converting = Parameters::kMost;
    try {
      return as_result(apply_slots<decltype(F), Arguments>(F, slots, converting, std::make_index_sequence<kCount>()),
                       slots[0]);
    } catch (const py::builtin_exception& error) {
      if (converting == Parameters::kMost) throw;
      rethrow_naming(error, kName.chars, parameters.name(converting));
    }
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

template <auto F, Text kName, Text kSignature>
PyObject* as_function(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return invoke<F, kName, kSignature>(nullptr, args, count, keywords);
}
template <auto F, Text kName, Text kSignature>
PyObject* as_method(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return invoke<F, kName, kSignature>(self, args, count, keywords);
}

/// The function that writes what `F` makes of its first argument into that.
template <auto F, Text kName, typename R, typename First, typename... Rest>
constexpr auto in_place_of(R (*)(First, Rest...)) {
  return [](Tensor x, Rest... rest) {
    write_in_place(kName.chars, x, [&](const Tensor& before) { return F(before, std::forward<Rest>(rest)...); });
    return Same();
  };
}

template <typename Arguments, size_t... I>
std::vector<const char*> type_names(std::index_sequence<I...>) {
  return {Convert<std::tuple_element_t<I, Arguments>>::type...};
}
template <typename R>
constexpr const char* result_name() {
  if constexpr (std::same_as<R, Tensor> || std::same_as<R, Same>) return "Tensor";
  if constexpr (std::same_as<R, bool>) return "bool";
  if constexpr (std::same_as<R, int64_t>) return "int";
  if constexpr (std::same_as<R, double>) return "float";
  if constexpr (std::same_as<R, std::pair<Tensor, Tensor>>) return "ValuesAndIndices";
  if constexpr (std::same_as<R, std::vector<Tensor>>) return "tuple[Tensor, ...]";
  return "Any";
}

}  // namespace detail

/// Where a function is found.
enum Kind : unsigned { kFunction = 1, kMethod = 2, kBoth = 3, kFunctional = 4, kInit = 8, kLinalg = 16 };

/// Notes a function for prepare_tensor_type() and add_functions(). `types` and `result` are those of the stubs.
void note_function(Kind kind, const char* name, const char* signature, const char* doc,
                   PyCFunctionWithKeywords function, PyCFunctionWithKeywords method, std::vector<const char*> types,
                   const char* result);

/// A function of C++ under a name of Python: define<"exp", "x">(f, "...").
template <Text kName, Text kSignature, auto F>
void define(const char* doc, Kind kind = kBoth) {
  using Shape = detail::Signature<std::remove_cv_t<decltype(F)>>;
  using Arguments = typename Shape::Arguments;
  note_function(
      kind, kName.chars, kSignature.chars, doc,
      reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void*>(&detail::as_function<F, kName, kSignature>)),
      reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void*>(&detail::as_method<F, kName, kSignature>)),
      detail::type_names<Arguments>(std::make_index_sequence<std::tuple_size_v<Arguments>>()),
      detail::result_name<typename Shape::Result>());
}

/// The same, and the method in place: abs_() beside abs().
template <Text kName, Text kSignature, auto F>
void define_also_in_place(const char* doc, Kind kind = kBoth) {
  constexpr auto kInPlaceName = with_underscore(kName);
  const std::string doc_in_place = std::string(kName.chars) + " in place.";
  define<kName, kSignature, F>(doc, kind);
  define<kInPlaceName, kSignature, detail::in_place_of<F, kInPlaceName>(+F)>(doc_in_place.c_str(), kMethod);
}

}  // namespace tenon::python
