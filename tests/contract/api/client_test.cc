// What kube::Client does with every server: its verbs, its connection, its credentials.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "contract.h"
#include "kube/api/apps/v1.h"
#include "kube/api/authentication/v1.h"
#include "kube/api/core/v1.h"
#include "kube/base/fake_clock.h"
#include "kube/base/thread.h"
#include "kube/client/pager.h"
#include "kube/client/retry.h"
#include "kube/client/wait.h"
#include "kube/config/load.h"
#include "kube/serve/certificate.h"
#include "kube/transport/http_transport.h"
#include "testing/temporary_directory.h"

namespace kube::contract {
namespace {

using apps::v1::Deployment;
using core::v1::ConfigMap;
using core::v1::Namespace;
using core::v1::Secret;
using core::v1::ServiceAccount;
using ::testing::HasSubstr;

CONTRACT_SUITE(ClientContract);

constexpr auto kPatience = std::chrono::seconds(60);

Context Soon() { return Context::Background().WithTimeout(kPatience); }

ClientConfig ConfigOf(const ContractServer& server, const HttpIdentity& identity) {
  ClientConfig config;
  config.host = server.url;
  config.tls.ca_data = identity.ca_pem;
  config.tls.certificate_data = identity.certificate_pem;
  config.tls.key_data = SecretString(identity.key_pem);
  config.token = SecretString(identity.token);
  config.qps = -1;
  return config;
}

Client ClientOf(const ContractServer& server) { return Client::FromConfig(ConfigOf(server, server.admin)).value(); }

ConfigMap Map(const std::string& ns, const std::string& name) {
  return {.metadata = {.name = String(name), .namespace_ = String(ns)}, .data = {{"a", "1"}}};
}

Deployment Web(const std::string& ns) {
  Deployment web;
  web.metadata = {.name = "web", .namespace_ = String(ns)};
  web.spec.replicas = 2;
  web.spec.selector.Mutable().match_labels = {{"app", "web"}};
  web.spec.template_.metadata.labels = {{"app", "web"}};
  web.spec.template_.spec.containers.push_back({.name = "web", .image = "nginx"});
  return web;
}

template <typename T>
std::string Problem(const Result<T>& result) {
  return result ? "" : result.error().ToString();
}

TEST_P(ClientContract, CreatesReadsUpdatesAndDeletes) {
  const Client client = ClientOf(server());
  const Context ctx = Soon();
  const Result<ConfigMap> created = client.Create(ctx, Map(ns(), "m"));
  ASSERT_TRUE(created) << Problem(created);
  EXPECT_FALSE(created->metadata.uid.empty());
  const Result<ConfigMap> twice = client.Create(ctx, Map(ns(), "m"));
  ASSERT_FALSE(twice);
  EXPECT_TRUE(IsAlreadyExists(twice.error()));
  EXPECT_EQ(twice.error().message(), "configmaps \"m\" already exists");

  Result<ConfigMap> read = client.Get<ConfigMap>(ctx, {String(ns()), "m"});
  ASSERT_TRUE(read) << Problem(read);
  EXPECT_EQ(*read, *created);
  read->data["a"] = "2";
  const Result<ConfigMap> updated = client.Update(ctx, *read);
  ASSERT_TRUE(updated) << Problem(updated);
  EXPECT_NE(updated->metadata.resource_version, created->metadata.resource_version);
  const Result<ConfigMap> stale = client.Update(ctx, *created);
  ASSERT_FALSE(stale);
  EXPECT_TRUE(IsConflict(stale.error()));

  ASSERT_TRUE(client.Delete<ConfigMap>(ctx, {String(ns()), "m"}));
  const Result<ConfigMap> gone = client.Get<ConfigMap>(ctx, {String(ns()), "m"});
  ASSERT_FALSE(gone);
  EXPECT_TRUE(IsNotFound(gone.error()));
  EXPECT_EQ(gone.error().message(), "configmaps \"m\" not found");
}

TEST_P(ClientContract, FieldsThatThisBuildDoesNotKnowSurviveAnUpdate) {
  const Client client = ClientOf(server());
  const Context ctx = Soon();
  ASSERT_TRUE(client.Create(ctx, Web(ns())));
  Result<Deployment> web = client.Get<Deployment>(ctx, {String(ns()), "web"});
  ASSERT_TRUE(web) << Problem(web);
  web->spec.replicas = 5;
  const Result<Deployment> updated = client.Update(ctx, *web);
  ASSERT_TRUE(updated) << Problem(updated);
  EXPECT_EQ(updated->spec.replicas, 5);
  Deployment expected = *web;
  expected.metadata = updated->metadata;
  EXPECT_EQ(updated->spec, expected.spec);
}

TEST_P(ClientContract, StatusIsUpdatedOnItsOwn) {
  const Client client = ClientOf(server());
  const Context ctx = Soon();
  Result<Deployment> web = client.Create(ctx, Web(ns()));
  ASSERT_TRUE(web) << Problem(web);
  web->status.replicas = 7;
  web->spec.replicas = 9;
  const Result<Deployment> updated = client.UpdateStatus(ctx, *web);
  ASSERT_TRUE(updated) << Problem(updated);
  EXPECT_EQ(updated->status.replicas, 7);
  EXPECT_EQ(updated->spec.replicas, 2);
}

TEST_P(ClientContract, EachPatchTypeWorks) {
  const Client client = ClientOf(server());
  const Context ctx = Soon();
  ASSERT_TRUE(client.Create(ctx, Web(ns())));
  const ObjectKey key{String(ns()), "web"};
  const Result<Deployment> merged = client.Patch<Deployment>(ctx, key, Patch::Merge(R"({"spec":{"replicas":3}})"));
  ASSERT_TRUE(merged) << Problem(merged);
  EXPECT_EQ(merged->spec.replicas, 3);
  const Result<Deployment> strategic = client.Patch<Deployment>(
      ctx, key, Patch::Strategic(R"({"spec":{"template":{"spec":{"containers":[{"name":"side","image":"busybox"}]}}}})"));
  ASSERT_TRUE(strategic) << Problem(strategic);
  EXPECT_EQ(strategic->spec.template_.spec.containers.size(), 2U);
  const Result<Deployment> json =
      client.Patch<Deployment>(ctx, key, Patch::Json(R"([{"op":"replace","path":"/spec/replicas","value":4}])"));
  ASSERT_TRUE(json) << Problem(json);
  EXPECT_EQ(json->spec.replicas, 4);
  const Result<Deployment> bad = client.Patch<Deployment>(ctx, key, Patch::Json(R"([{"op":"remove","path":"/spec/nothing"}])"));
  ASSERT_FALSE(bad);
  EXPECT_TRUE(IsInvalid(bad.error())) << Problem(bad);
}

TEST_P(ClientContract, ApplyCreatesUpdatesAndProtectsOtherOwners) {
  const Client client = ClientOf(server());
  const Context ctx = Soon();
  const Result<Deployment> applied = client.Apply(ctx, Web(ns()), {.field_manager = "one"});
  ASSERT_TRUE(applied) << Problem(applied);
  Deployment other = Web(ns());
  other.spec.replicas = 9;
  const Result<Deployment> refused = client.Apply(ctx, other, {.field_manager = "two"});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(IsConflict(refused.error()));
  EXPECT_THAT(refused.error().message(), HasSubstr("conflict with \"one\""));
  const Result<Deployment> forced = client.Apply(ctx, other, {.field_manager = "two", .force = true});
  ASSERT_TRUE(forced) << Problem(forced);
  EXPECT_EQ(forced->spec.replicas, 9);
}

TEST_P(ClientContract, DryRunChangesNothing) {
  const Client client = ClientOf(server());
  const Context ctx = Soon();
  ASSERT_TRUE(client.Create(ctx, Map(ns(), "m"), {.dry_run = true}));
  EXPECT_TRUE(IsNotFound(client.Get<ConfigMap>(ctx, {String(ns()), "m"}).error()));
}

TEST_P(ClientContract, DynamicAndMetadataClientsSeeTheSameObject) {
  const Client client = ClientOf(server());
  const Context ctx = Soon();
  const Result<ConfigMap> typed = client.Create(ctx, Map(ns(), "m"));
  ASSERT_TRUE(typed) << Problem(typed);
  const Gvr gvr{"", "v1", "configmaps"};
  Result<DynamicObject> dynamic = client.Resource(gvr).Get(ctx, {String(ns()), "m"});
  ASSERT_TRUE(dynamic) << Problem(dynamic);
  EXPECT_EQ(dynamic->uid(), typed->metadata.uid);
  EXPECT_EQ(dynamic->NestedString({"data", "a"}), "1");
  const auto light = client.Metadata<ConfigMap>().Get(ctx, {String(ns()), "m"});
  ASSERT_TRUE(light) << Problem(light);
  EXPECT_EQ(light->metadata, typed->metadata);
  const auto list = client.Metadata(gvr).List(ctx, {.ns = ns(), .field_selector = "metadata.name=m"});
  ASSERT_TRUE(list) << Problem(list);
  ASSERT_EQ(list->size(), 1U);
  EXPECT_EQ(list->begin()->metadata.uid, typed->metadata.uid);

  ASSERT_TRUE(dynamic->SetNested({"data", "a"}, "2"));
  const Result<DynamicObject> updated = client.Resource(gvr).Update(ctx, *dynamic);
  ASSERT_TRUE(updated) << Problem(updated);
  const auto relabelled = client.Metadata(gvr).Patch(ctx, {String(ns()), "m"}, Patch::Merge(R"({"metadata":{"labels":{"x":"y"}}})"));
  ASSERT_TRUE(relabelled) << Problem(relabelled);
  EXPECT_EQ(relabelled->metadata.labels["x"], "y");
}

TEST_P(ClientContract, ListsInPagesAndAtOnceAgree) {
  const Client client = ClientOf(server());
  const Context ctx = Soon();
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(client.Create(ctx, Map(ns(), "m" + std::to_string(i))));
  const ListOptions options{.ns = ns(), .field_selector = "metadata.name!=kube-root-ca.crt"};
  const Result<ObjectList<ConfigMap>> whole = client.List<ConfigMap>(ctx, options);
  ASSERT_TRUE(whole) << Problem(whole);
  ListOptions paged = options;
  paged.limit = 3;
  Pager<ConfigMap> pager(client.Resource<ConfigMap>(), ctx, paged);
  std::vector<ConfigMap> items;
  for (const Result<ConfigMap>& item : pager) {
    ASSERT_TRUE(item) << Problem(item);
    items.push_back(*item);
  }
  ASSERT_EQ(items.size(), whole->size());
  EXPECT_TRUE(std::equal(items.begin(), items.end(), whole->begin()));
  const Result<ObjectList<ConfigMap>> all = ListAllPages(client.Resource<ConfigMap>(), ctx, paged);
  ASSERT_TRUE(all) << Problem(all);
  EXPECT_EQ(all->items, whole->items);
}

TEST_P(ClientContract, DeletesACollectionBySelector) {
  const Client client = ClientOf(server());
  const Context ctx = Soon();
  for (int i = 0; i < 3; ++i) {
    ConfigMap map = Map(ns(), "m" + std::to_string(i));
    map.metadata.labels = {{"keep", i == 0 ? "yes" : "no"}};
    ASSERT_TRUE(client.Create(ctx, map));
  }
  ASSERT_TRUE(client.DeleteCollection<ConfigMap>(ctx, {.ns = ns(), .label_selector = "keep=no"}));
  const Result<ObjectList<ConfigMap>> left = client.List<ConfigMap>(ctx, {.ns = ns(), .label_selector = "keep"});
  ASSERT_TRUE(left) << Problem(left);
  ASSERT_EQ(left->size(), 1U);
  EXPECT_EQ(left->begin()->metadata.name, "m0");
}

template <typename T>
void ExpectEvents(const Client& client, Watcher<T>& watcher, const std::string& ns) {
  const Context ctx = Soon();
  Result<ConfigMap> map = client.Create(ctx, Map(ns, "m"));
  ASSERT_TRUE(map) << Problem(map);
  map->data["a"] = "2";
  ASSERT_TRUE(client.Update(ctx, *map));
  ASSERT_TRUE(client.Delete<ConfigMap>(ctx, {String(ns), "m"}));
  for (const WatchEventType type : {WatchEventType::kAdded, WatchEventType::kModified, WatchEventType::kDeleted}) {
    Result<std::optional<WatchEvent<T>>> event = watcher.Next(ctx);
    ASSERT_TRUE(event) << Problem(event);
    ASSERT_TRUE(*event);
    EXPECT_EQ((*event)->type, type);
    EXPECT_EQ(KeyOf((*event)->object).name, "m");
  }
}

TEST_P(ClientContract, WatchesInProtobufJsonDynamicAndMetadata) {
  const Client client = ClientOf(server());
  ClientConfig config = ConfigOf(server(), server().admin);
  config.content_type = "application/json";
  const Client json = Client::FromConfig(config).value();
  const Context ctx = Soon();
  const auto now = [&] { return client.List<ConfigMap>(ctx, {.ns = ns(), .limit = 1}).value().metadata.resource_version.str(); };
  const auto options = [&] { return WatchOptions{.ns = ns(), .field_selector = "metadata.name=m", .resource_version = now()}; };
  {
    Result<Watcher<ConfigMap>> watcher = client.Watch<ConfigMap>(ctx, options());
    ASSERT_TRUE(watcher) << Problem(watcher);
    ExpectEvents(client, *watcher, ns());
  }
  {
    Result<Watcher<ConfigMap>> watcher = json.Watch<ConfigMap>(ctx, options());
    ASSERT_TRUE(watcher) << Problem(watcher);
    ExpectEvents(client, *watcher, ns());
  }
  {
    Result<Watcher<DynamicObject>> watcher = client.Resource(Gvr{"", "v1", "configmaps"}).Watch(ctx, options());
    ASSERT_TRUE(watcher) << Problem(watcher);
    ExpectEvents(client, *watcher, ns());
  }
  {
    auto watcher = client.Metadata<ConfigMap>().Watch(ctx, options());
    ASSERT_TRUE(watcher) << Problem(watcher);
    ExpectEvents(client, *watcher, ns());
  }
}

TEST_P(ClientContract, AWatchFromTooLongAgoIsTold) {
  const Client client = ClientOf(server());
  const Context ctx = Soon();
  // A kind that was added to the server later than version 1, so that a real one cannot have that in memory either.
  const Gvr widgets{String(Expand("{w}.example.com")), "v1", "widgets"};
  ASSERT_TRUE(server().compact());
  Result<Watcher<DynamicObject>> watcher = client.Resource(widgets).Watch(ctx, {.ns = ns(), .resource_version = "1"});
  ASSERT_TRUE(watcher) << Problem(watcher);
  const Result<std::optional<WatchEvent<DynamicObject>>> event = watcher->Next(ctx);
  ASSERT_TRUE(event) << Problem(event);
  ASSERT_TRUE(*event);
  EXPECT_EQ((*event)->type, WatchEventType::kError);
  ASSERT_TRUE((*event)->error);
  EXPECT_TRUE(IsResourceExpired(*(*event)->error)) << (*event)->error->ToString();
  EXPECT_THAT((*event)->error->message(), ::testing::StartsWith("too old resource version: 1 ("));
  EXPECT_FALSE(watcher->Next(ctx).value());
}

TEST_P(ClientContract, WaitsForWhatOthersDo) {
  const Client client = ClientOf(server());
  const ResourceClient<ConfigMap> maps = client.Resource<ConfigMap>();
  const ObjectKey key{String(ns()), "m"};
  Thread other("other", [&] {
    const Context ctx = Soon();
    ASSERT_TRUE(client.Create(ctx, Map(ns(), "m")));
    ASSERT_TRUE(client.Patch<ConfigMap>(ctx, key, Patch::Merge(R"({"data":{"a":"ready"}})")));
  });
  const Result<ConfigMap> ready = WaitFor<ConfigMap>(maps, Soon(), key, [](const ConfigMap& map) { return map.data["a"] == "ready"; });
  ASSERT_TRUE(ready) << Problem(ready);
  other.Join();
  Thread deleter("deleter", [&] { EXPECT_TRUE(client.Delete<ConfigMap>(Soon(), key)); });
  EXPECT_TRUE(WaitForDeletion(maps, Soon(), key));
  deleter.Join();
  const Result<ConfigMap> never = WaitFor<ConfigMap>(maps, Context::Background().WithTimeout(std::chrono::milliseconds(300)), key,
                                                     [](const ConfigMap&) { return true; });
  ASSERT_FALSE(never);
  EXPECT_TRUE(IsDeadlineExceeded(never.error())) << Problem(never);
  EXPECT_THAT(never.error().message(), HasSubstr(key.ToString()));
}

TEST_P(ClientContract, ManyWritersWithRetryOnConflictLoseNothing) {
  const Client client = ClientOf(server());
  const ObjectKey key{String(ns()), "m"};
  ConfigMap map = Map(ns(), "m");
  map.data["a"] = "0";
  ASSERT_TRUE(client.Create(Soon(), map));
  constexpr int kWriters = 4;
  constexpr int kWrites = 5;
  std::atomic<int> failures = 0;
  {
    std::vector<Thread> writers;
    for (int w = 0; w < kWriters; ++w) {
      writers.emplace_back("writer", [&] {
        const Context ctx = Soon();
        for (int i = 0; i < kWrites; ++i) {
          const Result<void> done = RetryOnConflict(ctx,
                                                    [&]() -> Result<void> {
                                                      Result<ConfigMap> current = client.Get<ConfigMap>(ctx, key);
                                                      if (!current) return current.error();
                                                      current->data["a"] = std::to_string(std::stoi(current->data["a"].str()) + 1);
                                                      const Result<ConfigMap> written = client.Update(ctx, *current);
                                                      return written ? Result<void>() : written.error();
                                                    },
                                                    {.duration = std::chrono::milliseconds(5), .factor = 1.5, .jitter = 1, .steps = 50});
          if (!done) ++failures;
        }
      });
    }
  }
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(client.Get<ConfigMap>(Soon(), key).value().data["a"], std::to_string(kWriters * kWrites));
}

// Established connections of this process to the port, by the kernel's own table.
int KernelConnections(const std::string& url) {
  const int port = std::stoi(url.substr(url.rfind(':') + 1));
  std::set<std::string> ours;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string link = std::filesystem::read_symlink(entry.path(), error).string();
    if (link.starts_with("socket:[")) ours.insert(link.substr(8, link.size() - 9));
  }
  int count = 0;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream in(table);
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
      std::istringstream fields(line);
      std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
      fields >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >> inode;
      if (state == "01" && std::stoi(remote.substr(remote.rfind(':') + 1), nullptr, 16) == port && ours.contains(inode)) ++count;
    }
  }
  return count;
}

