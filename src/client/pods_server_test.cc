// Logs, exec, attach, port-forward and the calls of subresources.h against the embedded server, over real connections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/api/core/v1.h"
#include "kube/apiserver/api_server.h"
#include "kube/base/mutex.h"
#include "kube/base/secret_string.h"
#include "kube/base/thread.h"
#include "kube/base/wait_until.h"
#include "kube/client/client.h"
#include "kube/client/pods.h"
#include "kube/client/subresources.h"
#include "kube/config/client_config.h"

namespace kube {
namespace {

using apiserver::ApiServer;
using apiserver::PodConnection;
using apiserver::PodExecRequest;
using apiserver::PodHandlers;
using apiserver::PodLogRequest;
using apiserver::PodStreams;
using core::v1::Pod;
using ::testing::HasSubstr;

constexpr std::string_view kPods = R"(
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec: {containers: [{name: app, image: x}]}
---
apiVersion: v1
kind: Pod
metadata: {name: two, namespace: default}
spec: {containers: [{name: a, image: x}, {name: b, image: x}]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot, namespace: default}
)";

// A condition that a handler signals to the test.
class Flag {
 public:
  void Set() {
    MutexLock lock(mu_);
    set_ = true;
    changed_.NotifyAll();
  }
  bool Wait() {
    MutexLock lock(mu_);
    const auto is_set = [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return set_; };
    return WaitUntil(Context::Background().WithTimeout(std::chrono::seconds(60)), mu_, changed_, is_set).ok();
  }

 private:
  Mutex mu_;
  CondVar changed_;
  bool set_ KUBE_GUARDED_BY(mu_) = false;
};

class PodsServerTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    apiserver::ApiServerOptions options;
    options.http = GetParam();
    options.manifests = {std::string(kPods)};
    server_ = ApiServer::Start(std::move(options)).value();
    ClientConfig config;
    config.host = server_->url();
    config.tls.ca_data = server_->ca_pem();
    if (!GetParam()) config.token = SecretString(server_->admin_token());
    config.qps = -1;
    Result<Client> client = Client::FromConfig(config);
    ASSERT_TRUE(client.ok()) << client.error().ToString();
    client_ = std::make_unique<Client>(*std::move(client));
  }
  static Context Patient() { return Context::Background().WithTimeout(std::chrono::seconds(60)); }

  const ObjectKey web_{"default", "web"};
  Flag started_;
  Flag gone_;
  // After the flags: no handler runs once the server is destroyed.
  std::unique_ptr<ApiServer> server_;
  std::unique_ptr<Client> client_;
};
INSTANTIATE_TEST_SUITE_P(Server, PodsServerTest, ::testing::Values(false, true),
                         [](const ::testing::TestParamInfo<bool>& http) { return http.param ? "Http" : "Https"; });

TEST_P(PodsServerTest, LogsComeWholeOrByLines) {
  server_->SetPodHandlers({.log = [](const Context&, const PodLogRequest& request, const std::function<bool(std::string_view)>& write) {
    write(request.container + "\n");
    write("follow " + std::to_string(request.follow) + "\n");
    write("tail " + std::to_string(request.tail_lines.value_or(-1)));
    return Result<void>();
  }});
  EXPECT_EQ(GetLogs(Patient(), *client_, web_, {.tail_lines = 7}).value(), "app\nfollow 0\ntail 7");
  Result<LogStream> stream = StreamLogs(Patient(), *client_, {"default", "two"}, {.container = "b", .follow = true});
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(stream->NextLine(Patient()).value().value(), "b");
  EXPECT_EQ(stream->NextLine(Patient()).value().value(), "follow 1");
  EXPECT_EQ(stream->NextLine(Patient()).value().value(), "tail -1");
  EXPECT_FALSE(stream->NextLine(Patient()).value().has_value());
}

