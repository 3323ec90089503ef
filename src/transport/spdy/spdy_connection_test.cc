#include "transport/spdy/spdy_connection.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/thread.h"
#include "kube/transport/transport_errors.h"
#include "transport/pipe_test_util.h"

namespace kube::internal {
namespace {

Context Patient() { return Context::Background().WithTimeout(kPipePatience); }

struct Pair {
  std::unique_ptr<SpdyConnection> client;
  std::unique_ptr<SpdyConnection> server;
};

Pair Connect() {
  auto [a, b] = PipeEnd::Make();
  return {std::make_unique<SpdyConnection>(std::move(a), SpdyConnection::Role::kClient),
          std::make_unique<SpdyConnection>(std::move(b), SpdyConnection::Role::kServer)};
}

std::string ReadAll(SpdyStream& stream) {
  std::string all;
  std::string buffer(1000, '\0');
  while (true) {
    const Result<std::size_t> got = stream.Read(Patient(), buffer.data(), buffer.size());
    if (!got) return all + "[" + std::string(ToString(got.error().kind())) + " " + got.error().reason() + "]";
    if (*got == 0) return all;
    all.append(buffer, 0, *got);
  }
}

// A client against frames that the test writes.
struct Scripted {
  std::unique_ptr<SpdyConnection> client;
  std::unique_ptr<PipeEnd> end;
  SpdyDeflater deflater;
  SpdyParser parser;

