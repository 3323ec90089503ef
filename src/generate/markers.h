// Markers: `+kubebuilder:validation:MaxLength=43` in comments, with controller-tools' syntax and our checks.
//
//   const MarkerDefinition* d = FindMarker("kubebuilder:validation:MaxLength");
//   std::optional<Marker> m = ParseMarker("+kubebuilder:validation:MaxLength=43", at, Place::kField, options, problems);
//
// A marker is `+name`, `+name=value` or `+name:key=value,key2=value`. Values: bare words, "quoted" and `raw` strings, numbers, true and
// false, lists {a,b} or a;b, objects {"a": 1}; kubebuilder:default and kubebuilder:example also take JSON.
// Each name has one row in the table of marker_table.cc, which says where it may stand and what its arguments are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "generate/model.h"
#include "generate/problems.h"

namespace kube::generate {

// Where a marker may stand; a set of bits.
enum Place : unsigned {
  kInFile = 1,
  kOnKind = 2,  // a struct with ObjectMeta metadata
  kOnStruct = 4,
  kOnAlias = 8,
  kOnField = 16,
  kInSource = 32,  // in any C++ file of the program: source_reader.h
  kOnType = kOnKind | kOnStruct | kOnAlias,
  kEverywhere = kInFile | kOnType | kOnField,
};
// "a field", "a kind", "the file (in a comment of its own, above the first declaration)".
std::string NamePlaces(unsigned places);

enum class ArgumentType : std::uint8_t {
  kNone,
  kString,
  kInt,
  kNumber,
  kBool,
  kStrings,  // a list of strings
  kAnyList,  // a list of anything: Enum
  kAny,      // anything: kubebuilder:default
  kJson,     // one JSON value: default
};
std::string_view NameOf(ArgumentType type);

struct ArgumentDefinition {
  std::string_view name;
  ArgumentType type = ArgumentType::kString;
  bool required = false;
};

enum class MarkerForm : std::uint8_t {
  kEmpty,    // +optional
  kValue,    // +listType=map: one unnamed value of `type`
  kNamed,    // +kubebuilder:resource:path=a,shortName=b: `arguments`
  kIgnored,  // accepted with any arguments, without effect
};

struct MarkerDefinition {
  std::string_view name;
  unsigned places = 0;
  MarkerForm form = MarkerForm::kEmpty;
  ArgumentType type = ArgumentType::kNone;
  std::span<const ArgumentDefinition> arguments = {};
  bool repeatable = false;
  bool items = false;  // also as kubebuilder:validation:items:...
  std::string_view help;
};

// Every marker, sorted by name.
std::span<const MarkerDefinition> AllMarkers();
// Null for an unknown one. Names that end in * in the table match every name that begins so.
const MarkerDefinition* FindMarker(std::string_view name);

struct MarkerOptions {
  bool lenient = false;  // unknown markers are warnings
};

// One marker line: `text` begins with '+'. Nothing if it is wrong (then it was reported), or has no effect.
std::optional<Marker> ParseMarker(std::string_view text, const Position& at, unsigned place, const MarkerOptions& options,
                                  Problems& problems);

// Whether a marker of this name, well-formed or not, may stand at one of these places. False for unknown ones.
bool MayStand(std::string_view text, unsigned places);

// Reports a marker that stands twice and may not.
void CheckRepetition(const std::vector<Marker>& markers, Problems& problems);

}  // namespace kube::generate