TEST_P(ClientContract, OneConnectionCarries100RequestsAnd20Watches) {
  const int before = KernelConnections(server().url);
  const Client client = ClientOf(server());
  const Context ctx = Soon();
  ASSERT_TRUE(client.Create(ctx, Map(ns(), "m")));
  std::vector<Watcher<ConfigMap>> watchers;
  for (int i = 0; i < 20; ++i) {
    Result<Watcher<ConfigMap>> watcher = client.Watch<ConfigMap>(ctx, {.ns = ns()});
    ASSERT_TRUE(watcher) << Problem(watcher);
    watchers.push_back(*std::move(watcher));
  }
  std::atomic<int> good = 0;
  std::atomic<bool> go = false;
  {
    std::vector<Thread> threads;
    for (int i = 0; i < 100; ++i) {
      threads.emplace_back("get", [&] {
        while (!go) std::this_thread::yield();
        if (client.Get<ConfigMap>(ctx, {String(ns()), "m"})) ++good;
      });
    }
    go = true;
  }
  EXPECT_EQ(good, 100);
  for (Watcher<ConfigMap>& watcher : watchers) EXPECT_TRUE(watcher.Next(ctx).value());
  EXPECT_EQ(client.transport_stats().connections_opened, 1U);
  EXPECT_EQ(KernelConnections(server().url) - before, 1);
}

