// The embedded API server under its name for tests. See kube/apiserver/api_server.h.
//
//   auto server = kube::testing::ApiServer::Start();
//   kube::Client client = (*server)->NewClient().value();
#pragma once

#include "kube/apiserver/api_server.h"
#include "kube/client/client.h"

namespace kube::testing {

using apiserver::ApiServer;
using apiserver::ApiServerOptions;
using apiserver::Fault;
using apiserver::FaultKind;
using apiserver::PodHandlers;

}  // namespace kube::testing
