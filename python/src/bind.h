// Classes and functions of C++ that are no ops, bound with the same refusals as ops.
//
// `Class` and `Scope` are pybind11's, but functions have a head as Python writes it, .def("cut(x, y=1)", help,
// function), and calls go through `BoundFunction`: it puts arguments in their places, converts them by their C++ types
// and names the one that is wrong in one line (see call.h). Objects are held by shared_ptr, so that one whose __init__
// never ran is noticed, not read.

#pragma once

#include <map>
#include <set>
#include <span>
#include <variant>

#include "call.h"

namespace tenon::python {

/// A bound object as C++ has it; anything else, and one whose __init__ was not called, is a TypeError.
template <typename T>
std::shared_ptr<T> held(py::handle object) {
  if (!py::isinstance<T>(object))
    throw_type_error(fmt::format("a {} is needed, not {}", py::cast<std::string>(py::type::of<T>().attr("__name__")),
                                 type_name_of(object.ptr())));
  try {
    return py::cast<std::shared_ptr<T>>(object);
  } catch (const py::cast_error&) {
    throw_type_error(
        fmt::format("a {} whose __init__ was called is needed, not one that is not made", type_name_of(object.ptr())));
  }
}

namespace detail {

template <typename T>
concept Converted = requires {
  Convert<T>::type;
}
&&!std::same_as<T, std::string> && !std::same_as<T, uint64_t> && !std::same_as<T, std::optional<uint64_t>>;
template <typename T>
concept OfPython = std::derived_from<T, py::handle>;

/// What pybind11 takes apart: containers and functions of the standard library.
template <typename T>
constexpr const char* kStandard = nullptr;
template <typename T>
inline constexpr const char* kStandard<std::vector<T>> = "a list";
template <>
inline constexpr const char* kStandard<std::vector<int64_t>> = "a list of integers";
template <>
inline constexpr const char* kStandard<std::vector<std::string>> = "a list of texts";
template <typename K, typename V>
inline constexpr const char* kStandard<std::map<K, V>> = "a dict";
template <typename T>
inline constexpr const char* kStandard<std::set<T>> = "a set";
template <typename T, typename U>
inline constexpr const char* kStandard<std::pair<T, U>> = "a pair";
template <typename... T>
inline constexpr const char* kStandard<std::variant<T...>> = "one of several types";
template <typename F>
inline constexpr const char* kStandard<std::function<F>> = "a function";
template <>
inline constexpr const char* kStandard<std::filesystem::path> = "a path";
template <>
inline constexpr const char* kStandard<std::string> = "a text";
template <>
inline constexpr const char* kStandard<std::string_view> = "a text";
template <>
inline constexpr const char* kStandard<float> = "a number";
template <>
inline constexpr const char* kStandard<py::list> = "a list";
template <>
inline constexpr const char* kStandard<py::dict> = "a dict";
template <>
inline constexpr const char* kStandard<py::function> = "a function";

/// How an argument is held while a function runs, and what it is made of. This one is for classes that are bound.
template <typename T>
struct Argument {
  using Held = std::shared_ptr<T>;
  static Held from(PyObject* object) { return held<T>(object); }
  static T& value(Held& one) { return *one; }
  static std::string type() { return py::cast<std::string>(py::str(py::type::of<T>().attr("__name__"))); }
};
template <typename T>
struct Plain {
  using Held = T;
  static T& value(T& one) { return one; }
};
template <Converted T>
struct Argument<T> : Plain<T> {
  static T from(PyObject* object) { return Convert<T>::from(object); }
  static std::string type() { return Convert<T>::type; }
};
template <typename T>
requires(std::integral<T> && !Converted<T>) struct Argument<T> : Plain<T> {
  static T from(PyObject* object) {
    if (!is_integer(object) && !PyBool_Check(object))
      throw_type_error("an integer is needed, not " + type_name_of(object));
    try {
      return py::cast<T>(py::handle(object));
    } catch (const py::cast_error&) {
      constexpr const char* kRange = std::unsigned_integral<T> ? "an integer from 0 on" : "a smaller integer";
      throw_type_error(fmt::format("{} is needed, not {}", kRange, py::cast<std::string>(py::str(object))));
    }
  }
  static std::string type() { return "int"; }
};
template <typename T>
requires(!Converted<T> && kStandard<T> != nullptr) struct Argument<T> : Plain<T> {
  static T from(PyObject* object) {
    try {
      if constexpr (OfPython<T>) {
        if (!T::check_(object)) throw py::cast_error();
      }
      return py::cast<T>(py::handle(object));
    } catch (const py::cast_error&) {
      throw_type_error(fmt::format("{} is needed, not {}", kStandard<T>, type_name_of(object)));
    }
  }
  static std::string type() {
    if constexpr (std::same_as<T, std::string> || std::same_as<T, std::string_view>) return "str";
    if constexpr (std::same_as<T, float>) return "float";
    if constexpr (std::same_as<T, std::filesystem::path>) return "PathLike";
    if constexpr (std::same_as<T, std::vector<int64_t>>) return "list[int]";
    if constexpr (std::same_as<T, std::vector<std::string>>) return "list[str]";
    if constexpr (std::same_as<T, std::vector<double>>) return "list[float]";
    if constexpr (std::same_as<T, py::list>) return "list[Any]";
    if constexpr (std::same_as<T, py::dict>) return "dict[str, Any]";
    return "Any";
  }
};
template <typename T>
requires(!Converted<std::optional<T>>) struct Argument<std::optional<T>> : Plain<std::optional<T>> {
  static std::optional<T> from(PyObject* object) {
    if (object == Py_None) return {};
    return Argument<T>::from(object);
  }
  static std::string type() { return Argument<T>::type() + " | None"; }
};
template <typename T>
requires(!std::same_as<T, PyObject>) struct Argument<std::shared_ptr<T>> : Plain<std::shared_ptr<T>> {
  static std::shared_ptr<T> from(PyObject* object) { return held<std::remove_const_t<T>>(object); }
  static std::string type() { return Argument<std::remove_const_t<T>>::type(); }
};
/// The object that a method is called on, as Python has it.
template <typename T>
struct SelfOf {
  py::object object;
};
template <typename T>
struct Argument<SelfOf<T>> : Plain<SelfOf<T>> {
  static SelfOf<T> from(PyObject* object) {
    (void)held<T>(object);
    return {py::reinterpret_borrow<py::object>(object)};
  }
  static std::string type() { return Argument<T>::type(); }
};
template <>
struct Argument<py::args> : Plain<py::args> {
  static py::args from(PyObject* object) { return py::reinterpret_borrow<py::args>(object); }
};
template <>
struct Argument<py::kwargs> : Plain<py::kwargs> {
  static py::kwargs from(PyObject* object) { return py::reinterpret_borrow<py::kwargs>(object); }
};

template <typename F>
struct Shape : Shape<decltype(&F::operator())> {};
template <typename R, typename... A>
struct Shape<R (*)(A...)> {
  using Result = R;
  using Arguments = std::tuple<A...>;
};
template <typename F, typename R, typename... A>
struct Shape<R (F::*)(A...)> : Shape<R (*)(A...)> {};
template <typename F, typename R, typename... A>
struct Shape<R (F::*)(A...) const> : Shape<R (*)(A...)> {};

/// The name of a class that is bound, or will be: then nothing is known of it.
template <typename T>
std::string name_of_bound() {
  if constexpr (std::is_base_of_v<py::detail::type_caster_base<T>, py::detail::type_caster<T>>) {
    try {
      return Argument<T>::type();
    } catch (const std::exception&) {
      return "Any";
    }
  } else {
    return "Any";
  }
}

template <typename R>
std::string type_of_result() {
  using T = std::remove_cvref_t<R>;
  if constexpr (std::is_void_v<T>)
    return "None";
  else if constexpr (std::same_as<T, Tensor> || std::same_as<T, bool> || std::same_as<T, double> ||
                     std::same_as<T, std::string>)
    return Argument<T>::type();
  else if constexpr (std::integral<T>)
    return "int";
  else if constexpr (std::same_as<T, std::vector<int64_t>> || std::same_as<T, std::vector<std::string>> ||
                     std::same_as<T, std::vector<double>> || std::same_as<T, py::list> || std::same_as<T, py::dict>)
    return Argument<T>::type();
  else if constexpr (std::same_as<T, py::tuple>)
    return "tuple[Any, ...]";
  else if constexpr (std::same_as<T, py::bytes>)
    return "bytes";
  else if constexpr (requires { typename T::element_type; })
    return name_of_bound<typename T::element_type>();
  else if constexpr (std::is_class_v<T>)
    return name_of_bound<T>();
  else
    return "Any";
}

template <typename R>
py::object result_object(R&& result) {
  using T = std::remove_cvref_t<R>;
  if constexpr (OfPython<T>)
    return std::forward<R>(result);
  else if constexpr (requires { typename T::deleter_type; })
    return py::cast(std::shared_ptr<typename T::element_type>(std::forward<R>(result)));
  else
    return py::cast(std::forward<R>(result));
}

}  // namespace detail

/// "cut(x, y=1)": the name of a function, and its parameters but `self`.
struct Head {
  std::string name, signature;
  Head(const std::string& text);                       // NOLINT: texts convert
  Head(const char* text) : Head(std::string(text)) {}  // NOLINT
};

/// A function of C++ with the names, types and defaults of its arguments.
class BoundFunction {
 public:
  /// The name is that in help(), `in_messages` that in messages. Parameters without a name are arg0, arg1, ...
  BoundFunction(const Head& head, std::string in_messages, bool has_self, const char* help,
                const std::vector<std::string>& types, const std::string& result);
  virtual ~BoundFunction() = default;
  BoundFunction(const BoundFunction&) = delete;
  BoundFunction& operator=(const BoundFunction&) = delete;

