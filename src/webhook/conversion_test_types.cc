#include "webhook/conversion_test_types.h"

namespace kube::nets {

namespace v1 {
constexpr FieldExtra kRules{.list_type = ListType::kMap, .map_keys = "name"};
KUBE_DEFINE_TABLE(Rule, "nets.v1.Rule", KUBE_FIELD(Rule, name), KUBE_FIELD(Rule, port), KUBE_FIELD(Rule, comment));
KUBE_DEFINE_TABLE(Step, "nets.v1.Step", KUBE_FIELD(Step, run), KUBE_FIELD(Step, note));
KUBE_DEFINE_TABLE(Backup, "nets.v1.Backup", KUBE_FIELD(Backup, host), KUBE_FIELD(Backup, at));
KUBE_DEFINE_TABLE(Shared, "nets.v1.Shared", KUBE_FIELD(Shared, a), KUBE_FIELD(Shared, b));
KUBE_DEFINE_TABLE(NetworkSpec, "nets.v1.NetworkSpec", KUBE_FIELD(NetworkSpec, cidr), KUBE_FIELD(NetworkSpec, gateway),
                  KUBE_FIELD(NetworkSpec, mtu), KUBE_FIELD(NetworkSpec, rules, .extra = &kRules), KUBE_FIELD(NetworkSpec, steps),
                  KUBE_FIELD(NetworkSpec, tags), KUBE_FIELD(NetworkSpec, limits), KUBE_FIELD(NetworkSpec, zones),
                  KUBE_FIELD(NetworkSpec, backup), KUBE_FIELD(NetworkSpec, extra), KUBE_FIELD(NetworkSpec, shared),
                  KUBE_FIELD(NetworkSpec, only_v1), KUBE_FIELD(NetworkSpec, mode));
KUBE_DEFINE_TABLE(NetworkStatus, "nets.v1.NetworkStatus", KUBE_FIELD(NetworkStatus, phase), KUBE_FIELD(NetworkStatus, conditions));
KUBE_DEFINE_KIND(Network, (.group = "nets.example.com", .version = "v1", .kind = "Network", .resource = "networks", .namespaced = true),
                 KUBE_FIELD(Network, metadata), KUBE_FIELD(Network, spec), KUBE_FIELD(Network, status));
}  // namespace v1

namespace v2 {
KUBE_DEFINE_TABLE(Rule, "nets.v2.Rule", KUBE_FIELD(Rule, name), KUBE_FIELD(Rule, port), KUBE_FIELD(Rule, priority));
KUBE_DEFINE_TABLE(Step, "nets.v2.Step", KUBE_FIELD(Step, run), KUBE_FIELD(Step, retries));
KUBE_DEFINE_TABLE(Backup, "nets.v2.Backup", KUBE_FIELD(Backup, host), KUBE_FIELD(Backup, retries));
KUBE_DEFINE_TABLE(Zone, "nets.v2.Zone", KUBE_FIELD(Zone, a), KUBE_FIELD(Zone, weight));
KUBE_DEFINE_TABLE(NetworkSpec, "nets.v2.NetworkSpec", KUBE_FIELD(NetworkSpec, cidrs), KUBE_FIELD(NetworkSpec, gateway),
                  KUBE_FIELD(NetworkSpec, mtu), KUBE_FIELD(NetworkSpec, rules, .extra = &v1::kRules), KUBE_FIELD(NetworkSpec, steps),
                  KUBE_FIELD(NetworkSpec, tags), KUBE_FIELD(NetworkSpec, limits), KUBE_FIELD(NetworkSpec, zones),
                  KUBE_FIELD(NetworkSpec, backup), KUBE_FIELD(NetworkSpec, extra), KUBE_FIELD(NetworkSpec, shared),
                  KUBE_FIELD(NetworkSpec, matrix), KUBE_FIELD(NetworkSpec, mode));
KUBE_DEFINE_TABLE(NetworkStatus, "nets.v2.NetworkStatus", KUBE_FIELD(NetworkStatus, phase), KUBE_FIELD(NetworkStatus, conditions),
                  KUBE_FIELD(NetworkStatus, ready));
KUBE_DEFINE_KIND(Network, (.group = "nets.example.com", .version = "v2", .kind = "Network", .resource = "networks", .namespaced = true),
                 KUBE_FIELD(Network, metadata), KUBE_FIELD(Network, spec), KUBE_FIELD(Network, status));
}  // namespace v2

namespace v3 {
KUBE_DEFINE_KIND(Network, (.group = "nets.example.com", .version = "v3", .kind = "Network", .resource = "networks", .namespaced = true),
                 KUBE_FIELD(Network, metadata), KUBE_FIELD(Network, phase), KUBE_FIELD(Network, addresses));
}  // namespace v3

namespace {

void ToHub(const v1::Network& from, v2::Network& to) {
  if (!from.spec.cidr.empty()) to.spec.cidrs.push_back(from.spec.cidr);
  to.spec.mode = from.spec.mode == "fast" ? 2 : from.spec.mode.empty() ? 0 : 1;
}
void FromHub(const v2::Network& from, v1::Network& to) {
  if (!from.spec.cidrs.empty()) to.spec.cidr = from.spec.cidrs[0];
  to.spec.mode = from.spec.mode > 1 ? "fast" : from.spec.mode == 1 ? "slow" : "";
}

}  // namespace

ConversionBuilder<v2::Network> NetworkConversion() { return Conversion<v2::Network>().Spoke<v1::Network>(ToHub, FromHub); }

ConversionBuilder<v2::Network> ThreeVersions() {
  return NetworkConversion().Spoke<v3::Network>(
      [](const v3::Network& from, v2::Network& to) {
        to.status.phase = from.phase;
        to.spec.cidrs = from.addresses;
      },
      [](const v2::Network& from, v3::Network& to) {
        to.phase = from.status.phase;
        to.addresses = from.spec.cidrs;
      });
}

}  // namespace kube::nets
