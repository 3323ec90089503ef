// What `kubexx generate` writes for network_test_types.h. Do not edit: if it does not compile, run `kubexx generate`.
#include "meta/network_test_types.h"

#include "kube/value/generated_table.h"

namespace samplecrd::v1 {

// [table]
KUBE_GENERATED_FIRST(Placement, zone, kube::String, "zone");
KUBE_GENERATED_TABLE(Placement, "samplecrd.v1.Placement", KUBE_COLUMN(Placement, zone));

KUBE_GENERATED_FIRST(Route, destination, kube::String, "destination", .required = true);
KUBE_GENERATED_NEXT(Route, destination, port, kube::IntOrString, "port");
KUBE_GENERATED_TABLE(Route, "samplecrd.v1.Route", KUBE_COLUMN(Route, destination), KUBE_COLUMN(Route, port));

KUBE_GENERATED_FIRST(NetworkSpec, cidr, kube::String, "cidr", .required = true);
KUBE_GENERATED_NEXT(NetworkSpec, cidr, pod_cidr, kube::String, "podCIDR");
KUBE_GENERATED_NEXT(NetworkSpec, pod_cidr, mtu, std::optional<std::int32_t>, "mtu");
KUBE_GENERATED_NEXT(NetworkSpec, mtu, description, std::optional<kube::String>, "description");
KUBE_GENERATED_NEXT(NetworkSpec, description, ca_bundle, kube::Bytes, "caBundle", .bytes = true);
KUBE_GENERATED_NEXT(NetworkSpec, ca_bundle, routes, kube::Map<kube::List<Route>>, "routes");
KUBE_GENERATED_NEXT(NetworkSpec, routes, vlan_ranges, kube::List<kube::List<std::int32_t>>, "vlanRanges");
KUBE_GENERATED_NEXT(NetworkSpec, vlan_ranges, limits, kube::Map<kube::Map<kube::Quantity>>, "limits");
KUBE_GENERATED_NEXT(NetworkSpec, limits, dns_servers, kube::Box<kube::List<kube::String>>, "dnsServers");
KUBE_GENERATED_NEXT(NetworkSpec, dns_servers, placement, Placement, "", .inlined = true);
KUBE_GENERATED_TABLE(NetworkSpec, "samplecrd.v1.NetworkSpec", KUBE_COLUMN(NetworkSpec, cidr), KUBE_COLUMN(NetworkSpec, pod_cidr),
                     KUBE_COLUMN(NetworkSpec, mtu), KUBE_COLUMN(NetworkSpec, description), KUBE_COLUMN(NetworkSpec, ca_bundle),
                     KUBE_COLUMN(NetworkSpec, routes), KUBE_COLUMN(NetworkSpec, vlan_ranges), KUBE_COLUMN(NetworkSpec, limits),
                     KUBE_COLUMN(NetworkSpec, dns_servers), KUBE_COLUMN(NetworkSpec, placement));

static constexpr kube::FieldExtra kNetworkStatus_conditions{.list_type = kube::ListType::kMap, .map_keys = "type"};
KUBE_GENERATED_FIRST(NetworkStatus, phase, kube::String, "phase");
KUBE_GENERATED_NEXT(NetworkStatus, phase, conditions, kube::List<kube::meta::v1::Condition>, "conditions",
                    .extra = &kNetworkStatus_conditions);
KUBE_GENERATED_TABLE(NetworkStatus, "samplecrd.v1.NetworkStatus", KUBE_COLUMN(NetworkStatus, phase),
                     KUBE_COLUMN(NetworkStatus, conditions));

KUBE_GENERATED_FIRST(Network, metadata, kube::meta::v1::ObjectMeta, "metadata");
KUBE_GENERATED_NEXT(Network, metadata, spec, NetworkSpec, "spec");
KUBE_GENERATED_NEXT(Network, spec, status, NetworkStatus, "status");
KUBE_GENERATED_KIND(Network, "samplecrd.v1.Network",
                    (.group = "samplecrd.k8s.io", .version = "v1", .kind = "Network", .resource = "networks", .namespaced = true),
                    KUBE_COLUMN(Network, metadata), KUBE_COLUMN(Network, spec), KUBE_COLUMN(Network, status));
// [end]

}  // namespace samplecrd::v1