  /// The function as Python's, in a module or a class, which keeps `self` for as long as the process runs.
  static py::object object(const std::shared_ptr<BoundFunction>& self, const py::object& module);

  const std::string& doc() const { return doc_; }

 protected:
  using Slots = Parameters::Slots;
  virtual py::object run(const Slots& slots) const = 0;
  /// Throws the error of a conversion again with the name of its argument.
  [[noreturn]] void rethrow(const py::builtin_exception& error, size_t argument) const;

  const std::string shown_, name_;
  const bool has_self_;
  const Parameters parameters_;

 private:
  static PyObject* call(PyObject* capsule, PyObject* const* args, Py_ssize_t count, PyObject* names);

  std::string doc_;
  PyMethodDef method_{};
};

namespace detail {

template <typename... A>
std::vector<std::string> types_of(std::type_identity<std::tuple<A...>>) {
  [[maybe_unused]] const auto type = []<typename T>(std::type_identity<T>) -> std::string {
    if constexpr (std::same_as<T, py::args>)
      return "*";
    else if constexpr (std::same_as<T, py::kwargs>)
      return "**";
    else
      return Argument<T>::type();
  };
  return {type(std::type_identity<std::remove_cvref_t<std::remove_pointer_t<A>>>())...};
}

/// Pointers to bound objects are taken as references; Generator* is a type of its own.
template <typename A>
using Taken = Argument<std::conditional_t<Converted<std::remove_cvref_t<A>>, std::remove_cvref_t<A>,
                                          std::remove_cvref_t<std::remove_pointer_t<A>>>>;

template <typename F, bool kIsConstructor = false>
class BoundOf final : public BoundFunction {
  using Arguments = typename Shape<F>::Arguments;

