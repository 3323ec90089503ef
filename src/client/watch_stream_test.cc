#include "client/watch_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "kube/api/core/v1.h"
#include "kube/codec/field_selection.h"
#include "kube/codec/protobuf.h"
#include "kube/transport/transport_errors.h"

namespace kube::internal {
namespace {

using core::v1::Pod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Framing = FrameSplitter::Framing;

Context Ctx() { return Context::Background(); }

// All frames of a text that arrives in pieces of `piece` bytes.
std::vector<std::string> Split(Framing framing, const std::string& text, std::size_t piece, std::size_t max_frame = 1 << 20) {
  FrameSplitter splitter(framing, max_frame);
  std::vector<std::string> frames;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    const std::size_t n = std::min(piece, text.size() - at);
    text.copy(splitter.Reserve(n), n, at);
    splitter.Commit(n);
    for (;;) {
      const Result<std::optional<std::string_view>> frame = splitter.Next();
      if (!frame) {
        frames.push_back("error: " + frame.error().message());
        return frames;
      }
      if (!*frame) break;
      frames.emplace_back(**frame);
    }
  }
  if (splitter.HasPartialFrame()) frames.emplace_back("partial");
  return frames;
}

std::string Prefixed(const std::string& message) {
  std::string out;
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>((message.size() >> shift) & 0xff);
  return out + message;
}

// A bare WatchEvent: type, and a RawExtension with the object.
std::string ProtobufEvent(const std::string& type, const std::string& object) {
  const auto field = [](int number, const std::string& bytes) {
    std::string out(1, static_cast<char>(number << 3 | 2));
    std::size_t n = bytes.size();
    for (; n >= 128; n >>= 7U) out += static_cast<char>((n & 0x7f) | 0x80);
    out += static_cast<char>(n);
    return out + bytes;
  };
  return field(1, type) + field(2, field(1, object));
}

TEST(Contract10Framing, JsonObjectsDelimitThemselves) {
  const std::string a = R"({"type":"ADDED","object":{"a":"}{\"\\"}})";
  const std::string b = R"({"b":[{"c":"]"},{}]})";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{1000}}) {
    EXPECT_THAT(Split(Framing::kJson, a + "\n" + b + a + " \r\n\t", piece), ElementsAre(a, b, a)) << piece;
  }
  EXPECT_THAT(Split(Framing::kJson, a + "{\"x", 3), ElementsAre(a, "partial"));
}

TEST(FrameSplitterTest, EventsThatAreLinesAreCutAtNewlines) {
  const std::string a = R"({"type":"ADDED","object":{"a":"}{\"\\n"}})";
  const std::string b = R"({"type":"MODIFIED","object":{"b":{}}})";
  const std::string blanks = "{\"type\":\"ADDED\",\n \"object\": {\"c\": {}\n}}";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{9}, std::size_t{41}, std::size_t{1000}}) {
    EXPECT_THAT(Split(Framing::kJson, a + "\n" + b + "\n" + a + "\n" + b + "\n", piece), ElementsAre(a, b, a, b)) << piece;
    EXPECT_THAT(Split(Framing::kJson, a + "\n" + b + "\n" + blanks + "\n" + a, piece), ElementsAre(a, b, blanks, a)) << piece;
    EXPECT_THAT(Split(Framing::kJson, a + "\n" + b + "\r\n" + a + "\r\n" + b, piece), ElementsAre(a, b, a, b)) << piece;
    EXPECT_THAT(Split(Framing::kJson, a + "\n" + b + "\n" + R"({"type":"ADDED","obj)", piece), ElementsAre(a, b, "partial")) << piece;
  }
}

TEST(FrameSplitterTest, AnEventDoesNotWaitForTheEndOfItsLine) {
  const std::string a = R"({"type":"ADDED","object":{"a":{"b":{}}}})";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{5}, std::size_t{1000}}) {
    EXPECT_THAT(Split(Framing::kJson, a + "\n" + a + "\n" + a, piece), ElementsAre(a, a, a)) << piece;
  }
}

TEST(FrameSplitterTest, ALineBeyondTheLimitIsRefused) {
  const std::string a = R"({"type":"ADDED","object":{"a":""}})";
  const std::string big = R"({"type":"ADDED","object":{"a":")" + std::string(200, 'x') + "\"}}";
  for (const std::size_t piece : {std::size_t{10}, std::size_t{1000}}) {
    EXPECT_THAT(Split(Framing::kJson, a + "\n" + big + "\n", piece, 100),
                ElementsAre(a, "error: an event of the watch is larger than the limit of 100 bytes"));
  }
}

