// Which changes put a program's CA, or its whole webhooks, into an object that API servers read them from, and which repair the Service in
// front of the program. No I/O.
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
  Value object{};  // without `wanted`, unless it is a Service: what is created if there is none. Null: it is never created
  // What the program's certificates are for. A place that makes API servers call another host is another program's: it verifies that by
  // another CA.
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
  // Another program's: cert-manager injects, as the annotations say, or a Service has not the label of this program.
  bool foreign = false;
  // The CA certificates of each place of this program, PEM each. Empty: it has no place there.
  std::vector<std::vector<std::string>> trusted{};
  std::vector<std::string> missing{};  // webhooks that are not in it, or that call another program
  // What InjectionTarget::check says. Such a definition does not get the conversion.
  std::optional<Error> problem{};
  // A JSON patch with the object's resource version; empty: nothing is to be done.
  Value patch = Value::Array();

  bool changes() const { return !patch.list().empty(); }
};

// `bundle`: PEM; empty: nothing is known yet that could be injected. `install`: also everything else that `wanted` says.
InjectionPlan PlanInjection(const InjectionTarget& target, const DynamicObject& object, std::string_view bundle, bool install);
// The object to create.
DynamicObject NewObjectOf(const InjectionTarget& target, std::string_view bundle);

}  // namespace kube::internal