 public:
  using Result = typename Shape<F>::Result;
  BoundOf(const Head& head, std::string in_messages, bool has_self, const char* help, F f)
      : BoundFunction(head, std::move(in_messages), has_self, help, types_of(std::type_identity<Arguments>()),
                      type_of_result<Result>()),
        f_(std::move(f)) {}

  /// What the function gives, for constructors.
  Result made(const py::args& args, const py::kwargs& keywords) const {
    std::vector<PyObject*> values;
    for (const py::handle one : args) values.push_back(one.ptr());
    py::list names;
    std::vector<PyObject*> named;
    for (const auto& [name, value] : keywords) {
      names.append(name);
      named.push_back(value.ptr());
    }
    turn::await();
    Slots slots;
    Parameters::Rest rest;
    const size_t positional = values.size();
    values.insert(values.end(), named.begin(), named.end());
    parameters_.place(name_.c_str(), nullptr, values.data(), positional, py::tuple(names).ptr(), slots, rest);
    return apply(slots, std::make_index_sequence<std::tuple_size_v<Arguments>>());
  }

 private:
  py::object run(const Slots& slots) const override {
    [[maybe_unused]] constexpr auto kAll = std::make_index_sequence<std::tuple_size_v<Arguments>>();
    if constexpr (kIsConstructor) {  // see made()
      return py::none();
    } else if constexpr (std::is_void_v<Result>) {
      apply(slots, kAll);
      return py::none();
    } else {
      return result_object(apply(slots, kAll));
    }
  }