TEST(Contract10Framing, WhatIsNoJsonIsSaid) {
  EXPECT_THAT(Split(Framing::kJson, "<html>", 100), ElementsAre("error: the watch stream is not a sequence of JSON objects"));
}

TEST(Contract10Framing, AJsonEventBeyondTheLimitIsRefused) {
  const std::string big = "{\"a\":\"" + std::string(200, 'x') + "\"}";
  EXPECT_THAT(Split(Framing::kJson, big, 10, 100), ElementsAre("error: an event of the watch is larger than the limit of 100 bytes"));
  EXPECT_THAT(Split(Framing::kJson, big, 10, big.size()), ElementsAre(big));
}

TEST(Contract24No23, ProtobufFramesHaveABigEndianLength) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
    EXPECT_THAT(Split(Framing::kLengthPrefixed, Prefixed("abc") + Prefixed("") + Prefixed(std::string(300, 'x')), piece),
                ElementsAre("abc", "", std::string(300, 'x')));
  }
  EXPECT_THAT(Split(Framing::kLengthPrefixed, Prefixed("abc") + std::string("\0\0", 2), 100), ElementsAre("abc", "partial"));
  EXPECT_THAT(Split(Framing::kLengthPrefixed, std::string("\x01\0\0\0", 4), 100, 1 << 20),
              ElementsAre("error: an event of the watch is larger than the limit of 1048576 bytes"));
}

TEST(Contract24No23, TheEventIsBareAndItsObjectHasTheMagicBytes) {
  const std::string object = ToProtobuf(Pod{.metadata = {.name = "web"}}).value();
  const std::string frame = ProtobufEvent("ADDED", object);
  RawEvent event;
  ASSERT_TRUE(ParseProtobufEvent(frame, event));
  EXPECT_EQ(event.type, "ADDED");
  EXPECT_EQ(event.object, object);
  RawEvent bare;
  const Result<void> read = ParseProtobufEvent(ProtobufEvent("ADDED", "no magic"), bare);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message(), HasSubstr("does not begin with"));
}

TEST(WatchEventTest, MembersOfAJsonEventComeInAnyOrder) {
  RawEvent event;
  ASSERT_TRUE(ParseJsonEvent(R"({ "object" : {"a": 1}, "type" : "ADDED" })", event));
  EXPECT_EQ(event.type, "ADDED");
  EXPECT_EQ(event.object, R"({"a":1})");
  EXPECT_FALSE(ParseJsonEvent(R"({"type":"ADDED"})", event));
  EXPECT_FALSE(ParseJsonEvent(R"({"object":{}})", event));
  EXPECT_FALSE(ParseJsonEvent(R"({"type":1,"object":{}})", event));
}

// A body in pieces, with an error at the end if there is one.
class PiecesBody : public BodyStream {
 public:
  explicit PiecesBody(std::vector<std::string> pieces, std::optional<Error> end = std::nullopt)
      : pieces_(std::move(pieces)), end_(std::move(end)) {}
  Result<std::size_t> Read(const Context&, char* buffer, std::size_t size) override {
    if (closed_) return Error(ErrorKind::kClosed, "closed");
    if (next_ == pieces_.size()) {
      if (end_) return *end_;
      return std::size_t{0};
    }
    EXPECT_LE(pieces_[next_].size(), size);
    return pieces_[next_++].copy(buffer, size);
  }
  void Close() override { closed_ = true; }
  bool Ready() const override { return next_ < at_hand_; }
  // So many pieces came already.
  void SetAtHand(std::size_t pieces) { at_hand_ = pieces; }

 private:
  std::vector<std::string> pieces_;
  std::optional<Error> end_;
  std::size_t next_ = 0;
  std::size_t at_hand_ = 0;
  bool closed_ = false;
};

template <typename T>
Watcher<T> WatcherOf(const std::string& content_type, std::unique_ptr<BodyStream> body, const WatchOptions& options = {}) {
  ResourceTarget target;
  target.gvr = {"", "v1", "pods"};
  if constexpr (!std::is_same_v<T, DynamicObject>) target.type = &T::kType;
  HttpResponse response;
  response.code = 200;
  response.headers.Add("Content-Type", content_type);
  response.stream = std::move(body);
  return internal::WatcherAccess::Make<T>(MakeWatchStream(target, options, "watch pods", std::move(response)).value());
}