TEST_P(ClientContract, AWatchThatNobodyReadsDoesNotDelayAGet) {
  const Client client = ClientOf(server());
  const Client writer = ClientOf(server());
  const Context ctx = Soon();
  Result<Watcher<ConfigMap>> stalled = client.Watch<ConfigMap>(ctx, {.ns = ns(), .field_selector = "metadata.name=big"});
  ASSERT_TRUE(stalled) << Problem(stalled);
  ConfigMap big = Map(ns(), "big");
  big.data["text"] = std::string(512 * 1024, 'x');
  ASSERT_TRUE(writer.Create(ctx, big));
  constexpr int kUpdates = 40;  // 20 MiB: more than all buffers on the way
  for (int i = 0; i < kUpdates; ++i) {
    const Result<ConfigMap> patched =
        writer.Patch<ConfigMap>(ctx, {String(ns()), "big"}, Patch::Merge(R"({"data":{"a":")" + std::to_string(i) + "\"}}"));
    ASSERT_TRUE(patched) << Problem(patched);
  }
  for (int i = 0; i < 20; ++i) {
    const Result<Namespace> read = client.Get<Namespace>(Context::Background().WithTimeout(std::chrono::seconds(20)), {"", String(ns())});
    ASSERT_TRUE(read) << Problem(read);
  }
  EXPECT_EQ(client.transport_stats().connections_opened, 1U);
  // And the watch goes on where it was. A server may have given it up as too slow.
  int seen = 0;
  while (seen <= kUpdates) {
    const Result<std::optional<WatchEvent<ConfigMap>>> event = stalled->Next(ctx);
    ASSERT_TRUE(event) << Problem(event);
    if (!*event || (*event)->type == WatchEventType::kError) break;
    if ((*event)->type != WatchEventType::kBookmark) ++seen;
  }
  EXPECT_GT(seen, 0);
}

