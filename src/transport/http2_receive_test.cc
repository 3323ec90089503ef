// A stream that is alone on its connection is received by the thread that reads it. What must not change by that.
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "kube/base/thread.h"
#include "kube/transport/http_transport.h"
#include "transport/http_transport_test_util.h"

namespace kube::curl_test {
namespace {

using serve::HttpExchange;
using Exchange = std::shared_ptr<HttpExchange>;

constexpr int kData = 0;
constexpr int kPing = 6;

std::string ReadSome(BodyStream& stream, const Context& ctx = Patient()) {
  char buffer[4096];
  const Result<std::size_t> got = stream.Read(ctx, buffer, sizeof buffer);
  return got ? std::string(buffer, *got) : "error: " + got.error().ToString();
}

// A server whose "/watch" streams what the test hands it, and which echoes everything else.
class ReceiveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    answer_ = transport_->RoundTrip(Patient(), Streaming("/watch"));
    ASSERT_TRUE(answer_) << answer_.error().ToString();
    watch_ = started_.Take();
  }
  void Write(const std::string& text) { (void)watch_->Write(std::make_shared<std::string>(text)); }
  // The connection is the reader's: a try to read takes it, unless the loop has just something to do.
  bool TakeConnection() {
    return Eventually([&] {
      (void)ReadSome(*answer_->stream, Patient().WithTimeout(std::chrono::milliseconds(2)));
      return transport_->stats().receiving == 1;
    });
  }
  // A thread that reads at the socket.
  Thread StartReader(std::string& text, const Context& ctx = Patient()) {
    EXPECT_TRUE(TakeConnection());
    return Thread("reader", [this, &text, ctx] { text = ReadSome(*answer_->stream, ctx); });
  }

  Handover<Exchange> started_;
  std::unique_ptr<serve::HttpServer> server_ = StartServer([this](const Exchange& exchange) {
    if (exchange->request().path != "/watch") return exchange->Reply({.body = "other"});
    exchange->Start(200, {});
    started_.Put(exchange);
  });
  std::shared_ptr<HttpTransport> transport_ = TransportTo(server_->port());
  Result<HttpResponse> answer_ = Error::Invalid("not asked yet");
  Exchange watch_;
};

TEST_F(ReceiveTest, EventsComeOneByOne) {
  for (int i = 0; i < 100; ++i) {
    std::string text;
    Thread reader = StartReader(text);
    Write(std::to_string(i));
    reader.Join();
    EXPECT_EQ(text, std::to_string(i));
  }
  watch_->Finish();
  EXPECT_EQ(ReadSome(*answer_->stream), "");
  EXPECT_TRUE(Eventually([&] { return transport_->stats().receiving == 0; }));
}

TEST_F(ReceiveTest, AnotherRequestTakesTheConnectionBackAndLaterItIsTheReadersAgain) {
  for (int i = 0; i < 3; ++i) {
    std::string text;
    Thread reader = StartReader(text);
    for (int k = 0; k < 5; ++k) {
      const Result<HttpResponse> answer = transport_->RoundTrip(Patient(), Get("/other"));
      ASSERT_TRUE(answer) << answer.error().ToString();
    }
    EXPECT_EQ(transport_->stats().receiving, 0U);  // and not again so soon
    EXPECT_EQ(transport_->stats().connections_opened, 1U);
    Write("x");
    reader.Join();
    EXPECT_EQ(text, "x");
    // Only after a while: then events, or an attempt to read, find that there is no other reader.
    Write("y");
    EXPECT_EQ(ReadSome(*answer_->stream), "y");
    ASSERT_TRUE(TakeConnection());
  }
}

TEST_F(ReceiveTest, AStoppedContextEndsTheReadAndTheStreamGoesOn) {
  auto [ctx, cancel] = Patient().WithCancel();
  std::string text;
  Thread reader = StartReader(text, ctx);
  cancel.Cancel();
  reader.Join();
  EXPECT_TRUE(text.starts_with("error: ")) << text;
  Write("more");
  EXPECT_EQ(ReadSome(*answer_->stream), "more");
}

TEST_F(ReceiveTest, CloseByAnotherThreadEndsTheRead) {
  std::string text;
  Thread reader = StartReader(text);
  answer_->stream->Close();
  reader.Join();
  EXPECT_EQ(text, "error: the body was closed");
  EXPECT_TRUE(Eventually([&] { return transport_->stats().in_flight == 0 && transport_->stats().receiving == 0; }));
  EXPECT_TRUE(transport_->RoundTrip(Patient(), Get("/other")));
  EXPECT_EQ(transport_->stats().connections_opened, 1U);
}