template <typename T = Pod>
Watcher<T> JsonWatcher(std::vector<std::string> pieces, std::optional<Error> end = std::nullopt) {
  return WatcherOf<T>("application/json", std::make_unique<PiecesBody>(std::move(pieces), std::move(end)));
}

std::string Event(const std::string& type, const std::string& name) {
  return R"({"type":")" + type + R"(","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":")" + name + R"("}}})" + "\n";
}

TEST(Contract10Watch, GivesTypedEventsOfAJsonStream) {
  Watcher<Pod> watcher = JsonWatcher({Event("ADDED", "a") + Event("MODIFIED", "b"), Event("DELETED", "c") + Event("BOOKMARK", "d")});
  const std::pair<WatchEventType, std::string> expected[] = {
      {WatchEventType::kAdded, "a"}, {WatchEventType::kModified, "b"}, {WatchEventType::kDeleted, "c"}, {WatchEventType::kBookmark, "d"}};
  for (const auto& [type, name] : expected) {
    const Result<std::optional<WatchEvent<Pod>>> event = watcher.Next(Ctx());
    ASSERT_TRUE(event && *event) << name;
    EXPECT_EQ((*event)->type, type);
    EXPECT_EQ((*event)->object.metadata.name, name);
    EXPECT_FALSE((*event)->error);
  }
  EXPECT_EQ(watcher.Next(Ctx()).value(), std::nullopt);
  EXPECT_EQ(watcher.Next(Ctx()).value(), std::nullopt);
}

TEST(Contract10Watch, GivesTypedEventsOfAProtobufStream) {
  const std::string event = Prefixed(ProtobufEvent("MODIFIED", ToProtobuf(Pod{.metadata = {.name = "web"}}).value()));
  Watcher<Pod> watcher = WatcherOf<Pod>("application/vnd.kubernetes.protobuf;stream=watch",
                                        std::make_unique<PiecesBody>(std::vector<std::string>{event.substr(0, 9), event.substr(9)}));
  const Result<std::optional<WatchEvent<Pod>>> got = watcher.Next(Ctx());
  ASSERT_TRUE(got && *got);
  EXPECT_EQ((*got)->type, WatchEventType::kModified);
  EXPECT_EQ((*got)->object.metadata.name, "web");
}

TEST(Contract10Watch, FieldsAreSelectedInEventsButNotInBookmarks) {
  const FieldSelection fields = FieldSelection::Without({"metadata.annotations", "spec"}).value();
  const std::string object =
      R"("object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","annotations":{"k8s.io/initial-events-end":"true"}},)"
      R"("spec":{"nodeName":"n"}}})";
  Watcher<Pod> watcher = WatcherOf<Pod>(
      "application/json",
      std::make_unique<PiecesBody>(std::vector<std::string>{R"({"type":"ADDED",)" + object, R"({"type":"BOOKMARK",)" + object}),
      {.decode = {.fields = &fields}});
  Result<std::optional<WatchEvent<Pod>>> event = watcher.Next(Ctx());
  ASSERT_TRUE(event && *event);
  EXPECT_EQ((*event)->object.metadata.name, "a");
  EXPECT_TRUE((*event)->object.metadata.annotations.empty());
  EXPECT_TRUE((*event)->object.spec.node_name.empty());
  event = watcher.Next(Ctx());
  ASSERT_TRUE(event && *event);
  EXPECT_EQ((*event)->type, WatchEventType::kBookmark);
  EXPECT_EQ((*event)->object.metadata.annotations.size(), 1U);
}

TEST(Contract10Watch, AnErrorEventIsTheServersStatusAndTheEnd) {
  Watcher<Pod> watcher = JsonWatcher(
      {R"json({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old resource version: 1 (5)","reason":"Expired","code":410}})json" +
       Event("ADDED", "never")});
  const Result<std::optional<WatchEvent<Pod>>> event = watcher.Next(Ctx());
  ASSERT_TRUE(event && *event);
  EXPECT_EQ((*event)->type, WatchEventType::kError);
  ASSERT_TRUE((*event)->error);
  EXPECT_TRUE(IsResourceExpired(*(*event)->error));
  EXPECT_EQ((*event)->error->message(), "too old resource version: 1 (5)");
  EXPECT_EQ(watcher.Next(Ctx()).value(), std::nullopt);
}