TEST_P(ClientContract, CancellingAWatchOrACallLeavesTheConnectionInUse) {
  const Client client = ClientOf(server());
  Result<Watcher<ConfigMap>> watcher =
      client.Watch<ConfigMap>(Soon(), {.ns = ns(), .field_selector = "metadata.name=never", .bookmarks = false});
  ASSERT_TRUE(watcher) << Problem(watcher);
  auto [ctx, source] = Soon().WithCancel();
  Thread canceller("canceller", [&s = source] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    s.Cancel();
  });
  const Result<std::optional<WatchEvent<ConfigMap>>> event = watcher->Next(ctx);
  ASSERT_FALSE(event) << (*event ? ToString((*event)->type) : "end") << " "
                      << (*event ? (*event)->object.metadata.resource_version.str() : "");
  EXPECT_TRUE(IsCancelled(event.error()));
  EXPECT_TRUE(IsCancelled(client.Get<ConfigMap>(ctx, {String(ns()), "m"}).error()));
  EXPECT_TRUE(client.List<ConfigMap>(Soon(), {.ns = ns()}));
  EXPECT_EQ(client.transport_stats().connections_opened, 1U);
}

TEST_P(ClientContract, RbacDenialIsForbiddenWithTheServersWords) {
  if (server().embedded()) GTEST_SKIP() << "the embedded server does not evaluate RBAC";
  const Result<HttpIdentity> stranger = server().user("stranger", {});
  ASSERT_TRUE(stranger);
  const Client client = Client::FromConfig(ConfigOf(server(), *stranger)).value();
  const Result<Secret> secret = client.Get<Secret>(Soon(), {String(ns()), "s"});
  ASSERT_FALSE(secret);
  EXPECT_TRUE(IsForbidden(secret.error()));
  EXPECT_EQ(
      secret.error().message(),
      "secrets \"s\" is forbidden: User \"stranger\" cannot get resource \"secrets\" in API group \"\" in the namespace \"" + ns() + "\"");
}

