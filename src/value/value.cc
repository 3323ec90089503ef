#include "kube/value/value.h"

namespace kube {

Value::Value(const Value& other) : payload_{}, kind_(other.kind_) {
  switch (kind_) {
    case Kind::kString:
      new (payload_) String(*other.As<String>());
      break;
    case Kind::kList:
      new (payload_) List<Value>(*other.As<List<Value>>());
      break;
    case Kind::kObject:
      new (payload_) Map<Value>(*other.As<Map<Value>>());
      break;
    default:
      std::memcpy(payload_, other.payload_, sizeof payload_);
  }
}

Value::Value(Value&& other) noexcept : kind_(other.kind_) {
  // All alternatives may be moved by copying their bytes.
  std::memcpy(payload_, other.payload_, sizeof payload_);
  std::memset(other.payload_, 0, sizeof payload_);
  other.kind_ = Kind::kNull;
}

Value& Value::operator=(Value other) noexcept {
  // All alternatives may be moved by copying their bytes; the old content is destroyed with `other`.
  unsigned char mine[sizeof payload_];
  std::memcpy(mine, payload_, sizeof payload_);
  std::memcpy(payload_, other.payload_, sizeof payload_);
  std::memcpy(other.payload_, mine, sizeof payload_);
  std::swap(kind_, other.kind_);
  return *this;
}

void Value::Destroy() noexcept {
  switch (kind_) {
    case Kind::kString:
      As<String>()->~String();
      break;
    case Kind::kList:
      As<List<Value>>()->~List();
      break;
    case Kind::kObject:
      As<Map<Value>>()->~Map();
      break;
    default:
      break;
  }
}

std::string_view Value::kind_name() const {
  switch (kind_) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "integer";
    case Kind::kDouble:
      return "number";
    case Kind::kString:
      return "string";
    case Kind::kList:
      return "list";
    case Kind::kObject:
      return "object";
  }
  return "?";
}

std::int64_t Value::int_value() const {
  if (is_int()) return *As<std::int64_t>();
  if (is_double()) {
    double d = *As<double>();
    if (d >= -9223372036854775808.0 && d < 9223372036854775808.0) return static_cast<std::int64_t>(d);
  }
  return 0;
}

double Value::double_value() const {
  if (is_double()) return *As<double>();
  return is_int() ? static_cast<double>(*As<std::int64_t>()) : 0;
}

List<Value>& Value::MutableList() {
  if (!is_list()) *this = Value(List<Value>());
  return *As<List<Value>>();
}

Map<Value>& Value::MutableObject() {
  if (!is_object()) *this = Value(Map<Value>());
  return *As<Map<Value>>();
}

bool Value::Equal(const Value& a, const Value& b) {
  if (a.kind_ != b.kind_) return a.is_number() && b.is_number() && a.double_value() == b.double_value();
  switch (a.kind_) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return a.bool_value() == b.bool_value();
    case Kind::kInt:
      return a.int_value() == b.int_value();
    case Kind::kDouble:
      return a.double_value() == b.double_value();
    case Kind::kString:
      return a.string_value() == b.string_value();
    case Kind::kList:
      return a.list() == b.list();
    case Kind::kObject:
      return a.object() == b.object();
  }
  return false;
}

}  // namespace kube