TEST_P(PodsServerTest, LogErrorsAreTheServers) {
  server_->SetPodHandlers(
      {.log = [](const Context&, const PodLogRequest&, const std::function<bool(std::string_view)>&) { return Result<void>(); }});
  EXPECT_TRUE(IsNotFound(GetLogs(Patient(), *client_, {"default", "none"}).error()));
  const Result<std::string> which = GetLogs(Patient(), *client_, {"default", "two"});
  ASSERT_FALSE(which.ok());
  EXPECT_TRUE(IsBadRequest(which.error()));
  EXPECT_THAT(which.error().ToString(), HasSubstr("choose one of: [a b]"));
}

TEST_P(PodsServerTest, ALogThatIsFollowedEndsWithItsReader) {
  server_->SetPodHandlers({.log = [this](const Context& ctx, const PodLogRequest&, const std::function<bool(std::string_view)>& write) {
    write("first\n");
    ctx.WaitUntilStopped();
    gone_.Set();
    return Result<void>();
  }});
  {
    Result<LogStream> stream = StreamLogs(Patient(), *client_, web_, {.follow = true});
    ASSERT_TRUE(stream.ok());
    EXPECT_EQ(stream->NextLine(Patient()).value().value(), "first");
    EXPECT_EQ(stream->NextLine(Context::Background().WithTimeout(std::chrono::milliseconds(20))).error().kind(), ErrorKind::kTimeout);
  }
  EXPECT_TRUE(gone_.Wait());
}

TEST_P(PodsServerTest, ExecGivesOutputAndExitCode) {
  server_->SetPodHandlers({.exec = [](const Context&, const PodExecRequest& request, PodStreams& streams) -> Result<int> {
    std::string input;
    while (true) {
      Result<std::string> part = streams.ReadStdin();
      if (!part) return part.error();
      if (part->empty()) break;
      input += *part;
    }
    (void)streams.WriteStdout(input);
    (void)streams.WriteStderr(request.command.at(1) + " in " + request.container);
    return 42;
  }});
  const std::string input(300000, 'i');
  const Result<ExecResult> done = Exec(Patient(), *client_, web_, {.command = {"cat", "a&b c"}, .stdin_data = input});
  ASSERT_TRUE(done.ok()) << done.error().ToString();
  EXPECT_EQ(done->exit_code, 42);
  EXPECT_EQ(done->stdout_data, input);
  EXPECT_EQ(done->stderr_data, "a&b c in app");
}

TEST_P(PodsServerTest, ExecErrorsAreTheServers) {
  EXPECT_TRUE(IsNotFound(Exec(Patient(), *client_, {"default", "none"}, {.command = {"ls"}}).error()));
  const Result<ExecResult> no_handler = Exec(Patient(), *client_, web_, {.command = {"ls"}});
  ASSERT_FALSE(no_handler.ok());
  EXPECT_EQ(no_handler.error().http_code(), 400);  // the pod has no node
  server_->SetPodHandlers(
      {.exec = [](const Context&, const PodExecRequest&, PodStreams&) -> Result<int> { return Error::Internal("no such file"); }});
  const Result<ExecResult> failed = Exec(Patient(), *client_, web_, {.command = {"ls"}});
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().ToString(), HasSubstr("no such file"));
}

TEST_P(PodsServerTest, AttachTalksBothWays) {
  server_->SetPodHandlers({.attach = [](const Context&, const PodExecRequest& request, PodStreams& streams) -> Result<int> {
    EXPECT_TRUE(request.tty);
    while (true) {
      Result<std::string> part = streams.ReadStdin();
      if (!part || part->empty() || *part == "exit\n") return 0;
      (void)streams.WriteStdout("> " + *part);
    }
  }});
  std::string screen;
  Flag answered;
  Result<RemoteCommand> session =
      StartAttach(Patient(), *client_, web_, {.open_stdin = true, .tty = true, .on_stdout = [&](std::string_view text) {
                                                screen.append(text);
                                                answered.Set();
                                                return Result<void>();
                                              }});
  ASSERT_TRUE(session.ok()) << session.error().ToString();
  EXPECT_TRUE(session->Resize(Patient(), {.width = 80, .height = 24}).ok());
  ASSERT_TRUE(session->WriteStdin(Patient(), "hello\n").ok());
  ASSERT_TRUE(answered.Wait());
  ASSERT_TRUE(session->WriteStdin(Patient(), "exit\n").ok());
  EXPECT_EQ(session->Wait(Patient()).value(), 0);
  EXPECT_EQ(screen, "> hello\n");
}

