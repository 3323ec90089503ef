// The way back of header_reader.h: declarations of a model as a header that people go on with.
//
//   std::string text = WriteHeader(model, 0);     // what ReadHeader would add as model.files[0]
//
// Front ends of other languages fill a Model and write its files with this. What they have to set:
//   File    path, group, version, required_default; `includes` beyond those that the types need; other markers of the file
//   Struct  name, scope, qualified, file, fields, description, markers
//   Field   name (a C++ name: MemberName in names.h), json, inlined, type, description, markers (+required is one of them)
//   Alias   name, scope, qualified, file, type, constants, description, markers
// Types are resolved: kStruct, kAlias and kBuiltin have qualified names. +kube:json and +kube:inline are written if they are needed,
// whether they are among the markers or not. Names of constants are made from their values: kPhasePending.
//
// Declarations stand in the order of the model, except that what a struct needs comes before it; model.Index() has to have been called.
// Text that could end a comment, or join it with the next line, is written as a block comment or changed as little as possible.
#pragma once

#include <string>
#include <string_view>

#include "generate/model.h"
#include "generate/problems.h"

namespace kube::generate {

// Markers that have no line (marker_writer.h) are reported as errors at their place.
std::string WriteHeader(const Model& model, std::size_t file, Problems& problems);

// A description without empty lines at its ends and spaces at the ends of lines, which comments do not have.
std::string WithoutMargins(std::string_view text);

}  // namespace kube::generate
