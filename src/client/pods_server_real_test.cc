// Logs, exec, attach, port-forward and the calls of subresources.h through real API servers. There are no kubelets behind them, so the test
// is one: what our client sends passes through kube-apiserver's own translation (WebSocket to SPDY) before it arrives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <string>
#include <utility>

#include "client/server_test_util.h"
#include "kube/api/core/v1.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/client/pods.h"
#include "kube/client/subresources.h"
#include "kube/codec/yaml.h"
#include "kube/serve/certificate.h"
#include "kube/serve/http_server.h"
#include "kube/serve/remote_streams.h"

namespace kube {
namespace {

using core::v1::Node;
using core::v1::Pod;
using core::v1::ServiceAccount;
using ::testing::HasSubstr;

// Answers what kube-apiserver asks a kubelet.
class FakeKubelet {
 public:
  FakeKubelet() : stop_(Context::Background().WithCancel()) {
    const serve::CertificateAuthority ca = serve::CertificateAuthority::Create("kubelet CA").value();
    const serve::KeyPair pair = ca.Issue({.common_name = "kubelet", .addresses = {"127.0.0.1"}, .server = true}).value();
    serve::HttpServerOptions options{.limits = serve::HttpLimits::ForApi()};
    options.tls = serve::HttpTlsOptions{.certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem, .client_ca_pem = ""};
    server_ = serve::HttpServer::Start(std::move(options), [this](const Exchange& exchange) {
                MutexLock lock(mu_);
                threads_.emplace_back("kubelet", [this, exchange] { Handle(exchange); });
              }).value();
  }
  ~FakeKubelet() {
    stop_.second.Cancel();
    server_.reset();
    std::list<Thread> threads;
    {
      MutexLock lock(mu_);
      threads.swap(threads_);
    }
  }
  int port() const { return server_->port(); }

 private:
  using Exchange = std::shared_ptr<serve::HttpExchange>;

  void Handle(const Exchange& exchange) {
    const std::string& path = exchange->request().path;
    const Context& ctx = stop_.first;
    if (path.starts_with("/exec/") || path.starts_with("/attach/")) {
      Result<std::unique_ptr<serve::RemoteSession>> session = serve::AcceptRemoteCommand(ctx, exchange);
      if (session) Command(**session);
    } else if (path.starts_with("/portForward/")) {
      Result<std::unique_ptr<serve::PortForwardSession>> session = serve::AcceptPortForward(ctx, exchange);
      if (session) Forward(**session);
    } else if (path.starts_with("/containerLogs/")) {
      exchange->Reply({.status = 200, .headers = {{"content-type", "text/plain"}}, .body = "one " + exchange->request().query + "\ntwo\n"});
    } else {
      exchange->Reply({.status = 404, .headers = {}, .body = "no such path here\n"});
    }
  }

  void Command(serve::RemoteSession& session) const {
    const Context& ctx = stop_.first;
    std::string input;
    std::string buffer(32768, '\0');
    while (session.options().stdin_stream) {
      const Result<std::size_t> got = session.ReadStdin(ctx, buffer.data(), buffer.size());
      if (!got) return;
      if (*got == 0) break;
      input.append(buffer, 0, *got);
      if (session.options().tty) break;  // a line, as of a person
    }
    (void)session.WriteStdout(ctx, "read " + std::to_string(input.size()) + " bytes");
    if (session.options().tty) {
      const Result<std::optional<serve::TerminalSize>> size = session.NextSize(ctx);
      if (size && *size) (void)session.WriteStdout(ctx, " at " + std::to_string((*size)->width) + "x" + std::to_string((*size)->height));
    }
    (void)session.WriteStderr(ctx, "a warning");
    (void)session.Exit(ctx, 7);
  }

  void Forward(serve::PortForwardSession& session) const {
    const Context& ctx = stop_.first;
    while (true) {
      Result<std::unique_ptr<serve::ForwardedConnection>> connection = session.Accept(ctx);
      if (!connection || *connection == nullptr) return;
      if ((*connection)->port() == 81) {
        (void)(*connection)->Fail(ctx, "nobody listens on port 81");
        continue;
      }
      std::string buffer(32768, '\0');
      while (true) {
        const Result<std::size_t> got = (*connection)->Read(ctx, buffer.data(), buffer.size());
        if (!got || *got == 0) break;
        if (!(*connection)->Write(ctx, std::string_view(buffer).substr(0, *got))) break;
      }
      (void)(*connection)->Finish(ctx);
    }
  }

