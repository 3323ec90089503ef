// WebhookOptions: the port on which a manager serves webhooks, and the certificates that API servers verify it by.
//
//   ManagerOptions options{.webhooks = {.name = "networks"}};
//   manager.Add(WebhookFor<Network>("networks.samplecrd.k8s.io").Default(...).Validate(...));
//
// The manager issues its own certificates: a CA, which all replicas share in the Secret NAME-webhook-ca, and one certificate per replica,
// which exists in its memory only. It writes the CA into the webhook configurations (NAME) and rotates it before it expires. With
// `cert_path` the certificate is read from files, such as those of cert-manager, and nothing is issued or written. docs/webhooks.md has the
// details.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "kube/base/std_chrono.h"
#include "kube/serve/http_limits.h"

namespace kube {

// Validity and delays of certificates. Seconds are possible, for tests.
struct WebhookCertificateTimes {
  std::chrono::nanoseconds ca_lifetime = std::chrono::hours(24 * 365);  // a new CA replaces it when a third is left
  std::chrono::nanoseconds leaf_lifetime = std::chrono::hours(24 * 7);  // renewed when a third is left
  // How long a new CA is in all configurations before certificates are issued from it: API servers read configurations with a delay.
  std::chrono::nanoseconds injection_wait = std::chrono::minutes(5);
  // How long the CA of a replica's certificate is in all configurations before the replica is ready, for the same reason.
  std::chrono::nanoseconds ready_wait = std::chrono::milliseconds(500);
  // Certificates are valid from this long before they are issued, for API servers whose clocks are behind.
  std::chrono::nanoseconds clock_skew = std::chrono::hours(1);
  // A replica that finds an unusable Secret at startup waits this long for another replica to repair it.
  std::chrono::nanoseconds repair_delay = std::chrono::seconds(5);

  bool operator==(const WebhookCertificateTimes&) const = default;
};

// Options of the manager's webhook server.
struct WebhookOptions {
  // Name of the configurations; the Service and the Secret add a suffix. Empty for "manager"; ManagerFlags sets the program's name.
  std::string name{};
  // The namespace that the program runs in. Empty for the client's.
  std::string ns{};
  std::string service{};  // empty for NAME-webhook
  int service_port = 443;
  // Labels of the program's pods, for the Service. Empty for app.kubernetes.io/name: `name`.
  std::map<std::string, std::string, std::less<>> selector{};
  // How API servers reach the program if there is no Service: "https://10.0.0.1:9443". Certificates include the host.
  std::string url{};

  std::string bind_address{};    // an IP address; empty for all, IPv4 and IPv6
  int port = 9443;               // 0 picks a free port
  int workers = 32;              // concurrent calls per webhook
  std::size_t max_queued = 512;  // calls per webhook that wait for a worker
  // Limits on what clients may consume; every pod that reaches the port is a client. ManagerOptions::server_limits.http2 also turns on
  // HTTP/2 here.
  serve::HttpLimits limits = serve::HttpLimits::ForWebhooks();
  // How long the port keeps answering after shutdown begins, until Services no longer route connections to this replica.
  std::chrono::nanoseconds shutdown_delay = std::chrono::seconds(3);

  // A directory with a certificate that another tool issues and replaces. It is read again when it changes.
  std::string cert_path{};
  std::string cert_name = "tls.crt", cert_key = "tls.key";
  std::chrono::nanoseconds cert_poll = std::chrono::seconds(10);  // how often the files are checked

  // ---- Without cert_path ----
  bool inject = true;  // write the CA into the configurations, and repair it
  // Creates the Service and the configurations, and keeps this program's webhooks in them as registered. A Service without the label
  // app.kubernetes.io/managed-by: `name` belongs to another tool and is never changed.
  bool install = false;
  // Additional DNS names and IP addresses for the certificates.
  std::vector<std::string> hosts{};
  WebhookCertificateTimes times{};
};

}  // namespace kube
