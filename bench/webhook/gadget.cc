#include "gadget.h"

#include <fmt/core.h>

namespace kube::bench {

KUBE_DEFINE_TABLE(GadgetPort, "bench.GadgetPort", KUBE_FIELD(GadgetPort, name), KUBE_FIELD(GadgetPort, port),
                  KUBE_FIELD(GadgetPort, protocol));
KUBE_DEFINE_TABLE(GadgetEnv, "bench.GadgetEnv", KUBE_FIELD(GadgetEnv, name), KUBE_FIELD(GadgetEnv, value));
KUBE_DEFINE_TABLE(GadgetResources, "bench.GadgetResources", KUBE_FIELD(GadgetResources, limits), KUBE_FIELD(GadgetResources, requests));
KUBE_DEFINE_TABLE(GadgetStatus, "bench.GadgetStatus", KUBE_FIELD(GadgetStatus, observed_generation),
                  KUBE_FIELD(GadgetStatus, ready_replicas), KUBE_FIELD(GadgetStatus, conditions));

namespace v1 {
KUBE_DEFINE_TABLE(GadgetSpec, "bench.v1.GadgetSpec", KUBE_FIELD(GadgetSpec, image), KUBE_FIELD(GadgetSpec, address),
                  KUBE_FIELD(GadgetSpec, replicas), KUBE_FIELD(GadgetSpec, args), KUBE_FIELD(GadgetSpec, env),
                  KUBE_FIELD(GadgetSpec, ports), KUBE_FIELD(GadgetSpec, resources), KUBE_FIELD(GadgetSpec, node_selector));
KUBE_DEFINE_KIND(Gadget, (.group = "bench.example.com", .version = "v1", .kind = "Gadget", .resource = "gadgets", .namespaced = true),
                 KUBE_FIELD(Gadget, metadata), KUBE_FIELD(Gadget, spec), KUBE_FIELD(Gadget, status));
}  // namespace v1

namespace v2 {
KUBE_DEFINE_TABLE(GadgetSpec, "bench.v2.GadgetSpec", KUBE_FIELD(GadgetSpec, image), KUBE_FIELD(GadgetSpec, host),
                  KUBE_FIELD(GadgetSpec, port), KUBE_FIELD(GadgetSpec, replicas), KUBE_FIELD(GadgetSpec, args), KUBE_FIELD(GadgetSpec, env),
                  KUBE_FIELD(GadgetSpec, ports), KUBE_FIELD(GadgetSpec, resources), KUBE_FIELD(GadgetSpec, node_selector));
KUBE_DEFINE_KIND(Gadget, (.group = "bench.example.com", .version = "v2", .kind = "Gadget", .resource = "gadgets", .namespaced = true),
                 KUBE_FIELD(Gadget, metadata), KUBE_FIELD(Gadget, spec), KUBE_FIELD(Gadget, status));
}  // namespace v2

v1::Gadget MakeGadget(int i) {
  v1::Gadget gadget;
  gadget.metadata.name = fmt::format("gadget-{:05}", i);
  gadget.metadata.namespace_ = fmt::format("team-{}", i % 20);
  gadget.metadata.uid = fmt::format("5f0c1d9e-0000-4000-8000-{:012}", i);
  gadget.metadata.resource_version = fmt::format("{}", 100000 + i);
  gadget.metadata.generation = 3;
  gadget.metadata.creation_timestamp = Time::FromUnix(1760000000 + i);
  gadget.metadata.labels = {
      {"app.kubernetes.io/name", "gadget"}, {"app.kubernetes.io/instance", gadget.metadata.name}, {"team", gadget.metadata.namespace_}};
  gadget.metadata.annotations = {{"example.com/owner", "platform"}, {"example.com/revision", gadget.metadata.resource_version}};
  for (const char* manager : {"kubectl-client-side-apply", "gadget-controller"}) {
    gadget.metadata.managed_fields.push_back(
        {.manager = manager,
         .operation = "Update",
         .api_version = "bench.example.com/v1",
         .time = Time::FromUnix(1760000000 + i),
         .fields_type = "FieldsV1",
         .fields_v1 = RawJson(String(
             R"({"f:metadata":{"f:annotations":{".":{},"f:example.com/owner":{},"f:example.com/revision":{}},"f:labels":{".":{},"f:app.kubernetes.io/instance":{},)"
             R"("f:app.kubernetes.io/name":{},"f:team":{}}},"f:spec":{".":{},"f:address":{},"f:args":{},"f:env":{},"f:image":{},"f:nodeSelector":{},)"
             R"("f:ports":{},"f:replicas":{},"f:resources":{".":{},"f:limits":{},"f:requests":{}}}})"))});
  }
  gadget.spec.image = fmt::format("registry.example.com/gadgets/server:v1.{}", i % 7);
  gadget.spec.address = fmt::format("gadget-{:05}.team-{}.svc.cluster.local:8443", i, i % 20);
  gadget.spec.replicas = 1 + i % 5;
  gadget.spec.args = {"--log-level=info", "--metrics-bind-address=:8080", fmt::format("--shard={}", i)};
  for (int e = 0; e < 6; ++e)
    gadget.spec.env.push_back({.name = fmt::format("GADGET_SETTING_{}", e), .value = fmt::format("value-{}-{}", e, i)});
  gadget.spec.ports = {{.name = "https", .port = 8443, .protocol = "TCP"}, {.name = "metrics", .port = 8080, .protocol = "TCP"}};
  gadget.spec.resources.limits = {{"cpu", Quantity::Parse("500m").value()}, {"memory", Quantity::Parse("256Mi").value()}};
  gadget.spec.resources.requests = {{"cpu", Quantity::Parse("100m").value()}, {"memory", Quantity::Parse("128Mi").value()}};
  gadget.spec.node_selector = {{"kubernetes.io/os", "linux"}, {"topology.kubernetes.io/zone", "zone-a"}};
  gadget.status.observed_generation = 3;
  gadget.status.ready_replicas = gadget.spec.replicas;
  gadget.status.conditions.push_back({.type = "Ready",
                                      .status = "True",
                                      .observed_generation = 3,
                                      .last_transition_time = Time::FromUnix(1760000100),
                                      .reason = "AllReplicasReady",
                                      .message = "all replicas answer"});
  return gadget;
}

}  // namespace kube::bench
