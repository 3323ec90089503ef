// What the cases of rotation_test have in common: an empty cluster, a namespace whose ConfigMaps go through the replicas' webhooks, a proxy
// in the place of their Service, and the requests that are sent.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/certificates/ca_state.h"
#include "control/manager/manager_test_util.h"
#include "control/manager/tcp_proxy_test_util.h"
#include "kube/apiserver/api_server.h"
#include "kube/client/client.h"
#include "kube/testing/control_plane.h"
#include "rotation_load.h"
#include "rotation_replicas.h"
#include "testing/temporary_directory.h"

namespace kube::rotation {

// The parameter: "embedded", or a release of the real control plane.
class RotationCluster : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override;
  void TearDown() override;

  bool embedded() const { return std::string(GetParam()) == "embedded"; }
  Client NewClient() const;

  // Starts three replicas and waits until all are ready; says how long that took. An empty cluster: there is no CA and no configuration.
  void StartReplicas(const WebhookCertificateTimes& times);
  // As before StartReplicas.
  void EndReplicas();
  // Until `condition`, or ten minutes.
  bool WaitFor(const std::function<bool()>& condition) const;

  // A Secret with a CA that was made some time ago.
  void PutCa(const WebhookCertificateTimes& times, std::chrono::nanoseconds age) const;
  Result<internal::CaState> Ca() const;
  Result<void> DeleteSecret() const;
  // The CA bundle that API servers trust.
  std::string Bundle() const;

  // ---- What is sent ----
  // A dry-run create that goes through all webhooks; what went wrong.
  std::string CreateMap(const Client& client, const std::string& ns, const std::string& name) const;
  std::unique_ptr<Load> StartCreates(int threads);
  // Handshakes with the proxy, verified by Bundle(): by the Service's name and by the URL's address in turn.
  std::unique_ptr<Load> StartHandshakes() const;

  // ---- What API servers counted (0 for the embedded one, which does not) ----
  struct AdmissionCalls {
    double calls = 0, failed = 0;
  };
  AdmissionCalls CountedByServer() const;
  // Lines of its log that have all of these words.
  int LoggedByServer(const std::vector<std::string>& words) const;

  std::unique_ptr<testing::internal::TemporaryDirectory> scratch_;
  std::unique_ptr<apiserver::ApiServer> server_;
  std::unique_ptr<testing::ControlPlane> plane_;
  ClientConfig config_;
  std::unique_ptr<Client> admin_;
  const std::string ns_ = "hooks";
  internal::TcpProxy proxy_;
  std::unique_ptr<Replicas> replicas_;
};

double MillisSince(std::chrono::steady_clock::time_point begin);

}  // namespace kube::rotation