TEST(Contract10Watch, WhatCannotBeReadBecomesOneErrorEvent) {
  for (const std::string& bad :
       {Event("RENAMED", "a"), std::string("{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"spec\":5}}"),
        std::string("{\"nonsense\":{}}"), std::string("rubbish")}) {
    Watcher<Pod> watcher = JsonWatcher({bad});
    const Result<std::optional<WatchEvent<Pod>>> event = watcher.Next(Ctx());
    ASSERT_TRUE(event && *event) << bad;
    EXPECT_EQ((*event)->type, WatchEventType::kError);
    ASSERT_TRUE((*event)->error);
    EXPECT_EQ((*event)->error->reason(), "ClientWatchDecoding");
    EXPECT_EQ((*event)->error->http_code(), 500);
    EXPECT_EQ(watcher.Next(Ctx()).value(), std::nullopt);
  }
}

TEST(Contract10Watch, AConnectionThatBreaksEndsTheWatchWithoutError) {
  Watcher<Pod> watcher = JsonWatcher({Event("ADDED", "a"), "{\"type\":"}, TransportError(transport_reason::kUnexpectedEof, "cut"));
  EXPECT_TRUE(watcher.Next(Ctx()).value());
  EXPECT_EQ(watcher.Next(Ctx()).value(), std::nullopt);
}

TEST(WatcherTest, AStoppedContextIsAnErrorAndTheWatchGoesOn) {
  class Once : public PiecesBody {
   public:
    using PiecesBody::PiecesBody;
    Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) override {
      if (Result<void> go = ctx.Check(); !go) return go.error();
      return PiecesBody::Read(ctx, buffer, size);
    }
  };
  Watcher<Pod> watcher = WatcherOf<Pod>("application/json", std::make_unique<Once>(std::vector<std::string>{Event("ADDED", "a")}));
  auto [cancelled, source] = Ctx().WithCancel();
  source.Cancel();
  const Result<std::optional<WatchEvent<Pod>>> stopped = watcher.Next(cancelled);
  ASSERT_FALSE(stopped);
  EXPECT_TRUE(IsCancelled(stopped.error()));
  EXPECT_TRUE(watcher.Next(Ctx()).value());
}

TEST(WatcherTest, StopEndsIt) {
  Watcher<Pod> watcher = JsonWatcher({Event("ADDED", "a")});
  watcher.Stop();
  EXPECT_EQ(watcher.Next(Ctx()).value(), std::nullopt);
}

TEST(WatchStreamTest, IsReadyWhereAWholeEventIsHere) {
  const std::string a = Event("ADDED", "a");
  const std::string b = Event("ADDED", "b");
  const std::string json[] = {a + b.substr(0, 20), b.substr(20)};
  const std::string first = Prefixed(ProtobufEvent("ADDED", ToProtobuf(Pod{.metadata = {.name = "a"}}).value()));
  const std::string second = Prefixed(ProtobufEvent("ADDED", ToProtobuf(Pod{.metadata = {.name = "b"}}).value()));
  const std::string protobuf[] = {first + first + second.substr(0, 3), second.substr(3)};
  const auto stream_of = [](const std::string& content_type, const std::string(&pieces)[2]) {
    ResourceTarget target;
    target.type = &Pod::kType;
    HttpResponse response;
    response.headers.Add("Content-Type", content_type);
    response.stream = std::make_unique<PiecesBody>(std::vector<std::string>{pieces[0], pieces[1]});
    return MakeWatchStream(target, {}, "watch pods", std::move(response)).value();
  };
  const auto next = [](WatchStream& stream) {
    Pod pod;
    WatchEventType type{};
    std::optional<Error> error;
    return stream.Next(Ctx(), type, &pod, error).value() ? pod.metadata.name.str() : std::string("end");
  };

  std::unique_ptr<WatchStream> stream = stream_of("application/json", json);
  EXPECT_FALSE(stream->Ready()) << "nothing was read yet";
  EXPECT_EQ(next(*stream), "a");
  EXPECT_FALSE(stream->Ready()) << "b is not whole";
  EXPECT_FALSE(stream->Ready());
  EXPECT_EQ(next(*stream), "b");
  EXPECT_FALSE(stream->Ready());
  EXPECT_EQ(next(*stream), "end");
  EXPECT_TRUE(stream->Ready()) << "the end is here";

  stream = stream_of("application/vnd.kubernetes.protobuf;stream=watch", protobuf);
  EXPECT_FALSE(stream->Ready());
  EXPECT_EQ(next(*stream), "a");
  EXPECT_TRUE(stream->Ready());
  EXPECT_TRUE(stream->Ready());
  EXPECT_EQ(next(*stream), "a");
  EXPECT_FALSE(stream->Ready());
  EXPECT_EQ(next(*stream), "b");
  stream->Stop();
  EXPECT_TRUE(stream->Ready());
}

