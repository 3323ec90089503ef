// Options and limits of all decoders.
#pragma once

#include <cstddef>

namespace kube {

class FieldSelection;
class Interner;
class Predecessors;

// Options of all decoders.
struct DecodeOptions {
  // If set, unknown and duplicate fields are errors that name each path, as with the API server's fieldValidation=Strict. If not, unknown
  // fields are kept with the object and written back, and the last duplicate wins.
  bool strict = false;
  // If not set, unknown fields are dropped, as an API server does with fields that it cannot store.
  bool keep_unknown = true;
  // Shares equal parts of this and earlier objects (kube/codec/interner.h). Caches use it; other code rarely benefits.
  Interner* interner = nullptr;
  // The fields to decode (kube/codec/field_selection.h); null: all. Other fields are skipped, even with `strict`.
  const FieldSelection* fields = nullptr;
  // Supplies earlier versions of the object (kube/codec/predecessors.h). Set by the caches of this library.
  Predecessors* predecessors = nullptr;
};

// Maximum nesting of JSON, YAML and recursive protobuf messages.
inline constexpr int kMaxDecodeDepth = 1000;

}  // namespace kube
