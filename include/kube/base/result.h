// Result<T>: a value or an Error.
//
//   Result<Pod> pod = client.Get<Pod>(ctx, key);
//   if (!pod) return pod.error();       // or: pod.error().WithContext("read the owner")
//   Use(*pod);
//
// A subset of std::expected's names plus ok(), so that it can become std::expected one day. Programs that prefer exceptions
// call value(), which throws ErrorException.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "kube/base/error.h"

namespace kube {

template <typename T>
class Result;

namespace internal {

// What a Result<T> can be made from: everything that converts to T, except an Error or another Result<T>.
template <typename U, typename T>
concept ResultSource =
    !std::is_same_v<std::remove_cvref_t<U>, Error> && !std::is_same_v<std::remove_cvref_t<U>, Result<T>> && std::is_convertible_v<U&&, T>;

}  // namespace internal

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)
  template <internal::ResultSource<T> U = T>  // the concept leaves copying and moving to their own constructors
  Result(U&& value)                           // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}

  bool ok() const { return state_.index() == 0; }
  bool has_value() const { return ok(); }
  explicit operator bool() const { return ok(); }

  // Requires: ok().
  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

  // The value, or throws ErrorException.
  T& value() & {
    if (!ok()) internal::ThrowError(error());
    return **this;
  }
  const T& value() const& {
    if (!ok()) internal::ThrowError(error());
    return **this;
  }
  T&& value() && {
    if (!ok()) internal::ThrowError(error());
    return std::move(**this);
  }
  template <typename U>
  T value_or(U&& fallback) const& {
    return ok() ? **this : static_cast<T>(std::forward<U>(fallback));
  }
  template <typename U>
  T value_or(U&& fallback) && {
    return ok() ? std::move(**this) : static_cast<T>(std::forward<U>(fallback));
  }

  // Requires: !ok().
  const Error& error() const {
    const Error* e = std::get_if<1>(&state_);
    if (e == nullptr) internal::AbortNoError();
    return *e;
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  bool has_value() const { return ok(); }
  explicit operator bool() const { return ok(); }
  void value() const {
    if (!ok()) internal::ThrowError(*error_);
  }
  // Requires: !ok().
  const Error& error() const {
    if (!error_) internal::AbortNoError();
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace kube