TEST_P(PodsServerTest, AnExecHandlersContextEndsWhenTheClientGoes) {
  server_->SetPodHandlers({.exec = [this](const Context& ctx, const PodExecRequest&, PodStreams&) -> Result<int> {
    started_.Set();
    ctx.WaitUntilStopped();
    gone_.Set();
    return 0;
  }});
  auto [ctx, cancel] = Patient().WithCancel();
  Result<RemoteCommand> session =
      StartExec(ctx, *client_, web_, {.command = {"sleep"}, .on_stdout = [](std::string_view) { return Result<void>(); }});
  ASSERT_TRUE(session.ok()) << session.error().ToString();
  ASSERT_TRUE(started_.Wait());
  cancel.Cancel();
  EXPECT_TRUE(IsCancelled(session->Wait(Patient()).error()));
  EXPECT_TRUE(gone_.Wait());
}

TEST_P(PodsServerTest, ACutConnectionEndsExecWithAnError) {
  server_->SetPodHandlers({.exec = [this](const Context& ctx, const PodExecRequest&, PodStreams&) -> Result<int> {
    started_.Set();
    ctx.WaitUntilStopped();
    return 0;
  }});
  Result<RemoteCommand> session =
      StartExec(Patient(), *client_, web_, {.command = {"sleep"}, .on_stdout = [](std::string_view) { return Result<void>(); }});
  ASSERT_TRUE(session.ok()) << session.error().ToString();
  ASSERT_TRUE(started_.Wait());
  server_->CloseConnections();
  EXPECT_EQ(session->Wait(Patient()).error().kind(), ErrorKind::kTransport);
}

Result<void> EchoPort(const Context&, const std::string&, const std::string&, int port, PodConnection& connection) {
  if (port == 81) return Error(ErrorKind::kTransport, "nobody listens on port 81");
  while (true) {
    Result<std::string> part = connection.Read();
    if (!part) return part.error();
    if (part->empty()) return {};
    if (Result<void> sent = connection.Write(*part); !sent) return sent;
  }
}

TEST_P(PodsServerTest, PortForwardCarriesBytes) {
  server_->SetPodHandlers({.port_forward = EchoPort});
  Result<PortForwarder> forwarder = ForwardPorts(Patient(), *client_, web_, {.ports = {":80"}});
  ASSERT_TRUE(forwarder.ok()) << forwarder.error().ToString();
  Result<std::unique_ptr<PortForwardStream>> stream = forwarder->Dial(Patient(), 80);
  ASSERT_TRUE(stream.ok()) << stream.error().ToString();
  const std::string text(500000, 'p');
  Thread writer("writer", [&] {
    EXPECT_TRUE((*stream)->Write(Patient(), text).ok());
    EXPECT_TRUE((*stream)->Finish(Patient()).ok());
  });
  std::string got;
  std::string buffer(10000, '\0');
  while (true) {
    const Result<std::size_t> n = (*stream)->Read(Patient(), buffer.data(), buffer.size());
    ASSERT_TRUE(n.ok()) << n.error().ToString();
    if (*n == 0) break;
    got.append(buffer, 0, *n);
  }
  writer.Join();
  EXPECT_EQ(got, text);
  forwarder->Stop();
  EXPECT_TRUE(forwarder->Wait(Patient()).ok());
}

TEST_P(PodsServerTest, APortWhereNobodyListensSaysSo) {
  server_->SetPodHandlers({.port_forward = EchoPort});
  Result<PortForwarder> forwarder = ForwardPorts(Patient(), *client_, web_, {});
  ASSERT_TRUE(forwarder.ok()) << forwarder.error().ToString();
  Result<std::unique_ptr<PortForwardStream>> stream = forwarder->Dial(Patient(), 81);
  ASSERT_TRUE(stream.ok()) << stream.error().ToString();
  char c = 0;
  const Result<std::size_t> got = (*stream)->Read(Patient(), &c, 1);
  ASSERT_FALSE(got.ok());
  EXPECT_THAT(got.error().ToString(), HasSubstr("nobody listens on port 81"));
  EXPECT_TRUE(IsPortForwardFailure(forwarder->Wait(Patient()).error()));
}

