#include "kube/client/logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "client/scripted_transport_test_util.h"
#include "kube/base/fake_clock.h"
#include "kube/base/thread.h"
#include "kube/config/client_config.h"
#include "kube/transport/transport_errors.h"

namespace kube::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Contract17Logs : public ::testing::Test {
 protected:
  Contract17Logs() : client_(Client::FromConfig({.qps = -1}, {.transport = transport_}).value()) {}

  static std::vector<std::string> Lines(LogStream& stream) {
    std::vector<std::string> lines;
    while (true) {
      Result<std::optional<std::string>> line = stream.NextLine(Context::Background());
      if (!line) lines.push_back("error: " + line.error().reason());
      if (!line || !*line) return lines;
      lines.push_back(**std::move(line));
    }
  }

  const Context ctx_ = Context::Background();
  const ObjectKey pod_{"default", "web"};
  const std::shared_ptr<ScriptedTransport> transport_ = std::make_shared<ScriptedTransport>();
  Client client_;
};

// Gives its pieces one by one, then an end or an error.
class PieceStream : public BodyStream {
 public:
  PieceStream(std::vector<std::string> pieces, std::optional<Error> end) : pieces_(std::move(pieces)), end_(std::move(end)) {}
  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) override {
    if (Result<void> go = ctx.Check(); !go) return go.error();
    if (next_ < pieces_.size()) return pieces_[next_++].copy(buffer, size);
    if (end_) return *end_;
    return std::size_t{0};
  }
  void Close() override {}

 private:
  const std::vector<std::string> pieces_;
  const std::optional<Error> end_;
  std::size_t next_ = 0;
};

TEST_F(Contract17Logs, AsksForTheLogWithAllOptions) {
  transport_->Answer(200, "x", "text/plain");
  ASSERT_TRUE(GetLogs(ctx_, client_, pod_).ok());
  EXPECT_EQ(transport_->last().target, "/api/v1/namespaces/default/pods/web/log");
  EXPECT_TRUE(transport_->last().streaming);
  transport_->Answer(200, "x", "text/plain");
  ASSERT_TRUE(GetLogs(ctx_, client_, pod_,
                      {.container = "app",
                       .previous = true,
                       .timestamps = true,
                       .since_seconds = 60,
                       .tail_lines = 0,
                       .limit_bytes = 1000,
                       .stream = "Stderr",
                       .insecure_skip_tls_verify_backend = true})
                  .ok());
  EXPECT_EQ(transport_->last().target,
            "/api/v1/namespaces/default/pods/web/log?container=app&insecureSkipTLSVerifyBackend=true&limitBytes=1000&previous=true"
            "&sinceSeconds=60&stream=Stderr&tailLines=0&timestamps=true");
  transport_->Answer(200, "x", "text/plain");
  ASSERT_TRUE(StreamLogs(ctx_, client_, pod_, {.follow = true, .since_time = Time::Parse("2024-05-06T07:08:09Z").value()}).ok());
  EXPECT_EQ(transport_->last().target, "/api/v1/namespaces/default/pods/web/log?follow=true&sinceTime=2024-05-06T07%3A08%3A09Z");
}

