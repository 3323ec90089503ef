// In which format a kind travels, on the embedded server and on real ones. Neither takes custom resources in protobuf.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/handwritten_kind_test_util.h"
#include "client/server_test_util.h"
#include "kube/base/mutex.h"
#include "kube/meta/dynamic_object.h"
#include "kube/transport/transport.h"

namespace kube::internal {
namespace {

using ::testing::ElementsAre;

constexpr char kJson[] = "application/json";
constexpr char kProtobuf[] = "application/vnd.kubernetes.protobuf";

// The Content-Type of each body that is sent to backups.
class BodyTypes : public TransportDecorator {
 public:
  struct Seen {
    Mutex mu;
    std::vector<std::string> types KUBE_GUARDED_BY(mu);
  };
  BodyTypes(std::shared_ptr<Transport> next, std::shared_ptr<Seen> seen) : TransportDecorator(std::move(next)), seen_(std::move(seen)) {}
  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    if (request.headers.Has("content-type") && request.target.find("/backups") != std::string::npos) {
      MutexLock lock(seen_->mu);
      seen_->types.emplace_back(request.headers.Get("content-type"));
    }
    return next().RoundTrip(ctx, std::move(request));
  }

 private:
  std::shared_ptr<Seen> seen_;
};

class FormatsServerTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    client_.emplace(NewClient({.wrap_transport = [this](std::shared_ptr<Transport> next) -> std::shared_ptr<Transport> {
      return std::make_shared<BodyTypes>(std::move(next), seen_);
    }}));
    const Context ctx = Patient();
    const Result<DynamicObject> made =
        client_->Resource(Gvr{"apiextensions.k8s.io", "v1", "customresourcedefinitions"}).Create(ctx, *DynamicObject::FromYaml(kBackupCrd));
    ASSERT_TRUE(made || IsAlreadyExists(made.error())) << made.error().ToString();
    while (!client_->List<Backup>(ctx, {.ns = "default"}))
      ASSERT_TRUE(ctx.SleepFor(std::chrono::milliseconds(20)));  // served a moment later
  }
  static Backup Nightly(const std::string& name) {
    Backup backup;
    backup.metadata = {.name = String(name), .namespace_ = "default"};
    backup.spec.database = "orders";
    return backup;
  }
  std::vector<std::string> Take() {
    MutexLock lock(seen_->mu);
    return std::exchange(seen_->types, {});
  }

  std::shared_ptr<BodyTypes::Seen> seen_ = std::make_shared<BodyTypes::Seen>();
  std::optional<Client> client_;
};

TEST_P(FormatsServerTest, AHandWrittenKindTravelsAsJson) {
  Result<Backup> backup = client_->Create(Patient(), Nightly("as-json"));
  ASSERT_TRUE(backup) << backup.error().ToString();
  backup->spec.database = "carts";
  backup = client_->Update(Patient(), *backup);
  ASSERT_TRUE(backup) << backup.error().ToString();
  backup->status.copies = 2;
  backup = client_->UpdateStatus(Patient(), *backup);
  ASSERT_TRUE(backup) << backup.error().ToString();
  EXPECT_THAT(Take(), ElementsAre(kJson, kJson, kJson));
  const Result<Backup> now = client_->Get<Backup>(Patient(), KeyOf(*backup));
  ASSERT_TRUE(now) << now.error().ToString();
  EXPECT_EQ(now->spec.database, "carts");
  EXPECT_EQ(now->status.copies, 2);
  ASSERT_TRUE(client_->Delete<Backup>(Patient(), KeyOf(*now)));
}

// A kind that claims to be built in: the server's refusal is what makes it JSON.
TEST_P(FormatsServerTest, AKindThatTheServerRefusesInProtobufIsSentInJson) {
  if (std::string(GetParam()) != "embedded") GTEST_SKIP() << "kube-apiserver 1.36 panics on a protobuf body of a custom resource";
  KindInfo kind = kBackupKind;
  kind.built_in = true;
  TypeInfo type = Backup::kType;
  type.kind = &kind;
  const ResourceClient<Backup> backups(client_->shared_core(),
                                       {.gvr = GvrOf<Backup>(), .gvk = GvkOf<Backup>(), .type = &type, .namespaced = true});
  Result<Backup> backup = backups.Create(Patient(), Nightly("refused"));
  ASSERT_TRUE(backup) << backup.error().ToString();
  EXPECT_EQ(backup->spec.database, "orders");
  EXPECT_THAT(Take(), ElementsAre(kProtobuf, kJson));
  backup->spec.database = "carts";
  backup = backups.Update(Patient(), *backup);
  ASSERT_TRUE(backup) << backup.error().ToString();
  EXPECT_THAT(Take(), ElementsAre(kJson));
  ASSERT_TRUE(backups.Delete(Patient(), KeyOf(*backup)));
}

INSTANTIATE_SERVERS(FormatsServerTest);

}  // namespace
}  // namespace kube::internal
