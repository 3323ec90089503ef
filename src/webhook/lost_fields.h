// Stores what an object loses in a conversion to another version as the text of an annotation, and restores it.
//
// LostFields compares an object with `back`, its state after a conversion to the other version and back. RestoreFields gets the object when
// it is converted back later; by then the annotation and the other version's fields may have been edited. It is a three-way merge: a value
// is restored only if the object still has what `back` had, so later changes are kept.
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

// Limit for the bytes of "content" that are read again for further equal elements. Without it, an annotation of some KiB could expand to
// gigabytes for a list of many equal elements. LostFields stores a list that needs more as one value.
inline constexpr std::size_t kMostRepeatedBytes = std::size_t{1} << 20;

// Empty if nothing is lost.
std::string LostFields(const TypeInfo& type, const void* object, const void* back);

// Takes any text and ignores what does not fit the type. Returns false if the text is not a JSON object. Requires: no part of the object is
// lent.
bool RestoreFields(const TypeInfo& type, void* object, std::string_view lost);

}  // namespace kube::internal
