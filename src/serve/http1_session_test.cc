// A session of HTTP/1.1 without a network: what it accepts of a request's head, and that it counts what it holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/serve/http_limits.h"
#include "kube/serve/http_server.h"
#include "serve/session.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KUBE_SANITIZED_HEAP 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define KUBE_SANITIZED_HEAP 1
#endif
#endif
#ifdef KUBE_SANITIZED_HEAP
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();  // not every compiler comes with the header
#else
#include <malloc.h>
#endif

namespace kube::serve {
namespace {

// Memory of this process, as the allocator counts.
std::size_t AllocatedBytes() {
#ifdef KUBE_SANITIZED_HEAP
  return __sanitizer_get_current_allocated_bytes();
#else
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#endif
}

constexpr std::string_view kBegin = "GET /healthz HTTP/1.1\r\nHost:a\r\n";

class NoWaker final : public Waker {
 public:
  void Wake(std::shared_ptr<ExchangeState>) override {}
};

class Http1SessionTest : public ::testing::Test {
 protected:
  std::unique_ptr<Session> Make() const {
    return MakeHttp1Session({.options = options_, .handler = handler_, .waker = waker_, .peer = "127.0.0.1:1", .client_certificate = {}});
  }
  static std::string Output(Session& session) {
    std::string out;
    session.Produce(out);
    return out;
  }
  // The answer to `text`, which comes in pieces of `size` bytes.
  std::string Ask(std::string_view text, std::size_t size) const {
    const std::unique_ptr<Session> session = Make();
    for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) session->Receive(text.substr(0, size));
    std::string out = Output(*session);
    session->Close();
    return out;
  }

  const std::shared_ptr<const HttpServerOptions> options_ = std::make_shared<HttpServerOptions>();
  const std::shared_ptr<const HttpServer::Handler> handler_ =
      std::make_shared<HttpServer::Handler>([](const std::shared_ptr<HttpExchange>& exchange) {
        std::size_t count = 0;
        for ([[maybe_unused]] const HttpHeader& header : exchange->request().headers) ++count;
        exchange->Reply({.body = std::to_string(count)});
      });
  const std::shared_ptr<Waker> waker_ = std::make_shared<NoWaker>();
};

std::string Lines(std::size_t count, std::string_view line) {
  std::string text(kBegin);
  for (std::size_t i = 0; i < count; ++i) text += line;
  return text;
}

// Four bytes on the wire are an allocation of the parser, so each line counts 32 bytes more.
TEST_F(Http1SessionTest, ManyShortHeadersAreRefused) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{3}, std::size_t{4}, std::size_t{1000}, std::size_t{1} << 16}) {
    const std::string refused = Ask(Lines(4080, "a:\r\n"), size);  // the head has no end, but is too large already
    EXPECT_TRUE(refused.starts_with("HTTP/1.1 431 ")) << size << ": " << refused;
    const std::string answered = Ask(Lines(400, "a:\r\n") + "\r\n", size);
    EXPECT_TRUE(answered.starts_with("HTTP/1.1 200 ") && answered.ends_with("\r\n401")) << size << ": " << answered;
  }
}

// The limit is the same however the head arrives.
TEST_F(Http1SessionTest, AHeadInPiecesHasTheSameLimit) {
  const std::string line = "x: " + std::string(995, 'x') + "\r\n";
  for (const std::size_t size : {std::size_t{7}, line.size(), std::size_t{1} << 16}) {
    EXPECT_TRUE(Ask(Lines(15, line) + "\r\n", size).starts_with("HTTP/1.1 200 ")) << size;
    EXPECT_TRUE(Ask(Lines(17, line), size).starts_with("HTTP/1.1 431 ")) << size;
  }
  // Each line in a packet of its own.
  const std::unique_ptr<Session> session = Make();
  session->Receive(kBegin);
  for (int i = 0; i < 17; ++i) session->Receive(line);
  EXPECT_TRUE(Output(*session).starts_with("HTTP/1.1 431 "));
  session->Close();
}

// The gauge of bytes held, and every limit on it, is no less than what is allocated.
TEST_F(Http1SessionTest, HeldBytesCoverWhatIsAllocated) {
  struct Head {
    std::string what;
    std::string text;
    std::size_t pieces;
  };
  std::string distinct(kBegin);
  for (int i = 0; i < 300; ++i) distinct += "name-" + std::to_string(i) + ": v\r\n";
  const std::string value(900, 'x');
  const std::vector<Head> heads = {{"short headers", Lines(440, "a:\r\n"), std::size_t{1} << 16},
                                   {"short headers, one by one", Lines(440, "a:\r\n"), 4},
                                   {"short headers, byte by byte", Lines(440, "a:\r\n"), 1},
                                   {"distinct headers", distinct, 100},
                                   {"long headers", Lines(15, "x: " + value + "\r\n"), 1000},
                                   {"one header", std::string(kBegin) + "x: " + std::string(15000, 'x'), 1000},
                                   {"a target", "GET /" + std::string(15000, 'x'), 1000},
                                   {"nothing", "", 1}};
  for (const Head& head : heads) {
    constexpr std::size_t kSessions = 64;
    std::vector<std::unique_ptr<Session>> sessions;
    sessions.reserve(kSessions);
    const std::size_t before = AllocatedBytes();
    std::size_t held = 0;
    for (std::size_t i = 0; i < kSessions; ++i) {
      sessions.push_back(Make());
      for (std::string_view rest = head.text; !rest.empty(); rest.remove_prefix(std::min(head.pieces, rest.size())))
        sessions.back()->Receive(rest.substr(0, head.pieces));
      EXPECT_EQ(sessions.back()->ending(), Session::Ending::kNone) << head.what;
      held += sessions.back()->held_bytes();
    }
    const std::size_t after = AllocatedBytes();
    EXPECT_GE(held + 1024, after - std::min(before, after)) << head.what;
    for (const auto& session : sessions) session->Close();
  }
}

// What follows a head is not counted with it: the next requests of a pipeline, and bodies.
TEST_F(Http1SessionTest, EachHeadIsCountedByItself) {
  const std::string request = Lines(300, "a:\r\n") + "\r\n";
  for (const std::size_t size : {std::size_t{1}, std::size_t{999}, std::size_t{1} << 16}) {
    const std::unique_ptr<Session> session = Make();
    std::string out;
    for (int i = 0; i < 5; ++i) {
      for (std::string_view rest = request; !rest.empty(); rest.remove_prefix(std::min(size, rest.size()))) {
        session->Receive(rest.substr(0, size));
        out += Output(*session);
      }
    }
    EXPECT_EQ(session->ending(), Session::Ending::kNone) << size;
    session->Close();
    std::size_t answers = 0;
    for (std::size_t at = out.find("HTTP/1.1 200 "); at != std::string::npos; at = out.find("HTTP/1.1 200 ", at + 1)) ++answers;
    EXPECT_EQ(answers, 5U) << size;
  }
  EXPECT_TRUE(Ask(request + request + request, std::size_t{1} << 16).find(" 431 ") == std::string::npos);
}

}  // namespace
}  // namespace kube::serve
