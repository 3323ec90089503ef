// From the schema of a kind's version to its fields, and the structs and aliases that these need: what crd_reader.cc does below the kind.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generate/builtin_matcher.h"
#include "generate/crd_reader.h"
#include "generate/model.h"
#include "generate/type_pool.h"
#include "kube/value/value.h"

namespace kube::generate {

// A key of a schema with a name for its struct or alias, which front ends may set.
inline constexpr std::string_view kTypeNameKey = "x-kube-type-name";

class SchemaReader {
 public:
  // `kind`: a number for TypePool. `prefix`: of paths in CrdReading.
  SchemaReader(BuiltinMatcher& matcher, TypePool& pool, std::size_t kind, std::string kind_name, std::string prefix, CrdReading& reading)
      : matcher_(matcher), pool_(pool), kind_(kind), kind_name_(std::move(kind_name)), prefix_(std::move(prefix)), reading_(reading) {}

  // The struct of the kind: its fields without metadata, its markers and description.
  Struct ReadKind(const Value& schema);

  // What cannot be done, with the path: "spec.a: $ref ...".
  const std::vector<std::string>& errors() const { return errors_; }

 private:
  // What a schema is in C++, and what is left to say about it.
  enum class Category : std::uint8_t { kScalar, kUnset, kContainer, kStruct };  // kUnset: has its own absent value, as Time and RawJson
  struct Read {
    Type type;
    Category category = Category::kScalar;
    std::vector<Marker> markers;
    std::size_t bytes = 8;
    bool takes_description = true;  // false for structs of kubexx
  };

  Read ReadSchema(const Value& schema, bool element);
  Read ReadScalar(const Value& own, bool element);
  Read ReadStruct(const Value& schema, bool element);
  bool ReadBuiltin(const Value& schema, bool element, Read& out);
  void ReadEnum(const Value& schema, bool element, Read& out, Value& made);
  // The items of a list or the values of a map. `items`: markers for them that the list's field can have.
  Type ReadElement(const Value& schema, std::vector<Marker>* items);
  Field ReadField(const std::string& json, const Value& schema, bool required, bool of_kind);
  std::vector<Field> ReadFields(const Value& schema, bool of_kind, std::size_t& bytes);

  // Markers for what the schema says and `made`, the schema of the C++ type, does not; +kube:schema for what has none.
  void AddMarkers(const Value& own, Value made, bool element, std::vector<Marker>& out);
  TypePool::Place Place(std::string_view hint = "") const { return {kind_, kind_name_, path_, hint}; }
  void Error(std::string text) { errors_.push_back(ToString(path_) + ": " + std::move(text)); }

  BuiltinMatcher& matcher_;
  TypePool& pool_;
  std::size_t kind_;
  std::string kind_name_, prefix_;
  CrdReading& reading_;
  SchemaPath path_;
  std::optional<std::string> description_;  // which the type that is read next has to have; nothing if that of its field is enough
  std::string hint_;                        // its name, if the schema gives it one
  std::size_t bytes_ = 0;                   // of the field that was read last
  std::vector<std::string> errors_;
};

}  // namespace kube::generate