// Bytes that came and were not read yet count, if they complete an event.
TEST(WatchStreamTest, LooksAtWhatHasCome) {
  const std::string a = Event("ADDED", "a"), b = Event("ADDED", "b");
  ResourceTarget target;
  target.type = &Pod::kType;
  HttpResponse response;
  response.headers.Add("Content-Type", "application/json");
  auto body = std::make_unique<PiecesBody>(std::vector<std::string>{a.substr(0, 9), a.substr(9), b.substr(0, 9), b.substr(9)});
  PiecesBody& pieces = *body;
  response.stream = std::move(body);
  const std::unique_ptr<WatchStream> stream = MakeWatchStream(target, {}, "watch pods", std::move(response)).value();
  EXPECT_FALSE(stream->Ready());
  pieces.SetAtHand(3);
  EXPECT_TRUE(stream->Ready());
  Pod pod;
  WatchEventType type{};
  std::optional<Error> error;
  EXPECT_TRUE(stream->Next(Ctx(), type, &pod, error).value());
  EXPECT_EQ(pod.metadata.name, "a");
  EXPECT_FALSE(stream->Ready()) << "half of b is here";
  EXPECT_TRUE(stream->Next(Ctx(), type, &pod, error).value());
  EXPECT_EQ(pod.metadata.name, "b");
  EXPECT_FALSE(stream->Next(Ctx(), type, &pod, error).value());
}

TEST(FrameSplitterTest, LookingAheadLosesNothing) {
  const std::string frames = Event("ADDED", "a") + Event("ADDED", "b") + "rubbish";
  FrameSplitter splitter(Framing::kJson, 1 << 20);
  frames.copy(splitter.Reserve(frames.size()), frames.size());
  splitter.Commit(frames.size());
  EXPECT_TRUE(splitter.Ready());
  EXPECT_THAT(std::string(*splitter.Next().value()), HasSubstr("\"a\""));
  EXPECT_THAT(std::string(*splitter.Next().value()), HasSubstr("\"b\""));
  EXPECT_TRUE(splitter.Ready()) << "an error is something, too";
  EXPECT_FALSE(splitter.Next());
}

TEST(WatcherTest, DynamicObjectsComeAsTheyAre) {
  Watcher<DynamicObject> watcher = JsonWatcher<DynamicObject>(
      {R"({"type":"ADDED","object":{"apiVersion":"x.example.com/v1","kind":"Cart","metadata":{"name":"c"},"spec":{"n":1}}})"});
  const Result<std::optional<WatchEvent<DynamicObject>>> event = watcher.Next(Ctx());
  ASSERT_TRUE(event && *event);
  EXPECT_EQ((*event)->object.NestedInt({"spec", "n"}), 1);
}

TEST(WatcherTest, AnEventWithMembersBehindItsObjectIsReadAllTheSame) {
  Watcher<Pod> watcher = JsonWatcher({R"({"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}},"more":{}})"});
  const Result<std::optional<WatchEvent<Pod>>> event = watcher.Next(Ctx());
  ASSERT_TRUE(event && *event);
  EXPECT_EQ((*event)->type, WatchEventType::kAdded);
  EXPECT_EQ((*event)->object.metadata.name, "a");
}

TEST(Contract09Watch, AnUnknownContentTypeIsAnError) {
  ResourceTarget target;
  target.type = &Pod::kType;
  HttpResponse response;
  response.headers.Add("Content-Type", "text/html");
  response.stream = MakeBodyStream("<html>");
  const Result<std::unique_ptr<WatchStream>> stream = MakeWatchStream(target, {}, "watch pods", std::move(response));
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().ToString(),
            "watch pods: the server answered a watch with content type \"text/html\", which cannot be read here");
}

}  // namespace
}  // namespace kube::internal