  Scripted() {
    auto [a, b] = PipeEnd::Make();
    client = std::make_unique<SpdyConnection>(std::move(a), SpdyConnection::Role::kClient);
    end = std::move(b);
  }
  void Send(const SpdyFrame& frame) { ASSERT_TRUE(end->Write(Patient(), EncodeSpdyFrame(frame, deflater)).ok()); }
  SpdyFrame Next() {
    while (true) {
      Result<std::optional<SpdyFrame>> frame = parser.Next();
      if (frame.ok() && *frame) return **std::move(frame);
      std::string buffer(1000, '\0');
      const Result<std::size_t> got = end->Read(Patient(), buffer.data(), buffer.size());
      if (!frame.ok() || !got.ok() || *got == 0) return {.type = SpdyType::kGoAway};
      parser.Feed({buffer.data(), *got});
    }
  }
};

TEST(SpdyConnectionTest, StreamsGoBothWaysAndEndOneByOne) {
  Pair pair = Connect();
  Thread server("server", [&] {
    while (true) {
      Result<std::shared_ptr<SpdyStream>> stream = pair.server->Accept(Patient());
      if (!stream || *stream == nullptr) return;
      const std::string text = ReadAll(**stream);
      (void)(*stream)->Write(Patient(), (*stream)->headers().Get("name"));
      (void)(*stream)->Write(Patient(), ":" + text);
      (void)(*stream)->Finish(Patient());
    }
  });
  for (int i = 0; i < 20; ++i) {
    Result<std::shared_ptr<SpdyStream>> stream = pair.client->Open(Patient(), {{"name", "stream " + std::to_string(i)}});
    ASSERT_TRUE(stream.ok()) << stream.error().ToString();
    EXPECT_EQ((*stream)->id(), static_cast<std::uint32_t>(2 * i + 1));
    ASSERT_TRUE((*stream)->Write(Patient(), std::string(1000, 'x')).ok());
    ASSERT_TRUE((*stream)->Finish(Patient()).ok());
    EXPECT_EQ(ReadAll(**stream), "stream " + std::to_string(i) + ":" + std::string(1000, 'x'));
    EXPECT_EQ((*stream)->Write(Patient(), "late").error().kind(), ErrorKind::kClosed);
  }
  pair.client->Close();
  server.Join();
}

TEST(SpdyConnectionTest, ManyThreadsOpenStreamsAtOnce) {
  Pair pair = Connect();
  Thread server("server", [&] {
    while (true) {
      Result<std::shared_ptr<SpdyStream>> stream = pair.server->Accept(Patient());
      if (!stream || *stream == nullptr) return;
      (void)(*stream)->Write(Patient(), (*stream)->headers().Get("n"));
      (void)(*stream)->Finish(Patient());
    }
  });
  std::vector<Thread> threads;
  std::vector<std::string> got(8);
  for (std::size_t t = 0; t < got.size(); ++t) {
    threads.emplace_back("opener", [&, t] {
      for (int i = 0; i < 10; ++i) {
        Result<std::shared_ptr<SpdyStream>> stream = pair.client->Open(Patient(), {{"n", std::to_string(t)}}, true);
        got[t] += stream ? ReadAll(**stream) : stream.error().ToString();
      }
    });
  }
  for (Thread& thread : threads) thread.Join();
  for (std::size_t t = 0; t < got.size(); ++t) EXPECT_EQ(got[t], std::string(10, static_cast<char>('0' + t)));
  pair.client->Close();
  server.Join();
}

TEST(SpdyConnectionTest, ASinkTakesDataAndItsEndOnce) {
  Scripted scripted;
  Mutex mu;
  std::string text;
  int ends = 0;
  Thread server("server", [&] {
    EXPECT_EQ(scripted.Next().type, SpdyType::kSynStream);
    scripted.Send({.type = SpdyType::kSynReply, .stream = 1});
    scripted.Send({.type = SpdyType::kData, .stream = 1, .data = "went "});
    scripted.Send({.type = SpdyType::kData, .stream = 1, .fin = true, .data = "wrong"});
    scripted.end->Close();
  });
  ASSERT_TRUE(scripted.client
                  ->Open(Patient(), {{"a", "b"}}, true,
                         [&](std::string_view data, bool fin) {
                           MutexLock lock(mu);
                           text.append(data);
                           if (fin) ++ends;
                         })
                  .ok());
  scripted.client->alive().WaitUntilStopped();
  server.Join();
  scripted.client.reset();
  MutexLock lock(mu);
  EXPECT_EQ(text, "went wrong");
  EXPECT_EQ(ends, 1);
}

TEST(SpdyConnectionTest, AResetEndsReadsAndWritesWithAnError) {
  Scripted scripted;
  Thread server("server", [&] {
    (void)scripted.Next();
    scripted.Send({.type = SpdyType::kSynReply, .stream = 1});
    scripted.Send({.type = SpdyType::kReset, .stream = 1, .status = 5});
  });
  Result<std::shared_ptr<SpdyStream>> stream = scripted.client->Open(Patient(), {{"a", "b"}});
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(ReadAll(**stream), "[transport ConnectionReset]");
  EXPECT_TRUE(IsConnectionReset((*stream)->Write(Patient(), "x").error()));
  server.Join();
}

TEST(SpdyConnectionTest, AStreamThatThePeerRefusesIsAnError) {
  Scripted scripted;
  Thread server("server", [&] {
    (void)scripted.Next();
    scripted.Send({.type = SpdyType::kReset, .stream = 1, .status = 3});
  });
  const Result<std::shared_ptr<SpdyStream>> stream = scripted.client->Open(Patient(), {{"a", "b"}});
  ASSERT_FALSE(stream.ok());
  EXPECT_TRUE(IsConnectionReset(stream.error()));
  server.Join();
}

TEST(SpdyConnectionTest, OpenEndsWithItsContextAndThePeerIsToldSo) {
  Scripted scripted;
  auto [ctx, cancel] = Context::Background().WithCancel();
  Thread server("server", [&, &source = cancel] {
    EXPECT_EQ(scripted.Next().type, SpdyType::kSynStream);
    source.Cancel();
    const SpdyFrame reset = scripted.Next();
    EXPECT_EQ(reset.type, SpdyType::kReset);
    EXPECT_EQ(reset.stream, 1U);
  });
  const Result<std::shared_ptr<SpdyStream>> stream = scripted.client->Open(ctx, {{"a", "b"}});
  ASSERT_FALSE(stream.ok());
  EXPECT_TRUE(IsCancelled(stream.error()));
  server.Join();
}

TEST(SpdyConnectionTest, ALostConnectionEndsStreamsAndOpensWithAnError) {
  Scripted scripted;
  Thread server("server", [&] {
    (void)scripted.Next();
    scripted.Send({.type = SpdyType::kSynReply, .stream = 1});
    (void)scripted.Next();
    scripted.end->Close();
  });
  Result<std::shared_ptr<SpdyStream>> stream = scripted.client->Open(Patient(), {{"a", "b"}});
  ASSERT_TRUE(stream.ok());
  EXPECT_FALSE(scripted.client->Open(Patient(), {{"a", "b"}}).ok());
  EXPECT_EQ(ReadAll(**stream), "[transport UnexpectedEof]");
  EXPECT_FALSE(scripted.client->Open(Patient(), {{"a", "b"}}).ok());
  EXPECT_FALSE((*stream)->Write(Patient(), "x").ok());
  EXPECT_TRUE(scripted.client->alive().stopped());
  server.Join();
}

TEST(SpdyConnectionTest, PingsHaveOddNumbersAndThePeersAreAnswered) {
  Scripted scripted;
  ASSERT_TRUE(scripted.client->Ping(Patient()).ok());
  ASSERT_TRUE(scripted.client->Ping(Patient()).ok());
  EXPECT_EQ(scripted.Next().stream, 1U);
  EXPECT_EQ(scripted.Next().stream, 3U);
  scripted.Send({.type = SpdyType::kPing, .stream = 1});  // an answer: nothing is sent back
  scripted.Send({.type = SpdyType::kPing, .stream = 2});
  const SpdyFrame answer = scripted.Next();
  EXPECT_EQ(answer.type, SpdyType::kPing);
  EXPECT_EQ(answer.stream, 2U);
}

TEST(SpdyConnectionTest, AServerMayNotOpenStreams) {
  Scripted scripted;
  scripted.Send({.type = SpdyType::kSynStream, .stream = 2, .headers = {{"a", "b"}}});
  const SpdyFrame reset = scripted.Next();
  EXPECT_EQ(reset.type, SpdyType::kReset);
  EXPECT_EQ(reset.stream, 2U);
}

TEST(SpdyConnectionTest, RubbishEndsTheConnection) {
  Scripted scripted;
  ASSERT_TRUE(scripted.end->Write(Patient(), std::string("\x80\x02\x00\x01\x00\x00\x00\x00", 8)).ok());
  scripted.client->alive().WaitUntilStopped();
  EXPECT_TRUE(IsTransportError(*scripted.client->alive().Err(), transport_reason::kProtocol));
}

TEST(SpdyConnectionTest, CloseGivesItsReasonToStreams) {
  Pair pair = Connect();
  Result<std::shared_ptr<SpdyStream>> stream = pair.client->Open(Patient(), {{"a", "b"}});
  ASSERT_TRUE(stream.ok());
  pair.client->Close(Error(ErrorKind::kUserCode, "enough"));
  EXPECT_EQ(ReadAll(**stream), "[user code ]");
  stream->reset();
}

}  // namespace
}  // namespace kube::internal