  template <size_t... I>
  Result apply(const Slots& slots, std::index_sequence<I...>) const {
    size_t converting = 0;
    [[maybe_unused]] const auto convert = [&]<size_t at>() {
      converting = at;
      return Taken<std::tuple_element_t<at, Arguments>>::from(slots[at]);
    };
    const auto all = [&] {
      try {  // braces, so that the first wrong argument is the one that is named
        return std::tuple<typename Taken<std::tuple_element_t<I, Arguments>>::Held...>{
            convert.template operator()<I>()...};
      } catch (const py::builtin_exception& error) {
        rethrow(error, converting);
      }
    };
    [[maybe_unused]] auto converted = all();
    turn::await();  // conversions may have called code of the user's
    return f_(passed<std::tuple_element_t<I, Arguments>>(std::get<I>(converted))...);
  }
  template <typename A, typename Held>
  static decltype(auto) passed(Held& one) {
    auto& value = Taken<A>::value(one);
    if constexpr (std::is_pointer_v<A> && !std::is_pointer_v<std::remove_reference_t<decltype(value)>>)
      return &value;
    else if constexpr (std::is_lvalue_reference_v<A>)
      return (value);
    else if constexpr (std::same_as<Held, std::shared_ptr<std::remove_cvref_t<A>>>)
      return std::remove_cvref_t<A>(value);  // a copy of an object that Python keeps
    else
      return std::move(value);
  }

  F f_;
};

/// Pointers to members as functions of the object.
template <typename T, typename F>
auto function_of(F f) {
  return f;
}
template <typename T, typename C, typename R, typename... A>
auto function_of(R (C::*f)(A...)) {
  return [f](T& self, A... arguments) -> R { return (self.*f)(std::forward<A>(arguments)...); };
}
template <typename T, typename C, typename R, typename... A>
auto function_of(R (C::*f)(A...) const) {
  return [f](const T& self, A... arguments) -> R { return (self.*f)(std::forward<A>(arguments)...); };
}

template <typename T, typename C, typename M>
requires(!std::is_function_v<M>) auto function_of(M C::*member) {
  return [member](const T& self) { return self.*member; };
}

template <typename F>
py::object bound(const Head& head, const std::string& in_messages, bool has_self, const py::object& module,
                 const char* help, F f) {
  return BoundFunction::object(std::make_shared<BoundOf<F>>(head, in_messages, has_self, help, std::move(f)), module);
}

}  // namespace detail

/// A function of an object of C++ during which others run.
template <typename R, typename C, typename... A>
auto released(R (C::*f)(A...) const) {
  return [f](const C& self, A... arguments) -> R {
    const Released others_run;
    return (self.*f)(std::forward<A>(arguments)...);
  };
}
template <typename R, typename C, typename... A>
auto released(R (C::*f)(A...)) {
  return [f](C& self, A... arguments) -> R {
    const Released others_run;
    return (self.*f)(std::forward<A>(arguments)...);
  };
}

/// A module with functions of C++.
class Scope : public py::module_ {
 public:
  explicit Scope(const py::module_& module) : py::module_(module) {}

  template <typename F>
  Scope& def(const Head& head, const char* help, F f) {
    attr(head.name.c_str()) = detail::bound(head, head.name, false, attr("__name__"), help, std::move(f));
    return *this;
  }
  template <typename F>
  Scope& def(const Head& head, F f) {
    return def(head, "", std::move(f));
  }
  Scope def_submodule(const char* name, const char* help = nullptr) {
    return Scope(py::module_::def_submodule(name, help));
  }
};

/// A class of C++ as one of Python's.
template <typename T, typename... Bases>
class Class : public py::class_<T, std::shared_ptr<T>, Bases...> {
  using Base = py::class_<T, std::shared_ptr<T>, Bases...>;

