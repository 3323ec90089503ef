// Discovery, mapper and scale against the embedded server and real ones, with kubectl as the reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "client/server_test_util.h"
#include "kube/api/apps/v1.h"
#include "kube/client/discovery.h"
#include "kube/client/rest_mapper.h"
#include "kube/client/scale.h"
#include "kube/codec/json.h"
#include "kube/transport/transport.h"

namespace kube {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Contract13Server : public internal::ServerTest {};
INSTANTIATE_SERVERS(Contract13Server);

// Requests as they leave, by target.
class Counter : public TransportDecorator {
 public:
  Counter(std::shared_ptr<Transport> next, std::shared_ptr<std::atomic<int>> count)
      : TransportDecorator(std::move(next)), count_(std::move(count)) {}
  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    ++*count_;
    return next().RoundTrip(ctx, std::move(request));
  }

 private:
  std::shared_ptr<std::atomic<int>> count_;
};

ClientOptions Counting(const std::shared_ptr<std::atomic<int>>& count) {
  ClientOptions options;
  options.wrap_transport = [count](std::shared_ptr<Transport> next) { return std::make_shared<Counter>(std::move(next), count); };
  return options;
}

// A line of `kubectl api-resources`: NAME SHORTNAMES APIVERSION NAMESPACED KIND, of which the second may be missing.
struct Line {
  RestMapping mapping;
  std::vector<std::string> short_names;
};