  std::pair<Context, CancelSource> stop_;
  Mutex mu_;
  std::list<Thread> threads_ KUBE_GUARDED_BY(mu_);
  std::unique_ptr<serve::HttpServer> server_;
};

class Contract17Server : public internal::ServerTest {
 protected:
  void SetUp() override {
    internal::ServerTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    client_ = std::make_unique<Client>(NewClient());
  }
  static Pod MakePod(const std::string& name, const std::string& node) {
    return FromYaml<Pod>("{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", namespace: default}, spec: {nodeName: '" + node +
                         "', terminationGracePeriodSeconds: 0, containers: [{name: app, image: x}]}}")
        .value();
  }
  // A pod on a node that is `kubelet`.
  ObjectKey PodOn(const FakeKubelet& kubelet) {
    const std::string name = "kubelet-" + std::to_string(kubelet.port());
    Node node = FromYaml<Node>("{apiVersion: v1, kind: Node, metadata: {name: " + name + "}}").value();
    Result<Node> created = client_->Create(Patient(), node);
    EXPECT_TRUE(created.ok()) << created.error().ToString();
    if (!created) return {};
    created->status = FromYaml<Node>(
                          "{apiVersion: v1, kind: Node, status: {addresses: [{type: InternalIP, address: 127.0.0.1}], "
                          "daemonEndpoints: {kubeletEndpoint: {Port: " +
                          std::to_string(kubelet.port()) + "}}}}")
                          .value()
                          .status;
    const Result<Node> updated = client_->UpdateStatus(Patient(), *created);
    EXPECT_TRUE(updated.ok()) << updated.error().ToString();
    const Result<Pod> pod = client_->Create(Patient(), MakePod(name, name));
    EXPECT_TRUE(pod.ok()) << pod.error().ToString();
    return {"default", name};
  }
  bool embedded() const { return std::string(GetParam()) == "embedded"; }

