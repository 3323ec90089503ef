// Value: any JSON value, as in DynamicObject and in patches.
//
//   Value v = Value::Object();
//   v["spec"]["replicas"] = 3;                    // creates missing members
//   std::int64_t n = std::as_const(v)["spec"]["replicas"].int_value();   // reads a null Value if missing
//
// Implicitly shared: copying costs at most one atomic increment, however large the value; writing to a copy does not change the original.
// Integers that fit are int64, all other numbers double, as in Go's unstructured objects.
// Thread safety: as std::string.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "kube/value/list.h"
#include "kube/value/map.h"
#include "kube/value/string.h"

namespace kube {

// A JSON value.
class KUBE_EXPORT Value {
 public:
  static constexpr bool kMovesByBytes = true;
  // The type of the value.
  enum class Kind : std::uint8_t { kNull, kBool, kInt, kDouble, kString, kList, kObject };

  Value() noexcept : payload_{}, kind_(Kind::kNull) {}
  Value(bool b) noexcept : Value() { Store(Kind::kBool, b); }                                 // NOLINT(google-explicit-constructor)
  Value(int n) noexcept : Value(static_cast<std::int64_t>(n)) {}                              // NOLINT(google-explicit-constructor)
  Value(std::int64_t n) noexcept : Value() { Store(Kind::kInt, n); }                          // NOLINT(google-explicit-constructor)
  Value(double d) noexcept : Value() { Store(Kind::kDouble, d); }                             // NOLINT(google-explicit-constructor)
  Value(String s) noexcept : Value() { Store(Kind::kString, std::move(s)); }                  // NOLINT(google-explicit-constructor)
  Value(std::string_view s) : Value(String(s)) {}                                             // NOLINT(google-explicit-constructor)
  Value(const std::string& s) : Value(String(s)) {}                                           // NOLINT(google-explicit-constructor)
  Value(const char* s) : Value(String(s)) {}                                                  // NOLINT(google-explicit-constructor)
  Value(List<Value> items) noexcept : Value() { Store(Kind::kList, std::move(items)); }       // NOLINT(google-explicit-constructor)
  Value(Map<Value> members) noexcept : Value() { Store(Kind::kObject, std::move(members)); }  // NOLINT(google-explicit-constructor)
  // Object creates an object, Array an array.
  static Value Object(std::initializer_list<MapEntry<Value>> members = {}) { return Value(Map<Value>(members)); }
  static Value Array(std::initializer_list<Value> items = {}) { return Value(List<Value>(items)); }

  Value(const Value& other);
  Value(Value&& other) noexcept;
  // Takes its argument by value: `v["child"] = v` copies v before it writes, so a Value never contains itself.
  Value& operator=(Value other) noexcept;
  ~Value() {
    if (kind_ >= Kind::kString) Destroy();
  }

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_bool() const { return kind_ == Kind::kBool; }
  bool is_int() const { return kind_ == Kind::kInt; }
  bool is_double() const { return kind_ == Kind::kDouble; }
  bool is_number() const { return is_int() || is_double(); }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_list() const { return kind_ == Kind::kList; }
  bool is_object() const { return kind_ == Kind::kObject; }
  // "null", "bool", "integer", "number", "string", "list" or "object", for messages.
  std::string_view kind_name() const;

  // The contents; the default of the requested type if it holds another one.
  bool bool_value() const { return is_bool() && *As<bool>(); }
  std::int64_t int_value() const;  // a double is truncated if the result fits
  double double_value() const;     // an integer is converted
  const String& string_value() const { return is_string() ? *As<String>() : internal::DefaultValue<String>(); }
  const List<Value>& list() const { return is_list() ? *As<List<Value>>() : internal::DefaultValue<List<Value>>(); }
  const Map<Value>& object() const { return is_object() ? *As<Map<Value>>() : internal::DefaultValue<Map<Value>>(); }

  // MutableList and MutableObject return the contents for writing. A Value of another kind first becomes an empty list or object.
  List<Value>& MutableList();
  Map<Value>& MutableObject();

  // A member of an object; null if it does not exist or this is not an object.
  const Value* Find(std::string_view key) const { return is_object() ? object().Find(key) : nullptr; }
  // A member of an object for reading; a null Value if it does not exist.
  const Value& operator[](std::string_view key) const {
    const Value* found = Find(key);
    return found != nullptr ? *found : internal::DefaultValue<Value>();
  }
  const Value& operator[](const char* key) const { return (*this)[std::string_view(key)]; }
  // A member of an object for writing; created if missing.
  Value& operator[](std::string_view key) { return MutableObject()[key]; }
  Value& operator[](const char* key) { return MutableObject()[key]; }

  // For the implementation; see shared.h.
  bool HoldsLent() const { return list().HoldsLent() || object().HoldsLent(); }
  void Settle() {
    if (HoldsLent()) is_list() ? As<List<Value>>()->Settle() : As<Map<Value>>()->Settle();
  }

  // Numbers compare by amount: 1 == 1.0.
  friend bool operator==(const Value& a, const Value& b) { return Equal(a, b); }

 private:
  alignas(8) unsigned char payload_[16];
  Kind kind_;

  template <typename T>
  const T* As() const {
    return reinterpret_cast<const T*>(payload_);
  }
  template <typename T>
  T* As() {
    return reinterpret_cast<T*>(payload_);
  }
  template <typename T>
  void Store(Kind kind, T v) noexcept {
    new (payload_) T(std::move(v));
    kind_ = kind;
  }
  void Destroy() noexcept;
  static bool Equal(const Value& a, const Value& b);
};
static_assert(sizeof(Value) == 24);

}  // namespace kube
