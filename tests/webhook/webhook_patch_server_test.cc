// The patch of a mutating webhook, applied by API servers to random objects: what they answer and store is the object that the function
// made, and fields that the function cannot know stay. tests/contract/webhook_patch_test.cc has the same for every kind, without a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../contract/random_object.h"
#include "client/server_test_util.h"
#include "kube/api/core/v1.h"
#include "kube/base/mutex.h"
#include "kube/control/crds.h"
#include "kube/testing/webhooks.h"
#include "kube/webhook/webhook.h"
#include "webhook/conversion_test_types.h"

namespace kube::internal {
namespace {

using contract::Chance;
using contract::Mix;
using contract::Random;
using contract::RandomObject;
using core::v1::ConfigMap;
using nets::v2::Network;

// A run can be repeated: KUBEXX_TEST_SEED=N.
std::uint64_t Seed() {
  const char* given = std::getenv("KUBEXX_TEST_SEED");
  static const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  return seed;
}

class WebhookPatchServerTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    static int count = 0;
    ns_ = "patches-" + std::string(GetParam()) + "-" + std::to_string(++count);
    admin_ = std::make_unique<Client>(NewClient());
    core::v1::Namespace ns;
    ns.metadata.name = ns_;
    ASSERT_TRUE(admin_->Create(Patient(), ns));
    const DynamicObject crd = FromJson<DynamicObject>(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
            "metadata":{"name":"networks.nets.example.com"},"spec":{"group":"nets.example.com","scope":"Namespaced",
            "names":{"kind":"Network","listKind":"NetworkList","plural":"networks","singular":"network"},
            "versions":[{"name":"v2","served":true,"storage":true,
              "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})")
                                  .value();
    ASSERT_TRUE(InstallCrds(Patient(), *admin_, {{.crd = crd}}));
  }
  int Objects() const {
    if (const char* given = std::getenv("KUBEXX_OBJECTS_PER_KIND")) return std::atoi(given);
    return std::string(GetParam()) == "embedded" ? 150 : 30;
  }
  ResourceClient<DynamicObject> Networks() const {
    return admin_->ResourceAt(
        {.gvr = {"nets.example.com", "v2", "networks"}, .gvk = {"nets.example.com", "v2", "Network"}, .namespaced = true});
  }
  std::unique_ptr<testing::InstalledWebhooks> Install(const WebhookSpec& spec) const {
    auto installed = testing::InstallWebhooks(Patient(), *admin_, {spec}, {.name = ns_});
    EXPECT_TRUE(installed) << installed.error().ToString();
    return installed ? *std::move(installed) : nullptr;
  }
  std::string Trace() const { return "KUBEXX_TEST_SEED=" + std::to_string(Seed()); }

  static Value RandomNetwork(Random& random) {
    const AnyObject made = RandomObject(Network::kType, random);
    Value all = ToValue(Network::kType, made.data()).value();
    return Value::Object({{"spec", all["spec"]}, {"status", all["status"]}});
  }
  // Labels must be valid; annotations may have any text in their values.
  static Map<String> RandomLabels(Random& random) {
    Map<String> out;
    for (const char* key : {"a", "example.com/b_c", "d.e"}) {
      if (Chance(random, 0.5)) out[key] = String("v" + std::to_string(random() % 3));
    }
    return out;
  }
  static Map<String> RandomAnnotations(Random& random) {
    Map<String> out;
    for (const char* key : {"a", "example.com/b", "c~0"}) {
      if (std::string_view(key) != "c~0" && Chance(random, 0.5))
        out[key] = String("~1/" + std::to_string(random() % 3) + "\"\\\n<&>\xe2\x82\xac");
    }
    return out;
  }

  std::string ns_;
  std::unique_ptr<Client> admin_;
};

// What a function sets an object to, by the object's name and a count of its changes.
template <typename T>
class Wanted {
 public:
  void Set(const String& name, T object) {
    MutexLock lock(mu_);
    objects_.insert_or_assign(name.str(), std::move(object));
  }
  std::optional<T> Of(const String& name) const {
    MutexLock lock(mu_);
    const auto found = objects_.find(name.str());
    return found == objects_.end() ? std::nullopt : std::optional<T>(found->second);
  }

 private:
  mutable Mutex mu_;
  std::map<std::string, T> objects_ KUBE_GUARDED_BY(mu_);
};

TEST_P(WebhookPatchServerTest, OfACustomResourceWithAStruct) {
  SCOPED_TRACE(Trace());
  Wanted<Network> wanted;
  const auto installed =
      Install(WebhookFor<Network>("networks.example.com").Timeout(std::chrono::seconds(30)).Default([&](Network& network) {
        const std::optional<Network> to = wanted.Of(network.metadata.name);
        if (!to) return;
        network.metadata.labels = to->metadata.labels;
        network.metadata.annotations = to->metadata.annotations;
        network.spec = to->spec;
        network.status = to->status;
      }));
  ASSERT_NE(installed, nullptr);
  Random random(Seed());
  for (int n = 0; n < Objects() && !HasFailure(); ++n) {
    const String name("n-" + std::to_string(n));
    String resource_version;
    for (const char* const operation : {"create", "update"}) {
      SCOPED_TRACE(operation);
      Value sent = RandomNetwork(random);
      // Fields that the struct does not have: one beside what the function sets, and one that it removes.
      const Value unknown = Value::Object({{"n", Value(n)}, {"~/", Value::Array({Value(1.5), Value()})}});
      sent["ofANewerServer"] = unknown;
      sent["spec"]["ofANewerServer"] = unknown;
      Network to;
      const Value mixed = Mix(RandomNetwork(random), sent, random);
      if (!DecodeValue(Network::kType, &to, mixed)) continue;  // a list of numbers got a string
      to.metadata.labels = RandomLabels(random);
      to.metadata.annotations = RandomAnnotations(random);
      wanted.Set(name, to);
      DynamicObject object(sent);
      object["apiVersion"] = Value("nets.example.com/v2");
      object["kind"] = Value("Network");
      object["metadata"]["name"] = Value(name);
      object["metadata"]["namespace"] = Value(ns_);
      for (const auto& [key, value] : RandomLabels(random)) object["metadata"]["labels"][key.view()] = Value(value);
      if (!resource_version.empty()) object["metadata"]["resourceVersion"] = Value(resource_version);
      const Result<DynamicObject> answer =
          resource_version.empty() ? Networks().Create(Patient(), object) : Networks().Update(Patient(), object);
      ASSERT_TRUE(answer) << answer.error().ToString() << '\n' << ToJson(object.value());
      resource_version = answer->resource_version();
      const Result<DynamicObject> stored = Networks().Get(Patient(), {String(ns_), name});
      ASSERT_TRUE(stored) << stored.error().ToString();
      const Value should = ToValue(to).value();
      for (const Value& got : {answer->value(), stored->value()}) {
        Network decoded;
        ASSERT_TRUE(DecodeValue(Network::kType, &decoded, got));
        EXPECT_EQ(decoded.metadata.labels, to.metadata.labels);
        EXPECT_EQ(decoded.metadata.annotations, to.metadata.annotations);
        const Value is = ToValue(decoded).value();
        EXPECT_EQ(is["spec"], should["spec"]) << ToJson(is["spec"]) << '\n' << ToJson(should["spec"]) << '\n' << ToJson(sent);
        EXPECT_EQ(is["status"], should["status"]) << ToJson(is["status"]) << '\n' << ToJson(should["status"]) << '\n' << ToJson(sent);
        EXPECT_EQ(got["ofANewerServer"], unknown) << ToJson(got);
      }
    }
  }
}

TEST_P(WebhookPatchServerTest, OfACustomResourceWithoutAStruct) {
  SCOPED_TRACE(Trace());
  Wanted<Value> wanted;
  const auto installed = Install(WebhookFor("networks.example.com", {.gvr = {"nets.example.com", "v2", "networks"}, .kind = "Network"})
                                     .Timeout(std::chrono::seconds(30))
                                     .Default([&](DynamicObject& o) {
                                       if (const std::optional<Value> to = wanted.Of(o.name())) o["spec"] = *to;
                                     }));
  ASSERT_NE(installed, nullptr);
  Random random(Seed());
  for (int n = 0; n < Objects() && !HasFailure(); ++n) {
    const Value sent = RandomNetwork(random);
    const Value to = Mix(sent["spec"], RandomNetwork(random)["spec"], random);
    const String name("d-" + std::to_string(n));
    wanted.Set(name, to);
    DynamicObject object(sent);
    object["apiVersion"] = Value("nets.example.com/v2");
    object["kind"] = Value("Network");
    object["metadata"]["name"] = Value(name);
    object["metadata"]["namespace"] = Value(ns_);
    const Result<DynamicObject> answer = Networks().Create(Patient(), object);
    ASSERT_TRUE(answer) << answer.error().ToString() << '\n' << ToJson(object.value());
    EXPECT_EQ((*answer)["spec"], to) << ToJson((*answer)["spec"]) << '\n' << ToJson(to) << '\n' << ToJson(sent);
    EXPECT_EQ((*answer)["status"], sent["status"]) << ToJson(sent);
  }
}

TEST_P(WebhookPatchServerTest, OfABuiltInKind) {
  SCOPED_TRACE(Trace());
  Wanted<ConfigMap> wanted;
  const auto installed = Install(
      WebhookFor<ConfigMap>("maps.example.com").ExcludeOwnNamespace(false).Timeout(std::chrono::seconds(30)).Default([&](ConfigMap& map) {
        const std::optional<ConfigMap> to = wanted.Of(map.metadata.name);
        if (!to) return;
        map.metadata.labels = to->metadata.labels;
        map.metadata.annotations = to->metadata.annotations;
        map.data = to->data;
        map.binary_data = to->binary_data;
      }));
  ASSERT_NE(installed, nullptr);
  Random random(Seed());
  const auto make = [&](const String& name) {
    ConfigMap map;
    map.metadata.name = name;
    map.metadata.namespace_ = ns_;
    map.metadata.labels = RandomLabels(random);
    map.metadata.annotations = RandomAnnotations(random);
    for (const char* key : {"a", "b.c", "_d", "e-1"}) {
      if (Chance(random, 0.3)) {
        map.data[key] = String(ToJson(RandomNetwork(random)));  // any text
      } else if (Chance(random, 0.3)) {
        map.binary_data[key] = Bytes(std::string("\0\xff", 2) + std::to_string(random()));
      }
    }
    return map;
  };
  for (int n = 0; n < Objects() && !HasFailure(); ++n) {
    const String name("m-" + std::to_string(n));
    ConfigMap to = make(name);
    wanted.Set(name, to);
    Result<ConfigMap> answer = admin_->Create(Patient(), make(name));
    for (const char* const operation : {"create", "update"}) {
      SCOPED_TRACE(operation);
      ASSERT_TRUE(answer) << answer.error().ToString();
      const Result<ConfigMap> stored = admin_->Get<ConfigMap>(Patient(), {String(ns_), name});
      ASSERT_TRUE(stored) << stored.error().ToString();
      for (const ConfigMap& got : {*answer, *stored}) {
        EXPECT_EQ(got.metadata.labels, to.metadata.labels);
        EXPECT_EQ(got.metadata.annotations, to.metadata.annotations);
        EXPECT_EQ(got.data, to.data);
        EXPECT_EQ(got.binary_data, to.binary_data);
      }
      to = make(name);
      wanted.Set(name, to);
      answer = admin_->Update(Patient(), make(name));
    }
  }
}

INSTANTIATE_SERVERS(WebhookPatchServerTest);

}  // namespace
}  // namespace kube::internal
