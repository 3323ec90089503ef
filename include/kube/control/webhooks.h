// WebhookOptions: the port that a manager serves webhooks at, and the certificates that API servers verify it by.
//
//   ManagerOptions options{.webhooks = {.name = "networks"}};
//   manager.Add(WebhookFor<Network>("networks.samplecrd.k8s.io").Default(...).Validate(...));
//
// The manager issues its own certificates: a CA, which all replicas share in the Secret NAME-webhook-ca, and for each replica a certificate
// that exists in its memory only. It writes the CA into the configurations (NAME) and rotates it before it expires. With `cert_path` the
// certificate is read from files, such as those of cert-manager, and nothing is issued or written. docs/webhooks.md says how that works.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "kube/base/std_chrono.h"
#include "kube/serve/http_limits.h"

namespace kube {

// How long certificates are valid. Seconds are possible, for tests.
struct WebhookCertificateTimes {
  std::chrono::nanoseconds ca_lifetime = std::chrono::hours(24 * 365);  // a new CA replaces it when a third is left
  std::chrono::nanoseconds leaf_lifetime = std::chrono::hours(24 * 7);  // renewed when a third is left
  // How long a new CA is in all configurations before certificates are issued by it: API servers read configurations with a delay.
  std::chrono::nanoseconds injection_wait = std::chrono::minutes(5);
  // How long the CA of a replica's certificate is in all configurations before the replica is ready, for the same reason.
  std::chrono::nanoseconds ready_wait = std::chrono::milliseconds(500);
  // Certificates are valid from this long before they are issued, for API servers whose clock is behind.
  std::chrono::nanoseconds clock_skew = std::chrono::hours(1);
  // A replica that starts and finds a Secret that is not usable waits this long for another replica to repair it.
  std::chrono::nanoseconds repair_delay = std::chrono::seconds(5);

  bool operator==(const WebhookCertificateTimes&) const = default;
};

struct WebhookOptions {
  // Of the configurations, and with a suffix of the Service and the Secret. Empty: "manager". ManagerFlags has the program's name.
  std::string name{};
  // The namespace that the program runs in. Empty: that of the client.
  std::string ns{};
  std::string service{};  // empty: NAME-webhook
  int service_port = 443;
  std::map<std::string, std::string, std::less<>> selector{};  // labels of the program's pods; empty: app.kubernetes.io/name is `name`
  // How API servers reach the program if there is no Service: "https://10.0.0.1:9443". Its host is in the certificates.
  std::string url{};

  std::string bind_address{};    // an IP address; empty: all, of IPv4 and IPv6
  int port = 9443;               // 0: a free one
  int workers = 32;              // calls of each webhook at a time
  std::size_t max_queued = 512;  // calls of each webhook that wait for a worker
  // What clients may cost. Every pod that reaches the port is a client. HTTP/2 is also on with ManagerOptions::server_limits.http2.
  serve::HttpLimits limits = serve::HttpLimits::ForWebhooks();
  // After the manager was told to stop, the port answers for this long, until Services no longer send connections to this replica.
  std::chrono::nanoseconds shutdown_delay = std::chrono::seconds(3);

  // A folder with a certificate that something else issues and replaces; it is read again when it changes.
  std::string cert_path{};
  std::string cert_name = "tls.crt", cert_key = "tls.key";
  std::chrono::nanoseconds cert_poll = std::chrono::seconds(10);

  // ---- Without cert_path ----
  bool inject = true;  // writes the CA into the configurations, and repairs it
  // Creates the Service and the configurations, and keeps this program's webhooks in them as they are registered. A Service that
  // something else created, which has not the label app.kubernetes.io/managed-by with the value `name`, is never changed.
  bool install = false;
  std::vector<std::string> hosts{};  // more DNS names and addresses for the certificates
  WebhookCertificateTimes times{};
};

}  // namespace kube
