// What an object loses on its way through another version, as text for an annotation, and how it comes back.
//
// LostFields compares an object with `back`, what it looks like after a conversion there and back. RestoreFields gets the object as it
// comes back later, when both the annotation and the other version's fields may have been edited meanwhile. It is a merge of three: a value
// returns only where the object still has what `back` had, so whatever was changed since is kept.
//
// The text is JSON in the form of the object:
//   a struct, or a map         {"field": ...}
//   a value                    [value]             back had none
//                              [value, "hash"]     back had another one, with this HashObject
//                              [null, "hash", 0]   the object has none
//   a list with keys           {"keys":{"a": ...}, "order":[[keys of the object],[keys of back]]}    order: if the two differ
//   a list of structs without  {"content":{"hash of back's element": ...}}
//   any other list             as a value
// Keys are those of the list type map, the patch merge key, or `name`, if every element has one of its own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "kube/value/type_info.h"

namespace kube::internal {

// Bytes of "content" that are read again for further elements that look the same. Without a limit an annotation of some KiB could make
// gigabytes of a list of many equal elements. LostFields keeps a list that needs more as one value.
inline constexpr std::size_t kMostRepeatedBytes = std::size_t{1} << 20;

// Empty if nothing is lost.
std::string LostFields(const TypeInfo& type, const void* object, const void* back);

// Takes any text: what does not fit the type, or is no JSON, is left out. False if it is no JSON object at all. Requires: no part of the
// object is lent.
bool RestoreFields(const TypeInfo& type, void* object, std::string_view lost);

}  // namespace kube::internal
