// Kubernetes protobuf encoding and decoding of objects.
//
//   Result<Pod> pod = FromProtobuf<Pod>(bytes);            // with or without the `k8s\0` envelope, which is detected
//   Result<std::string> bytes = ToProtobuf(*pod);          // with the envelope; {.envelope = false} for the bare message
//
// Fields that the table does not define are kept as bytes and written back. Unknown fields that were decoded from JSON have no protobuf
// form: encoding such an object fails and names the field, so nothing is lost silently.
// Errors name the path and the offset. Memory is bounded by the input: lengths are checked before allocating.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/result.h"
#include "kube/codec/options.h"
#include "kube/value/string.h"
#include "kube/value/type_info.h"

namespace kube {

// Options of ToProtobuf and EncodeProtobuf.
struct ProtobufFormat {
  bool envelope = true;  // wrap the message in `k8s\0` and runtime.Unknown, as servers require; needs a top-level kind
};

// The envelope of a Kubernetes protobuf object, which names its kind.
struct ProtobufEnvelope {
  String api_version{};
  String kind{};
  std::string_view raw{};  // the message; refers to the input
  String content_encoding{};
  String content_type{};
};

// True if `bytes` start with the four magic bytes.
KUBE_EXPORT bool HasProtobufEnvelope(std::string_view bytes);
// Parses the envelope without decoding the message.
KUBE_EXPORT Result<ProtobufEnvelope> ParseProtobufEnvelope(std::string_view bytes);

// Decodes into `object`, with or without envelope.
KUBE_EXPORT Result<void> DecodeProtobuf(const TypeInfo& type, void* object, std::string_view bytes, const DecodeOptions& options = {});
// Appends to `out`, which is unchanged on failure.
KUBE_EXPORT Result<void> EncodeProtobuf(const TypeInfo& type, const void* object, std::string& out, const ProtobufFormat& format = {});

// FromProtobuf decodes into, and ToProtobuf encodes from, a value of type T.
template <Described T>
Result<T> FromProtobuf(std::string_view bytes, const DecodeOptions& options = {}) {
  T object{};
  if (auto r = DecodeProtobuf(T::kType, &object, bytes, options); !r) return r.error();
  return object;
}
template <Described T>
Result<std::string> ToProtobuf(const T& object, const ProtobufFormat& format = {}) {
  std::string out;
  if (auto r = EncodeProtobuf(T::kType, &object, out, format); !r) return r.error();
  return out;
}

}  // namespace kube
