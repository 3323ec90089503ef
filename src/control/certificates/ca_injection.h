// Computes the changes that put a program's CA, or its complete webhooks, into the objects that API servers read, and that repair the
// Service in front of the program. No I/O.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/result.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/gvk.h"
#include "kube/value/value.h"

namespace kube::internal {

// A webhook configuration, a CustomResourceDefinition whose conversion the program serves, or the Service.
struct InjectionTarget {
  Gvk kind{};
  Gvr resource{};
  std::string ns{}, name{};
  // What this program would install, without a CA. For a configuration its webhooks; those of other names are never touched. For a
  // CustomResourceDefinition one element, spec.conversion; for a Service one element, its spec.
  std::vector<Value> wanted{};
  // What to create if the object does not exist, without `wanted` unless it is a Service. Null: it is never created.
  Value object{};
  // The hosts of the program's certificates. An entry that makes API servers call another host belongs to another program, which is
  // verified by another CA.
  std::vector<std::string> hosts{};
  // A CustomResourceDefinition that the manager installs: the leader also restores its spec.conversion.
  bool managed = false;
  // Whether the program converts all versions of a live definition; never null for a CustomResourceDefinition.
  std::function<Result<void>(const DynamicObject& crd)> check{};

  bool is_crd() const { return resource.resource == "customresourcedefinitions"; }
  bool is_service() const { return kind.kind == "Service"; }
  std::string ToString() const { return kind.kind.str() + " " + name; }
};
// Kinds and resources filled in.
InjectionTarget WebhookTarget(const Value& configuration);
InjectionTarget ConversionTarget(const std::string& crd, Value conversion, std::function<Result<void>(const DynamicObject&)> check);
InjectionTarget ServiceTarget(const Value& service);
// Whether the annotations say that cert-manager writes the CA into it.
bool IsInjectedByOthers(const DynamicObject& object);

struct InjectionPlan {
  // Belongs to another program: its annotations say that cert-manager injects the CA, or a Service lacks this program's label.
  bool foreign = false;
  // The CA certificates of each entry of this program, PEM each. Empty if it has no entry there.
  std::vector<std::vector<std::string>> trusted{};
  std::vector<std::string> missing{};  // webhooks that are not in it, or call another program
  // The result of InjectionTarget::check. A definition with an error does not get the conversion.
  std::optional<Error> problem{};
  // A JSON patch with the object's resource version; empty if nothing changes.
  Value patch = Value::Array();

  bool changes() const { return !patch.list().empty(); }
};

// `bundle`: PEM; empty if there is nothing to inject yet. `install`: also applies everything else in `wanted`.
InjectionPlan PlanInjection(const InjectionTarget& target, const DynamicObject& object, std::string_view bundle, bool install);
// The object to create.
DynamicObject NewObjectOf(const InjectionTarget& target, std::string_view bundle);

}  // namespace kube::internal
