// Kubernetes protobuf to objects and back.
//
//   Result<Pod> pod = FromProtobuf<Pod>(bytes);            // with or without the `k8s\0` envelope: detected
//   Result<std::string> bytes = ToProtobuf(*pod);          // with the envelope; {.envelope = false} for the bare message
//
// Fields that the table does not know are kept as bytes and written back. Fields that came in unknown by JSON have no protobuf form:
// encoding such an object fails and names the place, so that nothing is lost in silence.
// Errors name the path and the offset. Memory is bounded by the input: lengths are checked before anything is allocated.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/result.h"
#include "kube/codec/options.h"
#include "kube/value/string.h"
#include "kube/value/type_info.h"

namespace kube {

struct ProtobufFormat {
  bool envelope = true;  // `k8s\0` and a runtime.Unknown around the message, as servers want it; needs a top-level kind
};

// What stands in front of every Kubernetes protobuf object: which kind the bytes are.
struct ProtobufEnvelope {
  String api_version{};
  String kind{};
  std::string_view raw{};  // the message; points into the input
  String content_encoding{};
  String content_type{};
};

// True where the bytes start with the four magic bytes.
KUBE_EXPORT bool HasProtobufEnvelope(std::string_view bytes);
KUBE_EXPORT Result<ProtobufEnvelope> ParseProtobufEnvelope(std::string_view bytes);

KUBE_EXPORT Result<void> DecodeProtobuf(const TypeInfo& type, void* object, std::string_view bytes, const DecodeOptions& options = {});
// Appends to `out`, which is as before on failure.
KUBE_EXPORT Result<void> EncodeProtobuf(const TypeInfo& type, const void* object, std::string& out, const ProtobufFormat& format = {});

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
