// Port-forward against a server that the test plays.
#include "kube/client/port_forward.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/local_listener.h"
#include "kube/base/fake_clock.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/config/client_config.h"
#include "kube/transport/write_permit.h"
#include "transport/pipe_test_util.h"
#include "transport/spdy/spdy_connection.h"
#include "transport/websocket/websocket.h"

namespace kube::internal {
namespace {

using ::testing::HasSubstr;

Context Patient() { return Context::Background().WithTimeout(kPipePatience); }

Client ClientWith(const std::shared_ptr<Transport>& transport) { return Client::FromConfig({.qps = -1}, {.transport = transport}).value(); }

std::string ReadAll(const std::function<Result<std::size_t>(char*, std::size_t)>& read) {
  std::string all;
  std::string buffer(1000, '\0');
  while (true) {
    const Result<std::size_t> got = read(buffer.data(), buffer.size());
    if (!got) return all + "[" + got.error().message() + "]";
    if (*got == 0) return all;
    all.append(buffer, 0, *got);
  }
}
std::string ReadAll(PortForwardStream& stream) {
  return ReadAll([&](char* buffer, std::size_t size) { return stream.Read(Patient(), buffer, size); });
}
std::string ReadAll(SpdyStream& stream) {
  return ReadAll([&](char* buffer, std::size_t size) { return stream.Read(Patient(), buffer, size); });
}

// The kubelet's side: each pair of streams is given to a handler on a thread of its own.
class FakePod {
 public:
  struct Connection {
    int port = 0;
    std::shared_ptr<SpdyStream> data;
    std::shared_ptr<SpdyStream> error;
  };
  using Handler = std::function<void(const Connection&)>;

  FakePod(std::unique_ptr<UpgradedConnection> end, Handler handler)
      : connection_(MakeWebSocketTunnel(std::make_unique<WebSocket>(std::move(end), WebSocket::Role::kServer)),
                    SpdyConnection::Role::kServer),
        handler_(std::move(handler)),
        thread_("pod", [this] { Run(); }) {}
  ~FakePod() {
    connection_.Close();
    thread_.Join();
  }
  void Close() { connection_.Close(); }
  bool WaitUntilClientIsGone() {
    return !connection_.alive().WithTimeout(kPipePatience).SleepFor(kPipePatience).ok() && connection_.alive().stopped();
  }
  std::vector<std::string> opened() const {
    MutexLock lock(mu_);
    return opened_;
  }

 private:
  void Run() {
    std::map<std::string, Connection> halves;
    while (true) {
      Result<std::shared_ptr<SpdyStream>> stream = connection_.Accept(Patient());
      if (!stream || *stream == nullptr) break;
      const HttpHeaders& headers = (*stream)->headers();
      const std::string type(headers.Get("streamType"));
      {
        MutexLock lock(mu_);
        opened_.push_back(type + " " + std::string(headers.Get("port")) + " " + std::string(headers.Get("requestID")));
      }
      Connection& half = halves[std::string(headers.Get("requestID"))];
      half.port = std::stoi(std::string(headers.Get("port")));
      (type == "data" ? half.data : half.error) = *stream;
      if (half.data && half.error) threads_.emplace_back("pod-conn", [this, half] { handler_(half); });
    }
    threads_.clear();
  }