std::vector<Line> ParseLines(const std::string& text) {
  std::vector<Line> lines;
  std::istringstream in(text);
  for (std::string row; std::getline(in, row);) {
    std::istringstream words(row);
    std::vector<std::string> w{std::istream_iterator<std::string>(words), {}};
    if (w.size() < 4) continue;
    const std::size_t n = w.size();
    const GroupVersion gv = GroupVersion::Parse(w[n - 3]).value();
    Line line{{gv.WithResource(w[0]), gv.WithKind(w[n - 1]), w[n - 2] == "true"}, {}};
    if (n == 5) {
      std::istringstream names(w[1]);
      for (std::string name; std::getline(names, name, ',');) line.short_names.push_back(name);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string Text(const RestMapping& m) { return m.gvr.ToString() + " " + m.gvk.ToString() + (m.namespaced ? " namespaced" : " cluster"); }
std::string Text(const Result<RestMapping>& m) { return m ? Text(*m) : m.error().ToString(); }

std::set<std::string> PreferredOf(const ServerApis& apis) {
  std::set<std::string> out;
  for (const ApiResourceList& list : apis.Preferred([](const ApiResource& r) { return !r.verbs.empty(); })) {
    for (const ApiResource& r : list.resources) {
      out.insert(Text(RestMapping{r.gvr(), list.group_version.WithKind(r.gvk.kind), r.namespaced}));
    }
  }
  return out;
}

TEST_P(Contract13Server, EveryResourceThatKubectlShowsIsMappedAlike) {
  if (server_.kubectl.empty()) GTEST_SKIP() << "no kubectl: make control-plane";
  const std::vector<Line> lines = ParseLines(Kubectl("api-resources --no-headers"));
  ASSERT_GT(lines.size(), 50u);
  const RestMapper mapper(NewClient(), {.warning_handler = [](const std::string&) {}});
  std::set<std::string> shown;
  for (const Line& line : lines) {
    const std::string wanted = Text(line.mapping);
    const std::string group = line.mapping.gvr.group.empty() ? "" : "." + line.mapping.gvr.group.str();
    const std::string version = group.empty() ? "" : "." + line.mapping.gvr.version.str();
    shown.insert(wanted);
    EXPECT_EQ(Text(mapper.ForKind(Patient(), line.mapping.gvk)), wanted);
    EXPECT_EQ(Text(mapper.ForKind(Patient(), line.mapping.gvk.group_kind())), wanted);
    EXPECT_EQ(Text(mapper.ForResource(Patient(), line.mapping.gvr)), wanted);
    EXPECT_EQ(Text(mapper.ForArgument(Patient(), line.mapping.gvr.resource.str() + version + group)), wanted);
    if (!group.empty()) {
      EXPECT_EQ(Text(mapper.ForArgument(Patient(), line.mapping.gvk.kind.str() + group)), wanted);
    }
    for (const std::string& name : line.short_names) EXPECT_EQ(Text(mapper.ForArgument(Patient(), name + group)), wanted) << name;
  }
  EXPECT_EQ(PreferredOf(*mapper.discovery().Apis(Patient()).value()), shown);
}

TEST_P(Contract13Server, ShortNamesMeanWhatTheyMeanToKubectl) {
  const RestMapper mapper(NewClient(), {.warning_handler = [](const std::string&) {}});
  const std::vector<std::pair<std::string, std::string>> cases = {{"po", "pods"},       {"svc", "services"},  {"ev", "events"},
                                                                  {"events", "events"}, {"cm", "configmaps"}, {"sa", "serviceaccounts"}};
  for (const auto& [text, resource] : cases) {
    EXPECT_EQ(mapper.ForArgument(Patient(), text).value().gvr, (Gvr{"", "v1", resource})) << text;
  }
  EXPECT_EQ(mapper.ForArgument(Patient(), "deploy").value().gvr, (Gvr{"apps", "v1", "deployments"}));
  EXPECT_EQ(mapper.ForArgument(Patient(), "ing").value().gvr, (Gvr{"networking.k8s.io", "v1", "ingresses"}));
  std::set<std::string> all;
  const std::vector<RestMapping> mappings = mapper.ForCategory(Patient(), "all").value();
  for (const RestMapping& m : mappings) all.insert(m.gvr.resource.str());
  EXPECT_EQ(all, (std::set<std::string>{"pods", "replicationcontrollers", "services", "daemonsets", "deployments", "replicasets",
                                        "statefulsets", "horizontalpodautoscalers", "cronjobs", "jobs"}));
  EXPECT_EQ(mapper.ForArgument(Patient(), "foo").error().message(), "the server doesn't have a resource type \"foo\"");
}

TEST_P(Contract13Server, TheOldFormOfDiscoverySaysTheSame) {
  const auto current = Discovery(NewClient()).Apis(Patient()).value();
  const auto legacy = Discovery(NewClient(), {.legacy = true}).Apis(Patient()).value();
  EXPECT_EQ(current->groups, legacy->groups);
  EXPECT_THAT(current->failures, IsEmpty());
  EXPECT_THAT(legacy->failures, IsEmpty());
  ASSERT_EQ(current->lists.size(), legacy->lists.size());
  for (const ApiResourceList& list : current->lists) {
    const ApiResourceList* other = legacy->Find(list.group_version);
    ASSERT_NE(other, nullptr);
    for (const ApiResource& r : list.resources) {
      const ApiResource* same = other->Find(r.name);
      ASSERT_NE(same, nullptr) << r.gvr().ToString();
      EXPECT_EQ(same->gvk.kind, r.gvk.kind) << r.gvr().ToString();
      EXPECT_EQ(same->verbs, r.verbs) << r.gvr().ToString();
      EXPECT_EQ(same->short_names, r.short_names) << r.gvr().ToString();
      EXPECT_EQ(same->namespaced, r.namespaced) << r.gvr().ToString();
      EXPECT_EQ(same->categories, r.categories) << r.gvr().ToString();
    }
  }
}

TEST_P(Contract13Server, TwoRequestsWhereTheServerHasTheAggregatedFormAndARefreshIsCheap) {
  auto count = std::make_shared<std::atomic<int>>(0);
  const Discovery discovery(NewClient(Counting(count)));
  const auto apis = discovery.Apis(Patient()).value();
  if (discovery.Version(Patient())->AtLeast(1, 27)) {
    EXPECT_EQ(*count, 3);  // and the version
    // Confirmed by its ETags: the very same.
    EXPECT_EQ(discovery.Refresh(Patient()).value(), apis);
    EXPECT_EQ(*count, 5);
  } else {
    EXPECT_EQ(*count, 3 + static_cast<int>(apis->lists.size()));
  }
}

TEST_P(Contract13Server, ServerVersion) {
  const ServerVersion version = Discovery(NewClient()).Version(Patient()).value();
  if (!server_.version.empty()) {
    EXPECT_EQ(version.git_version, server_.version);
  }
  EXPECT_TRUE(version.AtLeast(1, 26));
  EXPECT_FALSE(version.AtLeast(2, 0));
}

TEST_P(Contract13Server, OpenApiDocuments) {
  auto count = std::make_shared<std::atomic<int>>(0);
  const Discovery discovery(NewClient(Counting(count)));
  const auto document = discovery.OpenApi(Patient(), GroupVersion{"apps", "v1"}).value();
  const Value parsed = ParseJson(*document).value();
  EXPECT_TRUE(parsed["openapi"].string_value().view().starts_with("3."));
  EXPECT_NE(parsed["components"]["schemas"].Find("io.k8s.api.apps.v1.Deployment"), nullptr);
  EXPECT_EQ(discovery.OpenApi(Patient(), "apis/apps/v1").value(), document);
  EXPECT_EQ(*count, 2);
  EXPECT_TRUE(IsNotFound(discovery.OpenApi(Patient(), GroupVersion{"nobody", "v1"}).error()));
}

TEST_P(Contract13Server, FilesAreKubectlsAndKubectlReadsOurs) {
  if (server_.kubectl.empty()) GTEST_SKIP() << "no kubectl: make control-plane";
  // Theirs.
  const std::string shown = Kubectl("--cache-dir '" + dir() + "/theirs' api-resources --no-headers -v=6");
  EXPECT_THAT(ReadErrors(), HasSubstr("/apis"));  // it logs its requests
  auto count = std::make_shared<std::atomic<int>>(0);
  const Discovery reader(NewClient(Counting(count)), {.cache_dir = dir() + "/theirs/discovery"});
  const auto from_files = reader.Apis(Patient()).value();
  EXPECT_EQ(*count, 0);
  EXPECT_FALSE(reader.fresh());
  const auto from_server = Discovery(NewClient()).Apis(Patient()).value();
  EXPECT_EQ(from_files->groups, from_server->groups);
  EXPECT_EQ(PreferredOf(*from_files), PreferredOf(*from_server));
  // Ours.
  ASSERT_TRUE(Discovery(NewClient(), {.cache_dir = dir() + "/ours/discovery"}).Apis(Patient()));
  EXPECT_EQ(Kubectl("--cache-dir '" + dir() + "/ours' api-resources --no-headers --cached -v=6"), shown);
  EXPECT_THAT(ReadErrors(), Not(HasSubstr("/apis")));
}

DynamicObject Crd(const std::string& plural, const std::string& kind) {
  return DynamicObject::Parse(
             R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":")" + plural +
             R"(.discovery.example.com"},"spec":{"group":"discovery.example.com","scope":"Namespaced","names":{"plural":")" + plural +
             R"(","singular":"thing-of-)" + plural + R"(","kind":")" + kind + R"(","shortNames":["x)" + plural +
             R"("]},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",)"
             R"("x-kubernetes-preserve-unknown-fields":true}}}]}})")
      .value();
}

TEST_P(Contract13Server, ANewCrdIsNoticed) {
  const Client client = NewClient();
  // A real server takes a moment until a new kind is in its discovery: so long the mapper is asked again, without its usual patience.
  const RestMapper mapper(client, {.refresh_interval = std::chrono::milliseconds(50)});
  ASSERT_TRUE(mapper.ForArgument(Patient(), "pods"));  // warm
  const auto crds = mapper.Resource(Patient(), {"apiextensions.k8s.io", "v1", "CustomResourceDefinition"}).value();
  for (const auto& [plural, kind] : {std::pair("gadgets", "Gadget"), std::pair("widgets", "Widget")}) {
    const Gvk gvk{"discovery.example.com", "v1", kind};
    EXPECT_TRUE(IsNoMatch(mapper.ForKind(Patient(), gvk).error()));
    ASSERT_TRUE(crds.Create(Patient(), Crd(plural, kind)));
    const Context limit = Patient();
    Result<RestMapping> mapping = mapper.ForKind(limit, gvk);
    // No match, or, if the group is known and its resources are not yet, a discovery that failed in part.
    while (!mapping && limit.SleepFor(std::chrono::milliseconds(60))) mapping = mapper.ForKind(limit, gvk);
    ASSERT_TRUE(mapping) << mapping.error().ToString();
    EXPECT_EQ(mapping->gvr, (Gvr{"discovery.example.com", "v1", plural}));
    EXPECT_EQ(mapper.ForArgument(limit, std::string("x") + plural).value(), *mapping);
    EXPECT_EQ(mapper.ForArgument(limit, kind).value(), *mapping);
    EXPECT_EQ(ResourceFor(limit, client, gvk)->gvr(), mapping->gvr);
    const auto things = mapper.Resource(limit, gvk).value();
    EXPECT_EQ(things.Create(limit, DynamicObject(gvk, {"default", "one"}))->name(), "one");
  }
  for (const char* plural : {"gadgets", "widgets"}) {
    EXPECT_TRUE(crds.Delete(Patient(), {"", std::string(plural) + ".discovery.example.com"}));
  }
}

TEST_P(Contract13Server, ScaleOfADeployment) {
  const Client client = NewClient();
  const RestMapper mapper(client);
  const auto deployment = FromJson<apps::v1::Deployment>(
      R"({"metadata":{"name":"scaled","namespace":"default"},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"scaled"}},)"
      R"("template":{"metadata":{"labels":{"app":"scaled"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  ASSERT_TRUE(client.Create(Patient(), *deployment));
  const GroupResource deployments{"apps", "deployments"};
  autoscaling::v1::Scale scale = GetScale(Patient(), mapper, deployments, {"default", "scaled"}).value();
  EXPECT_EQ(scale.spec.replicas, 2);
  EXPECT_EQ(scale.status.selector, "app=scaled");
  scale.spec.replicas = 5;
  EXPECT_EQ(UpdateScale(Patient(), mapper, deployments, scale)->spec.replicas, 5);
  EXPECT_TRUE(IsConflict(UpdateScale(Patient(), mapper, deployments, scale).error()));
  EXPECT_EQ(PatchScale(Patient(), client, {"apps", "v1", "deployments"}, {"default", "scaled"}, Patch::Merge(R"({"spec":{"replicas":7}})"))
                ->spec.replicas,
            7);
  EXPECT_EQ(client.Get<apps::v1::Deployment>(Patient(), {"default", "scaled"})->spec.replicas.value_or(0), 7);
  EXPECT_TRUE(IsNotFound(GetScale(Patient(), mapper, deployments, {"default", "none"}).error()));
  EXPECT_TRUE(client.Delete<apps::v1::Deployment>(Patient(), {"default", "scaled"}));
}

}  // namespace
}  // namespace kube