  std::unique_ptr<Client> client_;
};
INSTANTIATE_SERVERS(Contract17Server);

TEST_P(Contract17Server, APodWithoutAKubeletGivesAClearError) {
  ASSERT_TRUE(client_->Create(Patient(), MakePod("lonely", "")).ok());
  const ObjectKey lonely{"default", "lonely"};
  const Result<ExecResult> exec = Exec(Patient(), *client_, lonely, {.command = {"ls"}});
  ASSERT_FALSE(exec.ok());
  EXPECT_EQ(exec.error().kind(), ErrorKind::kApi) << exec.error().ToString();
  EXPECT_THAT(exec.error().ToString(), HasSubstr("exec default/lonely"));
  const Result<PortForwarder> forwarder = ForwardPorts(Patient(), *client_, lonely, {});
  ASSERT_FALSE(forwarder.ok());
  EXPECT_EQ(forwarder.error().kind(), ErrorKind::kApi) << forwarder.error().ToString();
  const Result<std::string> logs = GetLogs(Patient(), *client_, lonely);
  EXPECT_THAT(exec.error().ToString(), HasSubstr("does not have a host assigned"));
  EXPECT_THAT(forwarder.error().ToString(), HasSubstr("does not have a host assigned"));
  EXPECT_TRUE(IsNotFound(Exec(Patient(), *client_, {"default", "no-such-pod"}, {.command = {"ls"}}).error()));
  EXPECT_TRUE(IsNotFound(ForwardPorts(Patient(), *client_, {"default", "no-such-pod"}, {}).error()));
  EXPECT_TRUE(IsNotFound(GetLogs(Patient(), *client_, {"default", "no-such-pod"}).error()));
  ASSERT_TRUE(client_->Delete<Pod>(Patient(), lonely, {.grace_period_seconds = 0}).ok());
}

TEST_P(Contract17Server, ExecGoesThroughToTheKubelet) {
  if (embedded()) GTEST_SKIP() << "has handlers in the place of kubelets";
  FakeKubelet kubelet;
  const ObjectKey pod = PodOn(kubelet);
  const Result<ExecResult> done =
      Exec(Patient(), *client_, pod, {.command = {"sh", "-c", "cat; exit 7"}, .stdin_data = std::string(100000, 'x')});
  ASSERT_TRUE(done.ok()) << done.error().ToString();
  EXPECT_EQ(done->exit_code, 7);
  EXPECT_EQ(done->stdout_data, "read 100000 bytes");
  EXPECT_EQ(done->stderr_data, "a warning");
}

TEST_P(Contract17Server, AttachWithATerminalGoesThroughToTheKubelet) {
  if (embedded()) GTEST_SKIP() << "has handlers in the place of kubelets";
  FakeKubelet kubelet;
  const ObjectKey pod = PodOn(kubelet);
  std::string screen;
  CommandOptions options{.open_stdin = true, .tty = true, .on_stdout = [&](std::string_view text) {
                           screen.append(text);
                           return Result<void>();
                         }};
  Result<RemoteCommand> session = StartAttach(Patient(), *client_, pod, std::move(options));
  ASSERT_TRUE(session.ok()) << session.error().ToString();
  EXPECT_EQ(session->protocol(), "v5.channel.k8s.io");  // an old server lets the kubelet choose
  ASSERT_TRUE(session->Resize(Patient(), {.width = 80, .height = 24}).ok());
  ASSERT_TRUE(session->WriteStdin(Patient(), "hello").ok());
  const Result<int> code = session->Wait(Patient());
  ASSERT_TRUE(code.ok()) << code.error().ToString();
  EXPECT_EQ(*code, 7);
  EXPECT_EQ(screen, "read 5 bytes at 80x24a warning");
}

TEST_P(Contract17Server, PortForwardGoesThroughToTheKubelet) {
  if (embedded()) GTEST_SKIP() << "has handlers in the place of kubelets";
  FakeKubelet kubelet;
  const ObjectKey pod = PodOn(kubelet);
  Result<PortForwarder> forwarder = ForwardPorts(Patient(), *client_, pod, {.ports = {":80"}});
  ASSERT_TRUE(forwarder.ok()) << forwarder.error().ToString();
  for (int i = 0; i < 3; ++i) {
    Result<std::unique_ptr<PortForwardStream>> stream = forwarder->Dial(Patient(), 80);
    ASSERT_TRUE(stream.ok()) << stream.error().ToString();
    const std::string text(100000, 'p');
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
  }
  Result<std::unique_ptr<PortForwardStream>> stream = forwarder->Dial(Patient(), 81);
  ASSERT_TRUE(stream.ok()) << stream.error().ToString();
  char c = 0;
  const Result<std::size_t> refused = (*stream)->Read(Patient(), &c, 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().ToString(), HasSubstr("nobody listens on port 81"));
  EXPECT_TRUE(IsPortForwardFailure(forwarder->Wait(Patient()).error()));
}

TEST_P(Contract17Server, LogsComeFromTheKubelet) {
  if (embedded()) GTEST_SKIP() << "has handlers in the place of kubelets";
  FakeKubelet kubelet;
  const ObjectKey pod = PodOn(kubelet);
  const Result<std::string> logs = GetLogs(Patient(), *client_, pod, {.tail_lines = 5});
  ASSERT_TRUE(logs.ok()) << logs.error().ToString();
  EXPECT_EQ(*logs, "one tailLines=5\ntwo\n");
}

TEST_P(Contract17Server, PodsAreBoundAndEvicted) {
  ASSERT_TRUE(client_->Create(Patient(), MakePod("movable", "")).ok());
  const ObjectKey pod{"default", "movable"};
  const Result<void> bound = BindPod(Patient(), *client_, pod, "somewhere");
  ASSERT_TRUE(bound.ok()) << bound.error().ToString();
  EXPECT_EQ(client_->Get<Pod>(Patient(), pod).value().spec.node_name, "somewhere");
  EXPECT_TRUE(IsConflict(BindPod(Patient(), *client_, pod, "elsewhere").error()));
  const Result<void> dry = EvictPod(Patient(), *client_, pod, {.dry_run = true});
  ASSERT_TRUE(dry.ok()) << dry.error().ToString();
  EXPECT_TRUE(client_->Get<Pod>(Patient(), pod).ok());
  const Result<void> evicted = EvictPod(Patient(), *client_, pod, {.grace_period_seconds = 0});
  ASSERT_TRUE(evicted.ok()) << evicted.error().ToString();
  EXPECT_TRUE(IsNotFound(client_->Get<Pod>(Patient(), pod).error()));
}

TEST_P(Contract17Server, TokensAndContainersForDebuggingCanBeHad) {
  ServiceAccount account;
  account.metadata.name = "robot17";
  account.metadata.namespace_ = "default";
  ASSERT_TRUE(client_->Create(Patient(), account).ok());
  const Result<authentication::v1::TokenRequest> token =
      CreateServiceAccountToken(Patient(), *client_, {"default", "robot17"}, {.expiration_seconds = 900});
  ASSERT_TRUE(token.ok()) << token.error().ToString();
  EXPECT_FALSE(token->status.token.empty());
  Result<Pod> pod = client_->Create(Patient(), MakePod("debugged", ""));
  ASSERT_TRUE(pod.ok()) << pod.error().ToString();
  core::v1::EphemeralContainer debug;
  debug.name = "debug";
  debug.image = "busybox";
  pod->spec.ephemeral_containers.push_back(debug);
  const Result<Pod> updated = UpdateEphemeralContainers(Patient(), *client_, *pod);
  ASSERT_TRUE(updated.ok()) << updated.error().ToString();
  EXPECT_EQ(updated->spec.ephemeral_containers.size(), 1U);
  EXPECT_TRUE(client_->Delete<Pod>(Patient(), {"default", "debugged"}, {.grace_period_seconds = 0}).ok());
}

}  // namespace
}  // namespace kube
