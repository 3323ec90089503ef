// Result<T>: a value or an Error.
//
//   Result<Pod> pod = client.Get<Pod>(ctx, key);
//   if (!pod) return pod.error();       // or: pod.error().WithContext("read the owner")
//   Use(*pod);
//
// A chain of dependent steps, which ends with the first error:
//
//   return client.Get<Pod>(ctx, key)
//       .transform([](const Pod& pod) { return pod.spec.node_name; })                     // maps the value
//       .and_then([&](const String& node) { return client.Get<Node>(ctx, {"", node}); })  // a step that may also fail
//       .or_else([](const Error& e) -> Result<Node> { return IsNotFound(e) ? Result<Node>(Node{}) : e; });
//
// The names are a subset of std::expected's plus ok(), so that Result can become std::expected one day. Programs that prefer exceptions
// call value(), which throws ErrorException; kube::Main, ConfigFlags::Run and controllers treat that like a returned error.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "kube/base/error.h"

namespace kube {

template <typename T>
class Result;

// The types that a Result<T> can be constructed from: everything that converts to T, except an Error or another Result<T>.
template <typename U, typename T>
concept ResultSource =
    !std::is_same_v<std::remove_cvref_t<U>, Error> && !std::is_same_v<std::remove_cvref_t<U>, Result<T>> && std::is_convertible_v<U&&, T>;

namespace internal {

// The result of f(args...) as a Result.
template <typename F, typename... Args>
auto ResultOf(F&& f, Args&&... args) -> Result<std::remove_cvref_t<std::invoke_result_t<F, Args...>>> {
  if constexpr (std::is_void_v<std::invoke_result_t<F, Args...>>) {
    std::forward<F>(f)(std::forward<Args>(args)...);
    return {};
  } else {
    return std::forward<F>(f)(std::forward<Args>(args)...);
  }
}

}  // namespace internal

// A value of type T or an Error. Usage is shown at the top of this file.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)
  template <ResultSource<T> U = T>  // the concept leaves copying and moving to their own constructors
  Result(U&& value)                 // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}

  // True if there is a value.
  bool ok() const { return state_.index() == 0; }
  bool has_value() const { return ok(); }
  explicit operator bool() const { return ok(); }

  // The value. Requires: ok().
  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T operator*() && { return Moved(); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

  // The value; throws ErrorException if there is none. For a temporary, returns the value itself instead of a reference, so a loop may
  // iterate over `client.List<Pod>(ctx).value()`.
  T& value() & {
    if (!ok()) internal::ThrowError(error());
    return **this;
  }
  const T& value() const& {
    if (!ok()) internal::ThrowError(error());
    return **this;
  }
  T value() && {
    if (!ok()) internal::ThrowError(error());
    return Moved();
  }
  // The value, or `fallback` if there is none.
  template <typename U>
  T value_or(U&& fallback) const& {
    return ok() ? **this : static_cast<T>(std::forward<U>(fallback));
  }
  template <typename U>
  T value_or(U&& fallback) && {
    return ok() ? Moved() : static_cast<T>(std::forward<U>(fallback));
  }

  // The error. Requires: !ok().
  const Error& error() const {
    const Error* e = std::get_if<1>(&state_);
    if (e == nullptr) internal::AbortNoError();
    return *e;
  }

  // Returns f(value), which is a Result of any type, or the error if there is no value.
  template <typename F>
  auto and_then(F&& f) const& -> std::invoke_result_t<F, const T&> {
    if (!ok()) return error();
    return std::forward<F>(f)(**this);
  }
  template <typename F>
  auto and_then(F&& f) && -> std::invoke_result_t<F, T&&> {
    if (!ok()) return error();
    return std::forward<F>(f)(Moved());
  }
  // Returns f(value) wrapped in a Result, or the error if there is no value. f may return void.
  template <typename F>
  auto transform(F&& f) const& -> Result<std::remove_cvref_t<std::invoke_result_t<F, const T&>>> {
    if (!ok()) return error();
    return internal::ResultOf(std::forward<F>(f), **this);
  }
  template <typename F>
  auto transform(F&& f) && -> Result<std::remove_cvref_t<std::invoke_result_t<F, T&&>>> {
    if (!ok()) return error();
    return internal::ResultOf(std::forward<F>(f), Moved());
  }
  // Returns the value, or f(error), which is a Result of the same type.
  template <typename F>
  Result or_else(F&& f) const& {
    return ok() ? *this : Result(std::forward<F>(f)(error()));
  }
  template <typename F>
  Result or_else(F&& f) && {
    return ok() ? std::move(*this) : Result(std::forward<F>(f)(error()));
  }

 private:
  T&& Moved() { return std::move(*std::get_if<0>(&state_)); }

  std::variant<T, Error> state_;
};

// Success or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  // True if there is no error.
  bool ok() const { return !error_.has_value(); }
  bool has_value() const { return ok(); }
  explicit operator bool() const { return ok(); }
  // Throws ErrorException if there is an error.
  void value() const {
    if (!ok()) internal::ThrowError(*error_);
  }
  // The error. Requires: !ok().
  const Error& error() const {
    if (!error_) internal::AbortNoError();
    return *error_;
  }

  // As for Result<T>; f takes no argument.
  template <typename F>
  auto and_then(F&& f) const -> std::invoke_result_t<F> {
    if (!ok()) return error();
    return std::forward<F>(f)();
  }
  template <typename F>
  auto transform(F&& f) const -> Result<std::remove_cvref_t<std::invoke_result_t<F>>> {
    if (!ok()) return error();
    return internal::ResultOf(std::forward<F>(f));
  }
  template <typename F>
  Result or_else(F&& f) const {
    return ok() ? *this : Result(std::forward<F>(f)(error()));
  }

 private:
  std::optional<Error> error_;
};

}  // namespace kube
