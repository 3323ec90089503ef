#include "kube/control/storage_migration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "control/crds/crd_test_util.h"
#include "control/manager/manager_test_util.h"
#include "kube/base/fake_clock.h"
#include "kube/control/crds.h"
#include "kube/transport/transport.h"

namespace kube::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Gvr kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};
const Gvr kWidgets{"a.com", "v2", "widgets"};

// Seven widgets that were stored in v1; v2 is stored from now on.
class StorageMigrationTest : public ManagerServerTest {
 protected:
  void SetUp() override {
    ManagerServerTest::SetUp();
    ASSERT_TRUE(InstallCrds(Patience(), *client_, Sources(WidgetsYaml("a.com", VersionYaml("v1", true) + VersionYaml("v2", false)))));
    for (int i = 0; i < 7; ++i) {
      DynamicObject widget({"a.com", "v1", "Widget"}, {"default", String("w" + std::to_string(i))});
      widget["spec"]["a"] = std::to_string(i);
      ASSERT_TRUE(client_->Resource(Gvr{"a.com", "v1", "widgets"}).Create(Patience(), widget));
    }
    ASSERT_TRUE(InstallCrds(Patience(), *client_, Sources(WidgetsYaml("a.com", VersionYaml("v1", false) + VersionYaml("v2", true)))));
  }
  StorageMigration Migrate(StorageMigrationOptions options = {}) const {
    options.qps = 0;
    const Result<StorageMigration> done = MigrateStorage(Patience(), *client_, "widgets.a.com", options);
    EXPECT_TRUE(done) << done.error().ToString();
    return done ? *done : StorageMigration();
  }
  std::vector<std::string> StoredVersions() const {
    std::vector<std::string> out;
    const DynamicObject crd = client_->Resource(kDefinitions).Get(Patience(), {"", "widgets.a.com"}).value();
    for (const Value& version : crd["status"]["storedVersions"].list()) out.push_back(version.string_value().str());
    return out;
  }
  std::map<std::string, std::string> ResourceVersions() const {
    std::map<std::string, std::string> out;
    const auto widgets = client_->Resource(kWidgets).List(Patience()).value();
    for (const DynamicObject& widget : widgets) out[widget.name().str()] = widget.resource_version().str();
    return out;
  }
};

TEST_F(StorageMigrationTest, RewritesEveryObjectAndTrims) {
  EXPECT_THAT(StoredVersions(), ElementsAre("v1", "v2"));
  const std::map<std::string, std::string> before = ResourceVersions();
  int pages = 0;
  const StorageMigration done = Migrate({.page_size = 3, .on_progress = [&](const StorageMigrationProgress&) { ++pages; }});
  EXPECT_EQ(done.rewritten, 7u);
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(done.storage_version, "v2");
  EXPECT_THAT(done.stored_versions, ElementsAre("v1", "v2"));
  EXPECT_TRUE(done.trimmed) << done.not_trimmed_because;
  EXPECT_THAT(StoredVersions(), ElementsAre("v2"));
  for (const auto& [name, version] : ResourceVersions()) EXPECT_NE(version, before.at(name)) << name;
  EXPECT_EQ(client_->Resource(kWidgets).Get(Patience(), {"default", "w3"})->value()["spec"]["a"].string_value(), "3");

  // Again: nothing to do.
  const StorageMigration again = Migrate();
  EXPECT_TRUE(again.trimmed);
  EXPECT_EQ(again.rewritten, 0u);
  // v1 may go now.
  const auto removed = InstallCrds(Patience(), *client_, Sources(WidgetsYaml("a.com", VersionYaml("v2", true))), {.allow_breaking = true});
  EXPECT_TRUE(removed) << removed.error().ToString();
}

TEST_F(StorageMigrationTest, ObjectsThatOthersChangeOrDeleteAreFine) {
  server_->AddFault({.verb = "update", .resource = "widgets", .name = "w2", .status = 409, .reason = "Conflict"});
  server_->AddFault({.verb = "update", .resource = "widgets", .name = "w4", .status = 404, .reason = "NotFound"});
  const StorageMigration done = Migrate();
  EXPECT_EQ(done.rewritten, 5u);
  EXPECT_EQ(done.changed_by_others, 1u);
  EXPECT_EQ(done.deleted, 1u);
  EXPECT_TRUE(done.trimmed);
}

