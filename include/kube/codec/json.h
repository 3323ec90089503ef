// JSON encoding and decoding of objects.
//
//   Result<Pod> pod = FromJson<Pod>(text);                 // errors name the path: spec.containers[0].ports[1].containerPort: expected ...
//   Result<std::string> text = ToJson(*pod);               // compact; {.indent = 2} for readable output
//   Result<Value> any = ParseJson(text);                   // any JSON
//
// Top-level kinds: encoding writes `apiVersion` and `kind` from the type's table; when decoding they must match it or be absent. Decoding
// fails on malformed JSON, wrong types, numbers out of range and nesting beyond kMaxDecodeDepth. It never crashes and needs memory in
// proportion to the input. Names are case-sensitive. Each byte that is not valid UTF-8 becomes U+FFFD when decoding and encoding, as in Go.
//
// Cost: simdjson's SIMD pass over the text and one walk over its tokens. The text is not copied and needs no padding.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/result.h"
#include "kube/codec/options.h"
#include "kube/value/any_object.h"
#include "kube/value/raw.h"
#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube {

// Options of ToJson and EncodeJson.
struct JsonFormat {
  int indent = 0;           // 0: one line without spaces
  bool type_header = true;  // write apiVersion and kind of a top-level kind
};

// ---- Typed objects ----
// Decodes into `object`. Fields that are missing or null in the text keep their values; lists, maps and optional structs are replaced as a
// whole.
KUBE_EXPORT Result<void> DecodeJson(const TypeInfo& type, void* object, std::string_view text, const DecodeOptions& options = {});
// Appends to `out`. Fails only if a RawJson field does not hold JSON; `out` is then unchanged.
KUBE_EXPORT Result<void> EncodeJson(const TypeInfo& type, const void* object, std::string& out, const JsonFormat& format = {});

// FromJson decodes into, and ToJson encodes from, a value of type T.
template <Described T>
Result<T> FromJson(std::string_view text, const DecodeOptions& options = {}) {
  T object{};
  if (auto r = DecodeJson(T::kType, &object, text, options); !r) return r.error();
  return object;
}
template <Described T>
Result<std::string> ToJson(const T& object, const JsonFormat& format = {}) {
  std::string out;
  if (auto r = EncodeJson(T::kType, &object, out, format); !r) return r.error();
  return out;
}

// ---- Any JSON ----
KUBE_EXPORT Result<Value> ParseJson(std::string_view text, const DecodeOptions& options = {});  // decodes any JSON
KUBE_EXPORT std::string ToJson(const Value& value, const JsonFormat& format = {});              // the JSON of a Value
KUBE_EXPORT Result<Value> ParseJson(const RawJson& raw);                                        // decodes a field's JSON
KUBE_EXPORT RawJson ToRawJson(const Value& value);                                              // a Value for a field

// ---- Between objects and Values, without JSON text ----
KUBE_EXPORT Result<Value> ToValue(const TypeInfo& type, const void* object);
KUBE_EXPORT Result<void> DecodeValue(const TypeInfo& type, void* object, const Value& value, const DecodeOptions& options = {});
template <Described T>
Result<Value> ToValue(const T& object) {
  return ToValue(T::kType, &object);
}
template <Described T>
Result<T> FromValue(const Value& value, const DecodeOptions& options = {}) {
  T object{};
  if (auto r = DecodeValue(T::kType, &object, value, options); !r) return r.error();
  return object;
}

}  // namespace kube
