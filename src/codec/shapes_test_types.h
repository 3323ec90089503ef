// A type with nested lists and maps, optional values and an inlined struct, as in custom resources. Its table is in the form that `kubexx
// generate` writes.
#pragma once

#include "kube/value/table.h"

namespace kube::testing {

struct Rule {
  String name{};
  std::optional<Quantity> limit{};

  KUBE_TABLE(Rule);
};

// Inlined into Shapes.
struct Placement {
  String zone{};
  Map<List<String>> racks{};

  KUBE_TABLE(Placement);
};

struct Shapes {
  Map<List<String>> routes{};
  List<List<std::int32_t>> matrix{};
  Map<Map<Quantity>> limits{};
  List<Map<bool>> flags{};
  Map<List<Rule>> rules{};
  List<List<List<double>>> cube{};
  Map<Map<Rule>> rule_by_names{};
  Map<List<RawJson>> raw{};
  Map<List<IntOrString>> ports{};
  List<List<Time>> times{};
  Map<List<Bytes>> keys{};
  std::int32_t count = 0;
  Placement placement{};
  std::optional<String> note{};
  std::optional<bool> enabled{};
  std::optional<std::int64_t> large{};
  std::optional<double> ratio{};
  List<String> names{};
  Map<String> labels{};
  Box<List<String>> maybe_names{};
  Box<Map<String>> maybe_labels{};
  Box<List<List<Rule>>> maybe_rules{};
  List<String> required_names{};
  Map<String> required_labels{};
  Map<List<Shapes>> children{};

  KUBE_TABLE(Shapes);
};

}  // namespace kube::testing
