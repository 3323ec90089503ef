// A custom resource in two versions: v1 has host and port in one string.
#pragma once

#include "kube/meta/v1.h"
#include "kube/value/table.h"

namespace kube::bench {

struct GadgetPort {
  String name{};
  std::int32_t port = 0;
  String protocol{};
  KUBE_TABLE(GadgetPort);
};
struct GadgetEnv {
  String name{};
  String value{};
  KUBE_TABLE(GadgetEnv);
};
struct GadgetResources {
  Map<Quantity> limits{};
  Map<Quantity> requests{};
  KUBE_TABLE(GadgetResources);
};
struct GadgetStatus {
  std::int64_t observed_generation = 0;
  std::int32_t ready_replicas = 0;
  List<meta::v1::Condition> conditions{};
  KUBE_TABLE(GadgetStatus);
};

namespace v1 {
struct GadgetSpec {
  String image{};
  String address{};  // "host:port"
  std::int32_t replicas = 0;
  List<String> args{};
  List<GadgetEnv> env{};
  List<GadgetPort> ports{};
  GadgetResources resources{};
  Map<String> node_selector{};
  KUBE_TABLE(GadgetSpec);
};
struct Gadget {
  meta::v1::ObjectMeta metadata{};
  GadgetSpec spec{};
  GadgetStatus status{};
  KUBE_TABLE(Gadget);
};
}  // namespace v1

namespace v2 {
struct GadgetSpec {
  String image{};
  String host{};
  std::int32_t port = 0;
  std::int32_t replicas = 0;
  List<String> args{};
  List<GadgetEnv> env{};
  List<GadgetPort> ports{};
  GadgetResources resources{};
  Map<String> node_selector{};
  KUBE_TABLE(GadgetSpec);
};
struct Gadget {
  meta::v1::ObjectMeta metadata{};
  GadgetSpec spec{};
  GadgetStatus status{};
  KUBE_TABLE(Gadget);
};
}  // namespace v2

// As a server has it, with managedFields: 2.9 KB of JSON.
v1::Gadget MakeGadget(int i);

}  // namespace kube::bench