TEST_F(StorageMigrationTest, DoesNotTrimIfAnObjectIsRefused) {
  server_->AddFault({.verb = "update", .resource = "widgets", .name = "w2", .status = 422, .reason = "Invalid", .message = "no good"});
  StorageMigrationProgress progress;
  const StorageMigration done = Migrate({.page_size = 3, .on_progress = [&](const StorageMigrationProgress& p) { progress = p; }});
  EXPECT_EQ(done.rewritten, 6u);
  EXPECT_EQ(done.failed, 1u);
  EXPECT_THAT(done.failures, ElementsAre(HasSubstr("default/w2: no good")));
  EXPECT_FALSE(done.trimmed);
  EXPECT_EQ(done.not_trimmed_because, "1 objects were not rewritten");
  EXPECT_THAT(StoredVersions(), ElementsAre("v1", "v2"));
  // The next run begins with the one that failed.
  EXPECT_EQ(progress.after, "default/w1");
  const StorageMigration next = Migrate({.resume = progress});
  EXPECT_EQ(next.skipped, 2u);
  EXPECT_EQ(next.rewritten, 5u);
  EXPECT_TRUE(next.trimmed);
}

// Any tenant may have made it.
TEST_F(StorageMigrationTest, AnObjectThatCannotBeDecodedStopsNoOther) {
  class Deepens : public TransportDecorator {
   public:
    using TransportDecorator::TransportDecorator;
    Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
      Result<HttpResponse> response = next().RoundTrip(ctx, std::move(request));
      if (!response) return response;
      const std::string good = R"("a":"3")";
      if (const std::size_t at = response->body.find(good); at != std::string::npos) {
        response->body.replace(at, good.size(), R"("a":)" + std::string(2000, '[') + std::string(2000, ']'));
      }
      return response;
    }
  };
  const auto wrap = [](std::shared_ptr<Transport> next) { return std::make_shared<Deepens>(std::move(next)); };
  client_ = std::make_unique<Client>(Client::FromConfig(client_->config(), {.wrap_transport = wrap}).value());
  StorageMigrationProgress progress;
  const StorageMigration done = Migrate({.page_size = 3, .on_progress = [&](const StorageMigrationProgress& p) { progress = p; }});
  EXPECT_EQ(done.rewritten, 6u);
  EXPECT_EQ(done.failed, 1u);
  EXPECT_THAT(done.failures, ElementsAre(HasSubstr("default/w3: cannot be decoded: ")));
  EXPECT_FALSE(done.trimmed);
  EXPECT_EQ(progress.objects, 7u);
  EXPECT_EQ(progress.after, "default/w2");
}

TEST_F(StorageMigrationTest, GoesOnWhereARunWasKilled) {
  auto [ctx, cancel] = Patience().WithCancel();
  StorageMigrationProgress progress;
  const Result<StorageMigration> killed = MigrateStorage(
      ctx, *client_, "widgets.a.com", {.qps = 0, .page_size = 3, .on_progress = [&, &stop = cancel](const StorageMigrationProgress& p) {
                                         progress = p;
                                         stop.Cancel();
                                       }});
  EXPECT_FALSE(killed);
  EXPECT_EQ(progress.after, "default/w2");
  EXPECT_EQ(progress.storage_version, "v2");
  EXPECT_THAT(StoredVersions(), ElementsAre("v1", "v2"));
  const StorageMigration done = Migrate({.resume = progress});
  EXPECT_EQ(done.skipped, 3u);
  EXPECT_EQ(done.rewritten, 4u);
  EXPECT_TRUE(done.trimmed);
}

TEST_F(StorageMigrationTest, ProgressOfAnotherDefinitionIsNotUsed) {
  EXPECT_EQ(Migrate({.resume = {.uid = "other", .generation = 2, .storage_version = "v2", .after = "default/w9"}}).rewritten, 7u);
}

