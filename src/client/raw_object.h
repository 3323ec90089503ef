// Objects as bytes: where they lie in a list, and which one it is, for when a decoder refuses one of them. These functions look only at
// what they need and never fail on the rest; nothing in them recurses.
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
  std::vector<std::string_view> items{};  // point into the input
};
// False if the text is no JSON object with one list of items, as far as brackets and quotes tell.
bool SplitJsonList(std::string_view text, RawList& out);
// Of a message without its envelope. False if it is malformed.
bool SplitProtobufList(std::string_view message, RawList& out);

// Key, UID and version, as far as they can be read; without a name where the name cannot be read, or cannot be one, and without any of
// them where the namespace cannot be, or the metadata end early: a key of which half is missing is that of another object.
UndecodableObject IdentifyJson(std::string_view object, const Error& why);
// With or without an envelope.
UndecodableObject IdentifyProtobuf(std::string_view object, const Error& why);

// The message, in one line of at most 512 bytes.
std::string OneLine(const Error& why);
// Drops the reason and the memory that it takes.
inline void DropReason(UndecodableObject& object) { std::string().swap(object.error); }

// What a reader of the object gets: "ns/name cannot be decoded: spec.replicas: expected an integer".
Error UndecodableError(const UndecodableObject& object);

}  // namespace kube::internal
