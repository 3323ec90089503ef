// What a schema demands, in words for a reference page.
#pragma once

#include <string>
#include <vector>

#include "kube/value/value.h"

namespace kube::generate {

// Sentences in Markdown for a cell: "1 to 20 characters.", "Matches `^[a-z]+$`.". What `known` says already is left out: the schema of a
// struct that has its own section, or of a type whose name says it.
std::vector<std::string> SchemaWords(const Value& schema, const Value& known);

// One CEL rule: its message and the rule itself. `cell`: for a cell of a table.
std::string RuleWords(const Value& rule, bool cell);

}  // namespace kube::generate