TEST_F(StorageMigrationTest, DoesNotTrimIfTheDefinitionChanged) {
  const StorageMigration done = Migrate({.on_progress = [&](const StorageMigrationProgress&) {
    // To v1 and back: objects may have been written in v1 meanwhile.
    for (const bool v1 : {true, false}) {
      ASSERT_TRUE(InstallCrds(Patience(), *client_, Sources(WidgetsYaml("a.com", VersionYaml("v1", v1) + VersionYaml("v2", !v1)))));
    }
  }});
  EXPECT_EQ(done.rewritten, 7u);
  EXPECT_FALSE(done.trimmed);
  EXPECT_EQ(done.not_trimmed_because, "the definition changed meanwhile: run it again");
  EXPECT_THAT(StoredVersions(), ElementsAre("v1", "v2"));
}

TEST_F(StorageMigrationTest, ListsAgainIfThePagesExpire) {
  bool first = true;
  const StorageMigration done = Migrate({.page_size = 3, .on_progress = [&](const StorageMigrationProgress&) {
                                           if (std::exchange(first, false))
                                             server_->AddFault({.verb = "list", .resource = "widgets", .kind = testing::FaultKind::kGone});
                                         }});
  EXPECT_EQ(done.rewritten, 7u);
  EXPECT_TRUE(done.trimmed);
}

TEST_F(StorageMigrationTest, DoesNotStartAgainAfterAFailureIfThePagesExpire) {
  server_->AddFault({.verb = "update", .resource = "widgets", .name = "w1", .status = 422, .reason = "Invalid", .message = "no good"});
  bool first = true;
  StorageMigrationProgress progress;
  const StorageMigration done = Migrate({.page_size = 3, .on_progress = [&](const StorageMigrationProgress& p) {
                                           progress = p;
                                           if (std::exchange(first, false))
                                             server_->AddFault({.verb = "list", .resource = "widgets", .kind = testing::FaultKind::kGone});
                                         }});
  EXPECT_EQ(done.rewritten, 6u);
  EXPECT_EQ(done.failed, 1u);
  EXPECT_FALSE(done.trimmed);
  EXPECT_EQ(progress.after, "default/w0");
}

TEST_F(StorageMigrationTest, DryRunWritesNothing) {
  const std::map<std::string, std::string> before = ResourceVersions();
  const StorageMigration done = Migrate({.dry_run = true});
  EXPECT_EQ(done.rewritten, 7u);
  EXPECT_FALSE(done.trimmed);
  EXPECT_EQ(done.not_trimmed_because, "this was a dry run");
  EXPECT_EQ(ResourceVersions(), before);
  EXPECT_THAT(StoredVersions(), ElementsAre("v1", "v2"));
}

TEST_F(StorageMigrationTest, SaysThatThereIsNoSuchDefinition) {
  const Result<StorageMigration> done = MigrateStorage(Patience(), *client_, "gadgets.a.com");
  ASSERT_FALSE(done);
  EXPECT_TRUE(IsNotFound(done.error()));
  EXPECT_THAT(done.error().ToString(), HasSubstr("migrate the storage of gadgets.a.com"));
}

TEST_F(StorageMigrationTest, KeepsToItsPace) {
  const auto clock = std::make_shared<FakeClock>();
  Result<StorageMigration> done = StorageMigration();
  std::atomic<bool> over = false;
  const Context ctx = Context::Background(clock);
  Thread runner("runner", [&] {
    done = MigrateStorage(ctx, *client_, "widgets.a.com", {.qps = 2});
    over = true;
  });
  // Seven writes at two a second: three seconds, in steps of half a second.
  const auto start = clock->Now();
  while (!over) {
    if (clock->WaitForWaiters(1, std::chrono::milliseconds(20))) clock->Advance(std::chrono::milliseconds(100));
  }
  runner.Join();
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_EQ(done->rewritten, 7u);
  EXPECT_GE(clock->Now() - start, std::chrono::seconds(3));
}

}  // namespace
}  // namespace kube::internal