// A service account and a token for it.
std::string TokenOf(const Client& client, const std::string& ns, const std::string& name) {
  const Result<ServiceAccount> made = client.Create(Soon(), ServiceAccount{.metadata = {.name = String(name), .namespace_ = String(ns)}});
  EXPECT_TRUE(made) << Problem(made);
  const Result<authentication::v1::TokenRequest> token =
      client.Resource<ServiceAccount>().PostSubresource<authentication::v1::TokenRequest>(Soon(), {String(ns), String(name)}, "token",
                                                                                          authentication::v1::TokenRequest{});
  EXPECT_TRUE(token) << Problem(token);
  return token ? token->status.token.str() : "";
}

// The user that the server sees.
std::string WhoAmI(const Client& client, bool old) {
  using authentication::v1::SelfSubjectReview;
  if (old) {
    // Before 1.28 there is no v1 of the review; a refusal also names the user.
    const Result<Secret> secret = client.Get<Secret>(Soon(), {"kube-system", "nothing"});
    if (secret) return "allowed";
    const std::string& text = secret.error().message();
    const std::size_t begin = text.find('"', text.find("User "));
    return begin == std::string::npos ? text : text.substr(begin + 1, text.find('"', begin + 1) - begin - 1);
  }
  const Result<SelfSubjectReview> review = client.Resource<SelfSubjectReview>().Create(Soon(), SelfSubjectReview{});
  return review ? review->status.user_info.username.str() : review.error().ToString();
}