  SpdyConnection connection_;
  const Handler handler_;
  std::list<Thread> threads_;
  mutable Mutex mu_;
  std::vector<std::string> opened_ KUBE_GUARDED_BY(mu_);
  Thread thread_;
};

// Says everything back, then ends.
void Echo(const FakePod::Connection& connection) {
  std::string buffer(1000, '\0');
  while (true) {
    const Result<std::size_t> got = connection.data->Read(Patient(), buffer.data(), buffer.size());
    if (!got || *got == 0) break;
    if (!connection.data->Write(Patient(), std::string_view(buffer).substr(0, *got))) break;
  }
  connection.data->Close();
  connection.error->Close();
}

void Refuse(const FakePod::Connection& connection) {
  (void)connection.error->Write(Patient(), "connection refused by port " + std::to_string(connection.port));
  connection.error->Close();
  connection.data->Close();
}

// A TCP connection of a local program.
class LocalClient {
 public:
  LocalClient(std::uint16_t port, bool v6 = false) : fd_(socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = 30, .tv_usec = 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in address4{};
    address4.sin_family = AF_INET;
    address4.sin_port = htons(port);
    address4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in6 address6{};
    address6.sin6_family = AF_INET6;
    address6.sin6_port = htons(port);
    address6.sin6_addr = in6addr_loopback;
    connected_ = v6 ? connect(fd_.get(), reinterpret_cast<sockaddr*>(&address6), sizeof(address6)) == 0
                    : connect(fd_.get(), reinterpret_cast<sockaddr*>(&address4), sizeof(address4)) == 0;
  }
  bool connected() const { return connected_; }
  void Send(std::string_view text) const {
    EXPECT_EQ(send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  void End() const { shutdown(fd_.get(), SHUT_WR); }
  std::string ReadExactly(std::size_t size) const {
    std::string out(size, '\0');
    const ssize_t got = recv(fd_.get(), out.data(), size, MSG_WAITALL);
    out.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return out;
  }
  std::string ReadAll() const {
    std::string all;
    while (true) {
      const std::string more = ReadExactly(1);
      if (more.empty()) return all;
      all += more;
    }
  }

 private:
  Descriptor fd_;
  bool connected_ = false;
};

class PortForwardTest : public ::testing::Test {
 protected:
  Result<PortForwarder> Start(PortForwardOptions options, FakePod::Handler handler = Echo, const Context& ctx = Context::Background()) {
    Result<PortForwarder> forwarder = ForwardPorts(ctx, ClientWith(transport_), pod_, options);
    if (forwarder) fake_ = std::make_unique<FakePod>(transport_->Accept(), std::move(handler));
    return forwarder;
  }

  const ObjectKey pod_{"default", "web"};
  const std::shared_ptr<UpgradeTransport> transport_ = std::make_shared<UpgradeTransport>();
  std::unique_ptr<FakePod> fake_;
};
using Contract17PortForward = PortForwardTest;

TEST(Contract17ForwardedPorts, SpecsAreReadAsKubectlReadsThem) {
  EXPECT_EQ(ParseForwardedPort("8080:80").value(), (ForwardedPort{8080, 80}));
  EXPECT_EQ(ParseForwardedPort("80").value(), (ForwardedPort{80, 80}));
  EXPECT_EQ(ParseForwardedPort(":80").value(), (ForwardedPort{0, 80}));
  EXPECT_EQ(ParseForwardedPort("0:80").value(), (ForwardedPort{0, 80}));
  EXPECT_EQ(ParseForwardedPort("65535:1").value(), (ForwardedPort{65535, 1}));
  for (const char* bad : {"", ":", "a", "80:", "80:0", "0", "65536", "1:65536", "-1:80", "1:2:3", "80 ", "0x50", "http"}) {
    const Result<ForwardedPort> port = ParseForwardedPort(bad);
    ASSERT_FALSE(port.ok()) << bad;
    EXPECT_EQ(port.error().kind(), ErrorKind::kInvalid);
    EXPECT_THAT(port.error().message(), HasSubstr("\"" + std::string(bad) + "\""));
  }
}

TEST(Contract17Listeners, LocalhostIsBothFamiliesOnOnePort) {
  std::vector<Descriptor> listeners;
  const Result<std::uint16_t> port = ListenOn({"localhost"}, 0, listeners);
  ASSERT_TRUE(port.ok()) << port.error().ToString();
  EXPECT_GT(*port, 0);
  ASSERT_GE(listeners.size(), 1U);  // machines without IPv6 have one
  EXPECT_TRUE(LocalClient(*port).connected());
  if (listeners.size() == 2) {
    EXPECT_TRUE(LocalClient(*port, true).connected());
  }
}

TEST(Contract17Listeners, LocalhostIsFineWithOneFamily) {
  std::vector<Descriptor> taken;
  const Result<std::uint16_t> port = ListenOn({"127.0.0.1"}, 0, taken);
  ASSERT_TRUE(port.ok());
  std::vector<Descriptor> listeners;
  const Result<std::uint16_t> rest = ListenOn({"localhost"}, *port, listeners);
  if (!rest) GTEST_SKIP() << "this machine has no IPv6: " << rest.error().ToString();
  EXPECT_EQ(*rest, *port);
  EXPECT_EQ(listeners.size(), 1U);
}

TEST(Contract17Listeners, AddressesHaveToWorkAll) {
  std::vector<Descriptor> taken;
  const Result<std::uint16_t> port = ListenOn({"127.0.0.2"}, 0, taken);
  ASSERT_TRUE(port.ok());
  std::vector<Descriptor> listeners;
  const Result<std::uint16_t> failed = ListenOn({"127.0.0.1", "127.0.0.2"}, *port, listeners);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind(), ErrorKind::kTransport);
  EXPECT_THAT(failed.error().message(), HasSubstr("port " + std::to_string(*port) + " of 127.0.0.2"));
}

TEST(Contract17Listeners, NamesAreNotAddresses) {
  std::vector<Descriptor> listeners;
  EXPECT_EQ(ListenOn({"example.com"}, 0, listeners).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(ListenOn({}, 0, listeners).error().kind(), ErrorKind::kInvalid);
}

TEST_F(Contract17PortForward, AsksForTheTunnel) {
  Result<PortForwarder> forwarder = Start({});
  ASSERT_TRUE(forwarder.ok()) << forwarder.error().ToString();
  const HttpRequest request = transport_->requests().at(0);
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.target, "/api/v1/namespaces/default/pods/web/portforward");
  EXPECT_EQ(request.headers.Get("Sec-WebSocket-Protocol"), "SPDY/3.1+portforward.k8s.io");
}

// What is sent into a pod can change something there.
TEST_F(Contract17PortForward, NeedsTheWritePermitOfItsContext) {
  class Never : public WritePermit {
   public:
    Result<void> Check() override { return Error::Timeout("not the leader any more"); }
  };
  const auto transport = std::make_shared<UpgradeTransport>();
  const Result<PortForwarder> refused =
      ForwardPorts(AddWritePermit(Patient(), std::make_shared<Never>()), ClientWith(transport), {"default", "web"}, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().ToString(), HasSubstr("not the leader any more"));
}

TEST_F(Contract17PortForward, WhatMakesNoSenseIsNotSent) {
  EXPECT_EQ(Start({.ports = {"x"}}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(ForwardPorts(Patient(), ClientWith(transport_), {"default", ""}, {}).error().kind(), ErrorKind::kInvalid);
  EXPECT_TRUE(transport_->requests().empty());
}

TEST_F(Contract17PortForward, DialGivesAStreamToAPort) {
  Result<PortForwarder> forwarder = Start({});
  ASSERT_TRUE(forwarder.ok());
  Result<std::unique_ptr<PortForwardStream>> stream = forwarder->Dial(Patient(), 80);
  ASSERT_TRUE(stream.ok()) << stream.error().ToString();
  const std::string text(200000, 'z');
  Thread writer("writer", [&] {
    EXPECT_TRUE((*stream)->Write(Patient(), text).ok());
    EXPECT_TRUE((*stream)->Finish(Patient()).ok());
  });
  EXPECT_EQ(ReadAll(**stream), text);
  writer.Join();
  // An error stream, then a data stream, with one number for both.
  EXPECT_THAT(fake_->opened(), ::testing::ElementsAre("error 80 0", "data 80 0"));
  EXPECT_EQ(forwarder->Dial(Patient(), 0).error().kind(), ErrorKind::kInvalid);
}

TEST_F(Contract17PortForward, SeveralConnectionsShareTheSession) {
  Result<PortForwarder> forwarder = Start({});
  ASSERT_TRUE(forwarder.ok());
  std::list<Thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back("dialler", [&, i] {
      for (int k = 0; k < 5; ++k) {
        Result<std::unique_ptr<PortForwardStream>> stream = forwarder->Dial(Patient(), static_cast<std::uint16_t>(80 + i));
        ASSERT_TRUE(stream.ok()) << stream.error().ToString();
        const std::string text = "connection " + std::to_string(i);
        ASSERT_TRUE((*stream)->Write(Patient(), text).ok());
        ASSERT_TRUE((*stream)->Finish(Patient()).ok());
        EXPECT_EQ(ReadAll(**stream), text);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(transport_->requests().size(), 1U);
}

TEST_F(Contract17PortForward, TheErrorStreamIsClosedForWritingAtOnce) {
  Result<PortForwarder> forwarder = Start({}, [](const FakePod::Connection& connection) {
    EXPECT_EQ(ReadAll(*connection.error), "");
    (void)connection.data->Write(Patient(), "was closed");
    connection.data->Close();
    connection.error->Close();
  });
  ASSERT_TRUE(forwarder.ok());
  Result<std::unique_ptr<PortForwardStream>> stream = forwarder->Dial(Patient(), 80);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(ReadAll(**stream), "was closed");
}

TEST_F(Contract17PortForward, LocalPortsLeadToThePod) {
  Result<PortForwarder> forwarder = Start({.ports = {":80", "0:8443"}});
  ASSERT_TRUE(forwarder.ok()) << forwarder.error().ToString();
  ASSERT_EQ(forwarder->ports().size(), 2U);
  EXPECT_EQ(forwarder->ports()[0].remote, 80);
  EXPECT_EQ(forwarder->ports()[1].remote, 8443);
  EXPECT_NE(forwarder->ports()[0].local, 0);
  EXPECT_NE(forwarder->ports()[0].local, forwarder->ports()[1].local);
  const LocalClient first(forwarder->ports()[0].local);
  const LocalClient second(forwarder->ports()[1].local);
  ASSERT_TRUE(first.connected() && second.connected());
  second.Send("to 8443");
  EXPECT_EQ(second.ReadExactly(7), "to 8443");
  first.Send("to 80");
  first.End();  // half-closed: the answer still comes
  EXPECT_EQ(first.ReadAll(), "to 80");
  forwarder->Stop();
  EXPECT_EQ(second.ReadAll(), "");
}

TEST_F(Contract17PortForward, ALocalPortThatIsTakenIsAnError) {
  std::vector<Descriptor> taken;
  const std::uint16_t port = ListenOn({"127.0.0.1"}, 0, taken).value();
  const Result<PortForwarder> forwarder = Start({.ports = {std::to_string(port) + ":80"}, .addresses = {"127.0.0.1"}});
  ASSERT_FALSE(forwarder.ok());
  EXPECT_THAT(forwarder.error().ToString(), HasSubstr("port-forward default/web"));
  EXPECT_THAT(forwarder.error().ToString(), HasSubstr(std::to_string(port)));
}

TEST_F(Contract17PortForward, ARemoteErrorIsReadAndClosesTheSession) {
  Result<PortForwarder> forwarder = Start({}, Refuse);
  ASSERT_TRUE(forwarder.ok());
  Result<std::unique_ptr<PortForwardStream>> stream = forwarder->Dial(Patient(), 81);
  ASSERT_TRUE(stream.ok()) << stream.error().ToString();
  EXPECT_THAT(ReadAll(**stream), HasSubstr("connection refused by port 81"));
  const Result<void> end = forwarder->Wait(Patient());
  ASSERT_FALSE(end.ok());
  EXPECT_TRUE(IsPortForwardFailure(end.error()));
  EXPECT_FALSE(IsLostConnectionToPod(end.error()));
  EXPECT_THAT(end.error().ToString(), HasSubstr("port-forward default/web: port 81: connection refused by port 81"));
  EXPECT_TRUE(IsPortForwardFailure(forwarder->Dial(Patient(), 80).error()));
  EXPECT_TRUE(fake_->WaitUntilClientIsGone());
}

TEST_F(Contract17PortForward, ARemoteErrorOfALocalConnectionClosesTheSessionToo) {
  Result<PortForwarder> forwarder = Start({.ports = {":81"}}, Refuse);
  ASSERT_TRUE(forwarder.ok());
  const LocalClient client(forwarder->ports()[0].local);
  EXPECT_EQ(client.ReadAll(), "");
  EXPECT_TRUE(IsPortForwardFailure(forwarder->Wait(Patient()).error()));
}

TEST_F(Contract17PortForward, ALostConnectionIsAnErrorOfItsOwn) {
  Result<PortForwarder> forwarder = Start({.ports = {":80"}});
  ASSERT_TRUE(forwarder.ok());
  const LocalClient client(forwarder->ports()[0].local);
  client.Send("x");
  EXPECT_EQ(client.ReadExactly(1), "x");
  fake_->Close();
  const Result<void> end = forwarder->Wait(Patient());
  ASSERT_FALSE(end.ok());
  EXPECT_TRUE(IsLostConnectionToPod(end.error())) << end.error().ToString();
  EXPECT_THAT(end.error().ToString(), HasSubstr("lost connection to pod"));
  EXPECT_EQ(client.ReadAll(), "");
  EXPECT_TRUE(IsLostConnectionToPod(forwarder->Dial(Patient(), 80).error()));
}

TEST_F(Contract17PortForward, StopIsNoError) {
  Result<PortForwarder> forwarder = Start({.ports = {":80"}});
  ASSERT_TRUE(forwarder.ok());
  Result<std::unique_ptr<PortForwardStream>> stream = forwarder->Dial(Patient(), 80);
  ASSERT_TRUE(stream.ok());
  Thread stopper("stopper", [&] { forwarder->Stop(); });
  EXPECT_TRUE(forwarder->Wait(Patient()).ok());
  stopper.Join();
  char c = 0;
  EXPECT_EQ((*stream)->Read(Patient(), &c, 1).error().kind(), ErrorKind::kClosed);
  EXPECT_FALSE((*stream)->Write(Patient(), "x").ok());
  EXPECT_EQ(forwarder->Dial(Patient(), 80).error().kind(), ErrorKind::kClosed);
  EXPECT_TRUE(fake_->WaitUntilClientIsGone());
}

TEST_F(Contract17PortForward, TheContextEndsEverything) {
  auto [ctx, cancel] = Context::Background().WithCancel();
  Result<PortForwarder> forwarder = Start({.ports = {":80"}}, Echo, ctx);
  ASSERT_TRUE(forwarder.ok());
  cancel.Cancel();
  EXPECT_TRUE(IsCancelled(forwarder->Wait(Patient()).error()));
  EXPECT_TRUE(fake_->WaitUntilClientIsGone());
}

TEST_F(Contract17PortForward, AWaitThatIsCancelledLeavesForwardingAlone) {
  Result<PortForwarder> forwarder = Start({});
  ASSERT_TRUE(forwarder.ok());
  auto [ctx, cancel] = Context::Background().WithCancel();
  cancel.Cancel();
  EXPECT_TRUE(IsCancelled(forwarder->Wait(ctx).error()));
  EXPECT_TRUE(forwarder->Dial(Patient(), 80).ok());
}

TEST_F(Contract17PortForward, AStreamMayOutliveItsForwarder) {
  std::unique_ptr<PortForwardStream> stream;
  {
    Result<PortForwarder> forwarder = Start({});
    ASSERT_TRUE(forwarder.ok());
    stream = forwarder->Dial(Patient(), 80).value();
  }
  EXPECT_FALSE(stream->Write(Patient(), "x").ok());
  char c = 0;
  EXPECT_FALSE(stream->Read(Patient(), &c, 1).ok());
}

TEST_F(Contract17PortForward, TheServerIsPingedEveryTenSeconds) {
  const auto clock = std::make_shared<FakeClock>();
  Result<PortForwarder> forwarder = ForwardPorts(Context::Background(clock), ClientWith(transport_), pod_, {});
  ASSERT_TRUE(forwarder.ok());
  RawWebSocket server(transport_->Accept());
  ASSERT_TRUE(clock->WaitForWaiters(2));
  clock->Advance(std::chrono::seconds(10));
  SpdyParser parser;
  parser.Feed(server.NextMessage());
  const Result<std::optional<SpdyFrame>> frame = parser.Next();
  ASSERT_TRUE(frame.ok() && frame->has_value());
  EXPECT_EQ((*frame)->type, SpdyType::kPing);
  EXPECT_EQ((*frame)->stream, 1U);
}

TEST_F(Contract17PortForward, SilenceIsALostConnection) {
  const auto clock = std::make_shared<FakeClock>();
  Result<PortForwarder> forwarder = ForwardPorts(Context::Background(clock), ClientWith(transport_), pod_, {});
  ASSERT_TRUE(forwarder.ok());
  ASSERT_TRUE(clock->WaitForWaiters(2));
  clock->Advance(std::chrono::seconds(61));
  EXPECT_TRUE(IsLostConnectionToPod(forwarder->Wait(Patient()).error()));
}

TEST_F(Contract17PortForward, ABadHandshakeCarriesTheServersStatus) {
  const auto refusing = std::make_shared<UpgradeTransport>(UpgradeTransport::Options{
      .refusal = 404,
      .refusal_body =
          R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"pods \"web\" not found"})"});
  const Result<PortForwarder> forwarder = ForwardPorts(Patient(), ClientWith(refusing), pod_, {});
  ASSERT_FALSE(forwarder.ok());
  EXPECT_TRUE(IsNotFound(forwarder.error()));
}

}  // namespace
}  // namespace kube::internal