TEST_P(PodsServerTest, APortForwardHandlersContextEndsWhenTheClientGoes) {
  server_->SetPodHandlers({.port_forward = [this](const Context& ctx, const std::string&, const std::string&, int, PodConnection&) {
    started_.Set();
    ctx.WaitUntilStopped();
    gone_.Set();
    return Result<void>();
  }});
  {
    Result<PortForwarder> forwarder = ForwardPorts(Patient(), *client_, web_, {});
    ASSERT_TRUE(forwarder.ok()) << forwarder.error().ToString();
    Result<std::unique_ptr<PortForwardStream>> stream = forwarder->Dial(Patient(), 80);
    ASSERT_TRUE(stream.ok());
    ASSERT_TRUE(started_.Wait());
  }
  EXPECT_TRUE(gone_.Wait());
}

TEST_P(PodsServerTest, ACutConnectionEndsPortForward) {
  server_->SetPodHandlers({.port_forward = EchoPort});
  Result<PortForwarder> forwarder = ForwardPorts(Patient(), *client_, web_, {});
  ASSERT_TRUE(forwarder.ok()) << forwarder.error().ToString();
  server_->CloseConnections();
  EXPECT_TRUE(IsLostConnectionToPod(forwarder->Wait(Patient()).error()));
}

TEST_P(PodsServerTest, EvictionDeletesThePod) {
  const Result<void> dry = EvictPod(Patient(), *client_, web_, {.dry_run = true});
  ASSERT_TRUE(dry.ok()) << dry.error().ToString();
  EXPECT_TRUE(client_->Get<Pod>(Patient(), web_).ok());
  EXPECT_TRUE(IsConflict(EvictPod(Patient(), *client_, web_, {.uid = "another"}).error()));
  const Result<void> done = EvictPod(Patient(), *client_, web_, {.grace_period_seconds = 0});
  ASSERT_TRUE(done.ok()) << done.error().ToString();
  EXPECT_TRUE(IsNotFound(client_->Get<Pod>(Patient(), web_).error()));
  EXPECT_TRUE(IsNotFound(EvictPod(Patient(), *client_, web_).error()));
}

TEST_P(PodsServerTest, BindingGivesThePodItsNodeOnce) {
  const Result<void> bound = BindPod(Patient(), *client_, web_, "node-1");
  ASSERT_TRUE(bound.ok()) << bound.error().ToString();
  EXPECT_EQ(client_->Get<Pod>(Patient(), web_).value().spec.node_name, "node-1");
  EXPECT_TRUE(IsConflict(BindPod(Patient(), *client_, web_, "node-2").error()));
  EXPECT_EQ(BindPod(Patient(), *client_, web_, "").error().kind(), ErrorKind::kInvalid);
}

TEST_P(PodsServerTest, TokensOfServiceAccountsCanBeHad) {
  const Result<authentication::v1::TokenRequest> token =
      CreateServiceAccountToken(Patient(), *client_, {"default", "robot"}, {.audiences = {"me"}, .expiration_seconds = 900});
  ASSERT_TRUE(token.ok()) << token.error().ToString();
  EXPECT_FALSE(token->status.token.empty());
  EXPECT_TRUE(IsNotFound(CreateServiceAccountToken(Patient(), *client_, {"default", "none"}).error()));
}

TEST_P(PodsServerTest, ContainersForDebuggingCanBeAdded) {
  Pod pod = client_->Get<Pod>(Patient(), web_).value();
  core::v1::EphemeralContainer debug;
  debug.name = "debug";
  debug.image = "busybox";
  pod.spec.ephemeral_containers.push_back(debug);
  const Result<Pod> updated = UpdateEphemeralContainers(Patient(), *client_, pod);
  ASSERT_TRUE(updated.ok()) << updated.error().ToString();
  ASSERT_EQ(updated->spec.ephemeral_containers.size(), 1U);
  EXPECT_EQ(updated->spec.ephemeral_containers[0].name, "debug");
}

}  // namespace
}  // namespace kube