void Write(const std::filesystem::path& path, const std::string& text) { std::ofstream(path) << text; }

TEST_P(ClientContract, AServiceAccountInAPodAndItsRotatedToken) {
  const Client admin = ClientOf(server());
  const std::string first = TokenOf(admin, ns(), "first");
  const std::string second = TokenOf(admin, ns(), "second");
  const std::unique_ptr<testing::internal::TemporaryDirectory> folder =
      testing::internal::TemporaryDirectory::Create("kubexx-in-cluster").value();
  const std::filesystem::path path(folder->path());
  Write(path / "token", first + "\n");
  Write(path / "ca.crt", server().admin.ca_pem);
  Write(path / "namespace", ns());
  const std::string address = server().url.substr(server().url.find("://") + 3);
  LoadOptions options;
  options.service_account_dir = folder->path();
  options.getenv = [&](const std::string& name) -> std::optional<std::string> {
    if (name == "KUBERNETES_SERVICE_HOST") return address.substr(0, address.rfind(':'));
    if (name == "KUBERNETES_SERVICE_PORT") return address.substr(address.rfind(':') + 1);
    return std::nullopt;
  };
  const Result<ClientConfig> config = InClusterConfig(options);
  ASSERT_TRUE(config) << Problem(config);
  EXPECT_EQ(config->ns, ns());
  const auto clock = std::make_shared<FakeClock>();
  const Client client = Client::FromConfig(*config, {.clock = clock}).value();
  const std::string prefix = "system:serviceaccount:" + ns() + ":";
  EXPECT_EQ(WhoAmI(client, server().oldest()), prefix + "first");

  Write(path / "token", second);
  clock->Advance(std::chrono::seconds(49));
  EXPECT_EQ(WhoAmI(client, server().oldest()), prefix + "first");
  clock->Advance(std::chrono::seconds(2));
  EXPECT_EQ(WhoAmI(client, server().oldest()), prefix + "second");
  EXPECT_EQ(client.transport_stats().connections_opened, 1U);
}