TEST_F(Contract17Logs, WhatMakesNoSenseIsNotSent) {
  const Time now = Time::Parse("2024-05-06T07:08:09Z").value();
  EXPECT_EQ(StreamLogs(ctx_, client_, pod_, {.since_seconds = 1, .since_time = now}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(StreamLogs(ctx_, client_, {"default", ""}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(StreamLogs(ctx_, client_, {"", "web"}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(StreamLogs(ctx_, client_, {"default", "a/b"}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(GetLogs(ctx_, client_, pod_, {.follow = true}).error().kind(), ErrorKind::kInvalid);
  EXPECT_TRUE(transport_->requests().empty());
}

TEST_F(Contract17Logs, LinesDoNotDependOnHowTheBytesCome) {
  const std::string text = "one\ntwo\r\n\nfour\n\nlast";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size(); at += piece) pieces.push_back(text.substr(at, piece));
    LogStream stream(std::make_unique<PieceStream>(pieces, std::nullopt));
    EXPECT_THAT(Lines(stream), ElementsAre("one", "two", "", "four", "", "last")) << piece;
  }
}

TEST_F(Contract17Logs, ALongLineComesInPieces) {
  LogStream stream(MakeBodyStream("123456789\nabc\n1234"), 4);
  EXPECT_THAT(Lines(stream), ElementsAre("1234", "5678", "9", "abc", "1234"));
}

TEST_F(Contract17Logs, BytesAfterALineAreStillThere) {
  LogStream stream(MakeBodyStream("one\ntwo\nthree"));
  EXPECT_EQ(stream.NextLine(ctx_).value().value(), "one");
  std::string buffer(100, '\0');
  const Result<std::size_t> got = stream.Read(ctx_, buffer.data(), 6);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(buffer.substr(0, *got), "two\nth");
  EXPECT_EQ(stream.NextLine(ctx_).value().value(), "ree");
  EXPECT_FALSE(stream.NextLine(ctx_).value().has_value());
  EXPECT_EQ(stream.Read(ctx_, buffer.data(), 6).value(), 0U);
}

TEST_F(Contract17Logs, AContextThatStopsLosesNothing) {
  LogStream stream(std::make_unique<PieceStream>(std::vector<std::string>{"half", " a line\n"}, std::nullopt));
  auto [stopped, cancel] = ctx_.WithCancel();
  cancel.Cancel();
  EXPECT_TRUE(IsCancelled(stream.NextLine(stopped).error()));
  EXPECT_EQ(stream.NextLine(ctx_).value().value(), "half a line");
}

TEST_F(Contract17Logs, ABrokenConnectionIsAnErrorAndNotTriedAgain) {
  transport_->Answer([](const HttpRequest&) -> Result<HttpResponse> {
    HttpResponse response;
    response.code = 200;
    response.stream =
        std::make_unique<PieceStream>(std::vector<std::string>{"one\ntw"}, TransportError(transport_reason::kUnexpectedEof, "cut"));
    return response;
  });
  Result<LogStream> stream = StreamLogs(ctx_, client_, pod_);
  ASSERT_TRUE(stream.ok());
  EXPECT_THAT(Lines(*stream), ElementsAre("one", "error: UnexpectedEof"));
  EXPECT_EQ(transport_->requests().size(), 1U);
}

TEST_F(Contract17Logs, AConnectionThatBreaksBeforeTheAnswerIsNotTriedAgain) {
  transport_->Fail(TransportError(transport_reason::kConnectionReset, "reset"));
  EXPECT_TRUE(IsConnectionReset(GetLogs(ctx_, client_, pod_).error()));
  transport_->Fail(TransportError(transport_reason::kUnexpectedEof, "eof"));
  EXPECT_TRUE(IsTransportError(GetLogs(ctx_, client_, pod_).error(), transport_reason::kUnexpectedEof));
  EXPECT_EQ(transport_->requests().size(), 2U);
}

TEST_F(Contract17Logs, RetryAfterIsFollowed) {
  transport_->Answer(429, "{}", "application/json", {{"Retry-After", "7"}});
  transport_->Answer(200, "text\n", "text/plain");
  const auto clock = std::make_shared<FakeClock>();
  const Client client = Client::FromConfig({.qps = -1}, {.transport = transport_, .clock = clock}).value();
  Result<std::string> logs = Error::Internal("not run");
  Thread reader("reader", [&] { logs = GetLogs(Context::Background(clock), client, pod_); });
  // The pause, and perhaps the time limit of reading what is left of the first answer.
  for (int i = 0; i < 100 && transport_->requests().size() < 2; ++i) {
    if (!clock->WaitForWaiters(1, std::chrono::milliseconds(300))) continue;
    clock->Advance(std::chrono::seconds(7));
  }
  reader.Join();
  ASSERT_TRUE(logs.ok()) << logs.error().ToString();
  EXPECT_EQ(*logs, "text\n");
  EXPECT_EQ(transport_->requests().size(), 2U);
}

TEST_F(Contract17Logs, WhatTheServerSaysIsTheError) {
  transport_->Answer(400, R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400,)"
                          R"("message":"a container name must be specified for pod web"})");
  const Result<LogStream> logs = StreamLogs(ctx_, client_, pod_);
  ASSERT_FALSE(logs.ok());
  EXPECT_TRUE(IsBadRequest(logs.error()));
  EXPECT_THAT(logs.error().ToString(), HasSubstr("a container name must be specified for pod web"));
  EXPECT_THAT(logs.error().ToString(), HasSubstr("default/web"));
}

TEST_F(Contract17Logs, ALogThatIsTooLongIsAnErrorThatSaysWhatToDo) {
  transport_->Answer(200, std::string(1001, 'x'), "text/plain");
  const Result<std::string> logs = GetLogs(ctx_, client_, pod_, {.max_total_bytes = 1000});
  ASSERT_FALSE(logs.ok());
  EXPECT_THAT(logs.error().ToString(), HasSubstr("tail_lines"));
  transport_->Answer(200, std::string(1000, 'x'), "text/plain");
  EXPECT_EQ(GetLogs(ctx_, client_, pod_, {.max_total_bytes = 1000}).value().size(), 1000U);
}

}  // namespace
}  // namespace kube::internal
