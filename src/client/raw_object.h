// Objects as bytes: finds the items of a list and identifies an object that a decoder rejects. These functions read only what they need,
// never fail on the rest, and do not recurse.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"
#include "kube/client/undecodable.h"

namespace kube::internal {

// A list without its items, and the items.
struct RawList {
  std::string head{};
  std::vector<std::string_view> items{};  // refer to the input
};
// Returns false if the text is not a JSON object with one list of items, judged by brackets and quotes only.
bool SplitJsonList(std::string_view text, RawList& out);
// For a message without its envelope. Returns false if it is malformed.
bool SplitProtobufList(std::string_view message, RawList& out);

// Returns key, UID and version as far as they can be read. The name is empty if it is unreadable or invalid. All are empty if the namespace
// is invalid or the metadata is truncated, because half a key would identify another object.
UndecodableObject IdentifyJson(std::string_view object, const Error& why);
// With or without envelope.
UndecodableObject IdentifyProtobuf(std::string_view object, const Error& why);

// The message in one line of at most 512 bytes.
std::string OneLine(const Error& why);
// Drops the reason and frees its memory.
inline void DropReason(UndecodableObject& object) { std::string().swap(object.error); }

// The error for a reader of the object: "ns/name cannot be decoded: spec.replicas: expected an integer".
Error UndecodableError(const UndecodableObject& object);

}  // namespace kube::internal