 public:
  template <typename... Extra>
  Class(const py::handle& scope, const char* name, const Extra&... extras)
      : Base(scope, name, extras...), name_(name) {}

  template <typename F>
  Class& def(const Head& head, const char* help, F f) {
    py::setattr(*this, head.name.c_str(), method(head, help, std::move(f)));
    return *this;
  }
  template <typename F>
  Class& def(const Head& head, F f) {
    return def(head, "", std::move(f));
  }
  template <typename F>
  Class& def_static(const Head& head, const char* help, F f) {
    py::setattr(*this, head.name.c_str(),
                py::staticmethod(detail::bound(head, in_messages(head), false, module(), help, std::move(f))));
    return *this;
  }
  /// A constructor: a function that gives the object, or a pointer to it.
  template <typename F>
  Class& init(const std::string& signature, const char* help, F f) {
    auto made =
        std::make_shared<detail::BoundOf<F, true>>("__init__(" + signature + ")", name_, false, help, std::move(f));
    py::options plain;
    plain.disable_function_signatures();  // the text has our own
    Base::def(py::init([made](const py::args& args, const py::kwargs& keywords) -> std::shared_ptr<T> {
                try {
                  auto result = made->made(args, keywords);
                  if constexpr (requires { std::shared_ptr<T>(std::move(result)); })
                    return std::shared_ptr<T>(std::move(result));
                  else
                    return std::make_shared<T>(std::move(result));
                } catch (...) {
                  set_python_error();
                  throw py::error_already_set();
                }
              }),
              made->doc().c_str());
    return *this;
  }
  template <typename F>
  Class& init(const std::string& signature, F f) {
    return init(signature, "", std::move(f));
  }
  template <typename F>
  Class& init(F f) {
    return init("", "", std::move(f));
  }
  template <typename... A>
  Class& init_of(const std::string& signature = "") {
    return init(signature, [](A... arguments) { return std::make_shared<T>(std::forward<A>(arguments)...); });
  }
  /// An attribute: a member, or a function of the object.
  template <typename F>
  Class& property(const char* name, const char* help, F get) {
    return add(name, method(Head(name), "", std::move(get)), py::none(), help);
  }
  template <typename F>
  Class& property(const char* name, F get) {
    return property(name, "", std::move(get));
  }
  template <typename F, typename S>
  Class& property(const char* name, const char* help, F get, S set) {
    return add(name, method(Head(name), "", std::move(get)), method(Head(name), "", std::move(set)), help);
  }

 private:
  std::string in_messages(const Head& head) const { return name_ + "." + head.name; }
  py::object module() const { return this->attr("__module__"); }

  template <typename F>
  py::object method(const Head& head, const char* help, F f) {
    auto function = detail::function_of<T>(std::move(f));
    using First = std::tuple_element_t<0, typename detail::Shape<decltype(function)>::Arguments>;
    if constexpr (std::same_as<std::remove_cvref_t<First>, py::object>)
      return as_method(detail::bound(head, in_messages(head), true, module(), help, checked(std::move(function))));
    else
      return as_method(detail::bound(head, in_messages(head), true, module(), help, std::move(function)));
  }
  /// A function that takes its object as Python's has the object checked first.
  template <typename F>
  static auto checked(F f) {
    return checked_of(std::move(f), std::type_identity<typename detail::Shape<F>::Arguments>());
  }
  template <typename F, typename First, typename... A>
  static auto checked_of(F f, std::type_identity<std::tuple<First, A...>>) {
    return [f = std::move(f)](const detail::SelfOf<T>& self, A... arguments) {
      return f(self.object, std::forward<A>(arguments)...);
    };
  }
  static py::object as_method(const py::object& function) { return owned(PyInstanceMethod_New(function.ptr())); }
  Class& add(const char* name, const py::object& get, const py::object& set, const char* help) {
    static const py::handle property = py::object(py::module_::import("builtins").attr("property")).release();
    py::setattr(*this, name, property(get, set, py::none(), py::str(help)));
    return *this;
  }

  std::string name_;
};

}  // namespace tenon::python
