// Options that all decoders understand, and the limits that protect them.
#pragma once

#include <cstddef>

namespace kube {

class FieldSelection;
class Interner;
class Predecessors;

struct DecodeOptions {
  // Unknown and duplicate fields are errors that name each path, as the API server's fieldValidation=Strict has it.
  // Otherwise unknown fields are kept with the object and written back, and the last of several duplicates wins.
  bool strict = false;
  // Off: unknown fields are dropped, as an API server does with what it cannot store.
  bool keep_unknown = true;
  // Shares equal parts of this and earlier objects (kube/codec/interner.h). A cache passes one in; others rarely gain from it.
  Interner* interner = nullptr;
  // Which fields are decoded (kube/codec/field_selection.h); null: all. What is left out is skipped, whatever `strict` says.
  const FieldSelection* fields = nullptr;
  // Where earlier versions of the object are (kube/codec/predecessors.h). For caches of this library, which pass it in.
  Predecessors* predecessors = nullptr;
};

// How deep JSON, YAML and recursive protobuf messages may nest.
inline constexpr int kMaxDecodeDepth = 1000;

}  // namespace kube
