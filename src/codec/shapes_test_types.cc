#include "codec/shapes_test_types.h"

#include "kube/value/generated_table.h"

namespace kube::testing {

KUBE_GENERATED_FIRST(Rule, name, String, "name", .required = true);
KUBE_GENERATED_NEXT(Rule, name, limit, std::optional<Quantity>, "limit");
KUBE_GENERATED_TABLE(Rule, "test.Rule", KUBE_COLUMN(Rule, name), KUBE_COLUMN(Rule, limit));

KUBE_GENERATED_FIRST(Placement, zone, String, "zone");
KUBE_GENERATED_NEXT(Placement, zone, racks, Map<List<String>>, "racks");
KUBE_GENERATED_TABLE(Placement, "test.Placement", KUBE_COLUMN(Placement, zone), KUBE_COLUMN(Placement, racks));

KUBE_GENERATED_FIRST(Shapes, routes, Map<List<String>>, "routes");
KUBE_GENERATED_NEXT(Shapes, routes, matrix, List<List<std::int32_t>>, "matrix");
KUBE_GENERATED_NEXT(Shapes, matrix, limits, Map<Map<Quantity>>, "limits");
KUBE_GENERATED_NEXT(Shapes, limits, flags, List<Map<bool>>, "flags");
KUBE_GENERATED_NEXT(Shapes, flags, rules, Map<List<Rule>>, "rules");
KUBE_GENERATED_NEXT(Shapes, rules, cube, List<List<List<double>>>, "cube");
KUBE_GENERATED_NEXT(Shapes, cube, rule_by_names, Map<Map<Rule>>, "ruleByNames");
KUBE_GENERATED_NEXT(Shapes, rule_by_names, raw, Map<List<RawJson>>, "raw");
KUBE_GENERATED_NEXT(Shapes, raw, ports, Map<List<IntOrString>>, "ports");
KUBE_GENERATED_NEXT(Shapes, ports, times, List<List<Time>>, "times");
KUBE_GENERATED_NEXT(Shapes, times, keys, Map<List<Bytes>>, "keys", .bytes = true);
KUBE_GENERATED_NEXT(Shapes, keys, count, std::int32_t, "count");
KUBE_GENERATED_NEXT(Shapes, count, placement, Placement, "", .inlined = true);
KUBE_GENERATED_NEXT(Shapes, placement, note, std::optional<String>, "note");
KUBE_GENERATED_NEXT(Shapes, note, enabled, std::optional<bool>, "enabled");
KUBE_GENERATED_NEXT(Shapes, enabled, large, std::optional<std::int64_t>, "large");
KUBE_GENERATED_NEXT(Shapes, large, ratio, std::optional<double>, "ratio");
KUBE_GENERATED_NEXT(Shapes, ratio, names, List<String>, "names");
KUBE_GENERATED_NEXT(Shapes, names, labels, Map<String>, "labels");
KUBE_GENERATED_NEXT(Shapes, labels, maybe_names, Box<List<String>>, "maybeNames");
KUBE_GENERATED_NEXT(Shapes, maybe_names, maybe_labels, Box<Map<String>>, "maybeLabels");
KUBE_GENERATED_NEXT(Shapes, maybe_labels, maybe_rules, Box<List<List<Rule>>>, "maybeRules");
KUBE_GENERATED_NEXT(Shapes, maybe_rules, required_names, List<String>, "requiredNames", .required = true);
KUBE_GENERATED_NEXT(Shapes, required_names, required_labels, Map<String>, "requiredLabels", .required = true);
KUBE_GENERATED_NEXT(Shapes, required_labels, children, Map<List<Shapes>>, "children");
KUBE_GENERATED_TABLE(Shapes, "test.Shapes", KUBE_COLUMN(Shapes, routes), KUBE_COLUMN(Shapes, matrix), KUBE_COLUMN(Shapes, limits),
                     KUBE_COLUMN(Shapes, flags), KUBE_COLUMN(Shapes, rules), KUBE_COLUMN(Shapes, cube), KUBE_COLUMN(Shapes, rule_by_names),
                     KUBE_COLUMN(Shapes, raw), KUBE_COLUMN(Shapes, ports), KUBE_COLUMN(Shapes, times), KUBE_COLUMN(Shapes, keys),
                     KUBE_COLUMN(Shapes, count), KUBE_COLUMN(Shapes, placement), KUBE_COLUMN(Shapes, note), KUBE_COLUMN(Shapes, enabled),
                     KUBE_COLUMN(Shapes, large), KUBE_COLUMN(Shapes, ratio), KUBE_COLUMN(Shapes, names), KUBE_COLUMN(Shapes, labels),
                     KUBE_COLUMN(Shapes, maybe_names), KUBE_COLUMN(Shapes, maybe_labels), KUBE_COLUMN(Shapes, maybe_rules),
                     KUBE_COLUMN(Shapes, required_names), KUBE_COLUMN(Shapes, required_labels), KUBE_COLUMN(Shapes, children));

}  // namespace kube::testing
