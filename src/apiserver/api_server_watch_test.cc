// Watches of ApiServer: their time, their forms, and many of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "apiserver/api_server_test_util.h"
#include "kube/api/core/v1.h"
#include "kube/base/fake_clock.h"
#include "kube/base/thread.h"
#include "kube/codec/protobuf.h"
#include "kube/meta/v1.h"

namespace kube::apiserver {
namespace {

using ::testing::HasSubstr;

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kWatchMaps = "/api/v1/namespaces/default/configmaps?watch=1";

TEST(ApiServerWatchTest, BookmarksAndTimeoutsFollowTheClock) {
  auto clock = std::make_shared<FakeClock>();
  auto server = StartApiServer({.http = true, .clock = clock, .bookmark_interval = std::chrono::seconds(60)});
  Client client(*server);
  std::size_t before = clock->waiters();
  std::string start = std::to_string(server->resource_version());
  Stream stream(*server, kWatchMaps + ("&allowWatchBookmarks=1&timeoutSeconds=100&resourceVersion=" + start));
  Stream silent(*server, kWatchMaps + ("&timeoutSeconds=100&resourceVersion=" + start));
  EXPECT_THAT(stream.Head(), HasSubstr("200 OK"));
  EXPECT_THAT(silent.Head(), HasSubstr("200 OK"));
  ASSERT_TRUE(clock->WaitForWaiters(before + 2));
  clock->Advance(std::chrono::seconds(59));
  client.CreateMap("a");
  EXPECT_EQ(stream.Event(), "ADDED a") << "no bookmark so far";
  clock->Advance(std::chrono::seconds(1));
  EXPECT_EQ(stream.Event(), "BOOKMARK " + std::to_string(server->resource_version()));
  client.CreateMap("b");
  EXPECT_EQ(stream.Event(), "ADDED b");
  clock->Advance(std::chrono::seconds(39));
  client.CreateMap("c");
  EXPECT_EQ(stream.Event(), "ADDED c") << "the time is not up";
  clock->Advance(std::chrono::seconds(1));
  EXPECT_EQ(stream.Event(), "BOOKMARK " + std::to_string(server->resource_version())) << "a last word";
  EXPECT_TRUE(stream.EndsWell());
  for (const char* expected : {"ADDED a", "ADDED b", "ADDED c"}) EXPECT_EQ(silent.Event(), expected);
  EXPECT_TRUE(silent.EndsWell());
}

TEST(ApiServerWatchTest, WatchesOfClientsThatLeftAreForgotten) {
  auto clock = std::make_shared<FakeClock>();
  auto server = StartApiServer({.http = true, .clock = clock});
  std::size_t before = clock->waiters();
  {
    Stream stream(*server, kWatchMaps);
    EXPECT_THAT(stream.Head(), HasSubstr("200 OK"));
    ASSERT_TRUE(clock->WaitForWaiters(before + 1));
  }
  // The next event drops it, and its timer.
  Client client(*server);
  int n = 0;
  EXPECT_TRUE(Eventually([&] {
    client.CreateMap("m" + std::to_string(n++));
    return clock->waiters() == before;
  }));
}

TEST(ApiServerWatchTest, ServerStopsWhileTimeoutsPass) {
  for (int i = 0; i < 10; ++i) {
    auto clock = std::make_shared<FakeClock>();
    auto server = StartApiServer({.http = true, .clock = clock});
    std::size_t before = clock->waiters();
    std::vector<std::unique_ptr<Stream>> streams;
    for (int n = 0; n < 20; ++n) {
      streams.push_back(std::make_unique<Stream>(*server, std::string(kWatchMaps) + "&allowWatchBookmarks=1&timeoutSeconds=10"));
    }
    ASSERT_TRUE(clock->WaitForWaiters(before + 20));
    Thread time("time", [&] { clock->Advance(std::chrono::seconds(100)); });
    server.reset();
  }
}

// Kernel buffers hold some megabytes for a client that does not read: there are many more.
TEST(ApiServerWatchTest, AWatcherThatDoesNotKeepUpIsCutOff) {
  auto server = StartApiServer({.http = true, .max_watch_backlog = 1 << 20});
  Client client(*server);
  constexpr int kObjects = 40;
  const std::string large(900'000, 'x');
  const auto create = [&](int n) {
    const std::string name = "m" + std::to_string(n);
    return client.Do("POST", kMaps, R"({"metadata":{"name":")" + name + R"("},"data":{"large":")" + large + "\"}}").status;
  };
  for (int i = 0; i < kObjects; ++i) ASSERT_EQ(create(i), 201);
  Stream stream(*server, std::string(kWatchMaps) + "&allowWatchBookmarks=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
  EXPECT_THAT(stream.Head(), HasSubstr("200 OK"));
  const std::string version = std::to_string(server->resource_version());
  // What was there comes whole, however late it is read.
  for (int i = 0; i < kObjects; ++i) EXPECT_THAT(stream.Event(), ::testing::StartsWith("ADDED m"));
  EXPECT_EQ(stream.Event(), "BOOKMARK " + version);
  Stream behind(*server, kWatchMaps + ("&resourceVersion=" + version));
  EXPECT_THAT(behind.Head(), HasSubstr("200 OK"));
  for (int i = 0; i < kObjects; ++i) ASSERT_EQ(create(kObjects + i), 201);
  int seen = 0;
  while (behind.Line().ends_with('\n')) ++seen;
  EXPECT_LT(seen, kObjects);
  EXPECT_FALSE(behind.EndsWell());
}

TEST(ApiServerWatchTest, SelectsByNamespaceLabelAndField) {
  auto server = StartApiServer();
  Client client(*server);
  Stream by_label(*server, std::string(kWatchMaps) + "&labelSelector=app%3Dweb");
  Stream by_name(*server, "/api/v1/configmaps?watch=1&fieldSelector=metadata.name%3Db");
  EXPECT_THAT(by_label.Head(), HasSubstr("200 OK"));
  EXPECT_THAT(by_name.Head(), HasSubstr("200 OK"));
  client.CreateMap("a");
  client.CreateMap("b");
  auto label = [&](const char* value) {
    return client.Do("PATCH", std::string(kMaps) + "/a", std::string(R"({"metadata":{"labels":{"app":)") + value + "}}}",
                     {"content-type: application/merge-patch+json"});
  };
  EXPECT_EQ(label("\"web\"").status, 200);
  EXPECT_EQ(label("\"db\"").status, 200);
  EXPECT_EQ(by_label.Event(), "ADDED a");
  EXPECT_EQ(by_label.Event(), "DELETED a") << "it left the selection";
  EXPECT_EQ(by_name.Event(), "ADDED b");
}

TEST(ApiServerWatchTest, ProtobufFramesDecode) {
  auto server = StartApiServer();
  Client client(*server);
  Stream stream(*server, std::string(kWatchMaps) + "&allowWatchBookmarks=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
                "accept: application/vnd.kubernetes.protobuf\r\n");
  EXPECT_THAT(stream.Head(), HasSubstr("application/vnd.kubernetes.protobuf;stream=watch"));
  // A frame: four bytes of length, and a WatchEvent whose object has an envelope of its own.
  auto next = [&] {
    std::string head = stream.Bytes(4);
    if (head.size() != 4) return std::pair<std::string, core::v1::ConfigMap>();
    std::size_t size = 0;
    for (char c : head) size = size * 256 + static_cast<unsigned char>(c);
    std::string frame = stream.Bytes(size);
    EXPECT_EQ(frame.size(), size);
    // 1: type, 2: RawExtension with 1: the bytes. Lengths here are below 2^14.
    std::size_t at = 0;
    auto field = [&](char tag) {
      EXPECT_EQ(frame.at(at++), tag);
      auto length = static_cast<unsigned char>(frame.at(at++));
      std::size_t n = length & 0x7fU;
      if (length >= 0x80) n |= static_cast<std::size_t>(static_cast<unsigned char>(frame.at(at++))) << 7;
      return n;
    };
    std::size_t n = field('\x0a');
    std::string type = frame.substr(at, n);
    at += n;
    field('\x12');
    n = field('\x0a');
    EXPECT_EQ(at + n, frame.size());
    Result<core::v1::ConfigMap> object = FromProtobuf<core::v1::ConfigMap>(std::string_view(frame).substr(at));
    EXPECT_TRUE(object.ok()) << object.error().ToString();
    return std::pair(type, object ? *object : core::v1::ConfigMap());
  };
  auto [bookmark, empty] = next();
  EXPECT_EQ(bookmark, "BOOKMARK");
  EXPECT_EQ(empty.metadata.annotations, (Map<String>{{"k8s.io/initial-events-end", "true"}}));
  client.Do("POST", kMaps,
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":")" + std::string(3000, 'x') + "\"}}");
  auto [added, object] = next();
  EXPECT_EQ(added, "ADDED");
  EXPECT_EQ(object.metadata.name, "a");
  EXPECT_EQ(object.metadata.resource_version, std::to_string(server->resource_version()));
  EXPECT_EQ(object.data.size(), 1U);
  client.Do("DELETE", std::string(kMaps) + "/a");
  auto [deleted, last] = next();
  EXPECT_EQ(deleted, "DELETED");
  EXPECT_EQ(last.metadata.name, "a");
}

TEST(ApiServerWatchTest, JsonFramesDecode) {
  auto server = StartApiServer();
  Client client(*server);
  client.Do("POST", kMaps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"line\nline \"\u2028"}})");
  Stream stream(*server, kWatchMaps);
  Result<meta::v1::WatchEvent> event = FromJson<meta::v1::WatchEvent>(stream.Line());
  ASSERT_TRUE(event.ok()) << event.error().ToString();
  EXPECT_EQ(event->type, "ADDED");
  Result<core::v1::ConfigMap> object = FromJson<core::v1::ConfigMap>(event->object.text());
  ASSERT_TRUE(object.ok()) << object.error().ToString();
  EXPECT_EQ(object->data, (Map<String>{{"k", "line\nline \"\u2028"}}));
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KUBE_TEST_SLOW 1
#endif
#endif
#ifdef KUBE_TEST_SLOW
constexpr int kWatches = 300;  // ThreadSanitizer makes curl's side of it some fifty times slower
#else
constexpr int kWatches = 2000;
#endif

// One server, one connection, two thousand watches; each gets each event once and in order.
TEST(ApiServerWatchTest, ManyWatchesGetEveryEvent) {
  constexpr int kEvents = 20;
  auto server = StartApiServer({});
  Client client(*server);
  ASSERT_EQ(client.CreateMap("first").status, 201);
  CurlRequest request{
      .url = server->url() + kWatchMaps, .headers = {"authorization: Bearer " + server->admin_token()}, .ca_pem = server->ca_pem()};
  serve::CurlSwarm swarm(request, kWatches);
  int next = 0;
  auto all_have = [&](std::size_t lines) {
    for (; next < kWatches; ++next) {
      const std::string& body = swarm.body(next);
      if (static_cast<std::size_t>(std::count(body.begin(), body.end(), '\n')) < lines) return false;
    }
    return true;
  };
  ASSERT_TRUE(swarm.RunUntil([&] { return all_have(1); })) << next;
  Thread writer("writer", [&] {
    for (int i = 0; i < kEvents; ++i) client.CreateMap("m" + std::to_string(i));
  });
  next = 0;
  ASSERT_TRUE(swarm.RunUntil([&] { return all_have(kEvents + 1); })) << next;
  writer.Join();
  EXPECT_EQ(swarm.finished(), 0);
  EXPECT_LE(swarm.connections(), 2);
  const std::string expected = swarm.body(0);
  std::size_t at = 0;
  for (int i = 0; i < kEvents; ++i) {
    std::size_t found = expected.find("\"name\":\"m" + std::to_string(i) + "\"", at);
    ASSERT_NE(found, std::string::npos) << i;
    at = found;
  }
  for (int i = 1; i < kWatches; ++i) ASSERT_EQ(swarm.body(i), expected) << i;
}

}  // namespace
}  // namespace kube::apiserver
