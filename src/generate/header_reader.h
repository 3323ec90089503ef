// The declaration reader: a C++ header with the types of an API, as a part of the model.
//
//   ReadHeader("api/v1/network_types.h", text, {}, model, problems);
//
// It reads a subset of C++ and says where a header leaves it; it never guesses:
//   comments, #pragma once, #include, one include guard around the file
//   namespaces, also nested, inline and as an alias of another
//   structs with plain members (`Type name{};`), static constexpr members, aliases, and KUBE_TABLE(Struct); as the last line
//   forward declarations, `using A = B;`, `using ns::Name;`, constants, static_assert
// Functions, templates, macros, #ifdef, inheritance, enums, unions, classes, pointers, references and bit-fields are errors with what to
// write instead. The compiler reads the same header with the generated table, and so checks what this reader understood.
//
// Cost: linear in the text, memory in proportion to it. All errors of a file are reported, up to the limit of Problems.
#pragma once

#include <string>
#include <string_view>

#include "generate/markers.h"
#include "generate/model.h"
#include "generate/problems.h"

namespace kube::generate {

struct HeaderOptions {
  MarkerOptions markers;
  bool given = true;  // false for a header that is read only because another one includes it
};

// Adds the file and what it declares. Types stay unresolved names until ResolveTypes (resolve.h).
void ReadHeader(const std::string& path, std::string_view text, const HeaderOptions& options, Model& model, Problems& problems);

}  // namespace kube::generate