TEST_P(ClientContract, AnExecPluginGivesTheToken) {
  const Client admin = ClientOf(server());
  const std::string token = TokenOf(admin, ns(), "robot");
  const std::unique_ptr<testing::internal::TemporaryDirectory> folder =
      testing::internal::TemporaryDirectory::Create("kubexx-exec").value();
  const std::filesystem::path plugin = std::filesystem::path(folder->path()) / "plugin.sh";
  Write(std::filesystem::path(folder->path()) / "token", token);
  Write(plugin, R"sh(#!/bin/sh
printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%s"}}' "$(cat "$(dirname "$0")/token")"
)sh");
  chmod(plugin.c_str(), 0700);
  ClientConfig config = ConfigOf(server(), {.ca_pem = server().admin.ca_pem});
  config.exec = std::make_shared<ExecConfig>(ExecConfig{.command = plugin.string(), .api_version = "client.authentication.k8s.io/v1"});
  const Client client = Client::FromConfig(config).value();
  EXPECT_EQ(WhoAmI(client, server().oldest()), "system:serviceaccount:" + ns() + ":robot");
}

TEST_P(ClientContract, AWrongCaIsExplained) {
  ClientConfig config = ConfigOf(server(), server().admin);
  config.tls.ca_data = serve::CertificateAuthority::Create("another").value().key_pair().certificate_pem;
  const Result<Client> client = Client::FromConfig(config);
  ASSERT_TRUE(client) << Problem(client);
  const Result<ConfigMap> map = client->Get<ConfigMap>(Soon(), {String(ns()), "m"});
  ASSERT_FALSE(map);
  EXPECT_EQ(map.error().kind(), ErrorKind::kTransport);
  EXPECT_THAT(map.error().message(), HasSubstr("certificate"));
}

TEST_P(ClientContract, AWrongTokenIsUnauthorized) {
  const Client client = Client::FromConfig(ConfigOf(server(), {.ca_pem = server().admin.ca_pem, .token = "rubbish"})).value();
  const Result<ConfigMap> map = client.Get<ConfigMap>(Soon(), {String(ns()), "m"});
  ASSERT_FALSE(map);
  EXPECT_TRUE(IsUnauthorized(map.error())) << Problem(map);
  EXPECT_EQ(Problem(map).find("rubbish"), std::string::npos);
}

}  // namespace
}  // namespace kube::contract
