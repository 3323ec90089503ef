// YAML encoding and decoding of objects, as Kubernetes defines it: YAML is an alternative syntax for JSON.
//
//   Result<Pod> pod = FromYaml<Pod>(text);                  // exactly one document
//   Result<std::string> text = ToYaml(*pod);
//   Result<std::vector<Value>> docs = ParseYaml(text);      // all documents of a stream, without empty ones
//   Result<std::vector<YamlDocument>> docs = ReadYaml(text); // the same with their line numbers
//
// Unquoted scalars are typed as by kubectl (sigs.k8s.io/yaml, which is YAML 1.1 as Go reads it): yes, no, on, off, y and n are booleans,
// 0777, 0o777, 0x1f, 0b11 and 1_000 are integers, ~ is null, dates stay strings. Member names that are numbers or booleans become strings.
// `<<` merges in text order. A document that is JSON is decoded as JSON.
//
// Errors name line and column. Rejected: invalid UTF-8, .nan and .inf, member names that are null, lists or objects, texts beyond
// kMaxYamlBytes, nesting beyond kMaxDecodeDepth, aliases that contain themselves or expand excessively ("billion laughs").
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/result.h"
#include "kube/codec/json.h"

namespace kube {

// Maximum size of a YAML text.
inline constexpr std::size_t kMaxYamlBytes = std::size_t{256} << 20;

// One document of a YAML stream.
struct YamlDocument {
  Value value;
  int line = 1;  // the line where it starts
  std::vector<std::string>
      duplicates;  // duplicate members, which strict decoding rejects: `"metadata.labels.app" (line 7, column 5)`; the first 100
};

// Parses every document of the stream that has content; an explicit `null` counts as content. Duplicate members are not an error here; the
// last one wins.
KUBE_EXPORT Result<std::vector<YamlDocument>> ReadYaml(std::string_view text);
// Returns the values of the documents. With `strict`, duplicate members are an error that names all of them.
KUBE_EXPORT Result<std::vector<Value>> ParseYaml(std::string_view text, const DecodeOptions& options = {});

// Writes block style with sorted keys, as kubectl does: lists are not indented under their key, multi-line text is a literal block, strings
// are quoted only if they would otherwise be read as another type, long lines are not wrapped. Ends with a line feed. Non-finite numbers
// become null.
KUBE_EXPORT std::string ToYaml(const Value& value);

// ---- Typed objects ----
// Fails if the text has no document or more than one. Other errors: as DecodeJson.
KUBE_EXPORT Result<void> DecodeYaml(const TypeInfo& type, void* object, std::string_view text, const DecodeOptions& options = {});
// Appends to `out`, which is unchanged on failure.
KUBE_EXPORT Result<void> EncodeYaml(const TypeInfo& type, const void* object, std::string& out);

// Decode into and encode from a value of type T.
template <Described T>
Result<T> FromYaml(std::string_view text, const DecodeOptions& options = {}) {
  T object{};
  if (auto r = DecodeYaml(T::kType, &object, text, options); !r) return r.error();
  return object;
}
template <Described T>
Result<std::string> ToYaml(const T& object) {
  std::string out;
  if (auto r = EncodeYaml(T::kType, &object, out); !r) return r.error();
  return out;
}

}  // namespace kube