TEST_F(ReceiveTest, AServerThatIsGoneEndsTheRead) {
  std::string text;
  Thread reader = StartReader(text);
  server_->CloseConnections();
  reader.Join();
  EXPECT_TRUE(text.starts_with("error: ")) << text;
  EXPECT_TRUE(Eventually([&] { return transport_->stats().connections_open == 0; }));
  EXPECT_TRUE(transport_->RoundTrip(Patient(), Get("/other")));
}

TEST_F(ReceiveTest, ATransportThatGoesEndsTheRead) {
  std::string text;
  Thread reader = StartReader(text);
  transport_ = nullptr;
  reader.Join();
  EXPECT_TRUE(text.starts_with("error: ")) << text;
}

TEST_F(ReceiveTest, CloseConnectionsEndsTheReadOnlyWithTheStream) {
  std::string text;
  Thread reader = StartReader(text);
  transport_->CloseConnections();  // requests in flight continue
  Write("still here");
  reader.Join();
  EXPECT_EQ(text, "still here");
}

TEST_F(ReceiveTest, MoreThanAWindowComesWhole) {
  std::string text;
  Thread reader = StartReader(text);
  const auto piece = std::make_shared<std::string>(std::size_t{1} << 20, 'x');
  constexpr std::size_t kPieces = 48;
  Thread writer("writer", [&] {
    for (std::size_t i = 0; i < kPieces; ++i) (void)watch_->Write(piece);
    watch_->Finish();
  });
  reader.Join();
  const Result<std::string> rest = ReadAll(Patient(), *answer_->stream);
  ASSERT_TRUE(rest) << rest.error().ToString();
  EXPECT_EQ(text.size() + rest->size(), kPieces << 20);
  writer.Join();
}

// The only reader comes and goes, other threads send requests: nothing is lost, and no call hangs.
TEST_F(ReceiveTest, AnyOrderOfReadersAndRequests) {
  constexpr int kEvents = 400;
  std::atomic<bool> done = false;
  Thread writer("writer", [&] {
    for (int i = 0; i < kEvents; ++i) {
      Write("event;");
      if (i % 7 == 0) (void)Patient().SleepFor(std::chrono::milliseconds(8));
    }
    watch_->Finish();
  });
  Thread others("others", [&] {
    for (int i = 0; !done; ++i) {
      EXPECT_TRUE(transport_->RoundTrip(Patient(), Get("/other")));
      // Every other pause is long enough for the reader to be alone.
      (void)Patient().SleepFor(std::chrono::milliseconds(i % 2 == 0 ? 1 : 1100));
    }
  });
  std::string all;
  for (;;) {
    const std::string some = ReadSome(*answer_->stream);
    if (some.empty() || some.starts_with("error")) {
      EXPECT_EQ(some, "");
      break;
    }
    all += some;
  }
  done = true;
  writer.Join();
  others.Join();
  EXPECT_EQ(all.size(), std::string("event;").size() * kEvents);
}

// With a server of a script: its pings are answered, whether the reader waits or does something else.
TEST(ReceivePingTest, PingsAreAnswered) {
  Handover<int> answered, away;
  Http2Server server([&](H2Peer& http, RawPeer& peer, int) {
    const std::uint32_t id = http.NextRequest();
    (void)http.Send(H2Headers(id, false));
    (void)http.Send(H2Frame(kData, 0, id, "x"));
    for (int i = 0; i < 2; ++i) {
      if (i == 1) (void)away.Take();
      (void)http.Send(H2Frame(kPing, 0, 0, "12345678"));
      std::uint32_t stream = 0;
      do {
        if (!http.NextFrame(kPing, stream)) return;
      } while ((http.flags() & 1U) == 0);
      answered.Put(i);
    }
    (void)http.Send(H2Frame(kData, 1, id, "end"));
    peer.ReadToEnd();
  });
  const auto transport = TransportTo(server.port());
  const Result<HttpResponse> watch = transport->RoundTrip(Patient(), Streaming("/"));
  ASSERT_TRUE(watch) << watch.error().ToString();
  EXPECT_EQ(ReadSome(*watch->stream), "x");
  EXPECT_EQ(answered.Take(), 0);  // by the loop or by the reader
  EXPECT_TRUE(Eventually([&] {
    (void)ReadSome(*watch->stream, Patient().WithTimeout(std::chrono::milliseconds(2)));
    return transport->stats().receiving == 1;
  }));
  // Nothing reads from here on, until the loop notices that.
  away.Put(0);
  EXPECT_EQ(answered.Take(), 1);
  EXPECT_EQ(transport->stats().receiving, 0U);
  EXPECT_EQ(ReadAll(Patient(), *watch->stream).value(), "end");
}

}  // namespace
}  // namespace kube::curl_test
