// Getting and listing: pages, versions, selectors.
#include "contract.h"
#include "texts.h"

namespace kube::contract {
namespace {

class GetListContract : public ContractTest {
 protected:
  // Config maps of these names with the label n=<number>.
  std::vector<Answer> Make(const std::vector<std::string>& names) {
    std::vector<Answer> made;
    for (std::size_t i = 0; i < names.size(); ++i) {
      made.push_back(Post(kConfigMaps, ConfigMapJson(names[i], R"({"n":")" + std::to_string(i) + R"("})")));
      EXPECT_CODE(made.back(), 201);
    }
    return made;
  }
  static std::string Names(const Answer& list) {
    std::string out;
    for (const Value& item : list.body["items"].list()) {
      if (!out.empty()) out += " ";
      out += item["metadata"]["name"].string_value().view();
    }
    return out;
  }
  std::string NamesOf(const std::string& query) {
    Answer list = Get(std::string(kConfigMaps) + "?" + query);
    EXPECT_CODE(list, 200);
    return Names(list);
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GetListContract);
INSTANTIATE_TEST_SUITE_P(Servers, GetListContract, ::testing::ValuesIn(ServersToTest()), TestParamName);

TEST_P(GetListContract, MissingObjectIsNotFound) {
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "/nope"), R"(
code: 404
details:
  kind: configmaps
  name: nope
message: configmaps "nope" not found
reason: NotFound
)");
  EXPECT_STATUS(Get(std::string(kDeployments) + "/nope"), R"(
code: 404
details:
  group: apps
  kind: deployments
  name: nope
message: deployments.apps "nope" not found
reason: NotFound
)");
  EXPECT_STATUS(Get("/api/v1/namespaces/no-{id}"), R"(
code: 404
details:
  kind: namespaces
  name: no-{id}
message: namespaces "no-{id}" not found
reason: NotFound
)");
}

TEST_P(GetListContract, ObjectInAMissingNamespaceIsNotFound) {
  EXPECT_STATUS(Get("/api/v1/namespaces/no-{id}/configmaps/a"), R"(
code: 404
details:
  kind: configmaps
  name: a
message: configmaps "a" not found
reason: NotFound
)");
}

TEST_P(GetListContract, UnknownResourceIsNoPage) {
  EXPECT_STATUS(Get("/api/v1/namespaces/{ns}/gadgets/a"), R"(
code: 404
details: {}
message: the server could not find the requested resource
reason: NotFound
)");
  EXPECT_STATUS(Get("/apis/apps/v1/gadgets"), R"(
code: 404
details: {}
message: the server could not find the requested resource
reason: NotFound
)");
  EXPECT_STATUS(Get("/api/v1/namespaces/{ns}/configmaps/a/nothing"), R"(
code: 404
details: {}
message: the server could not find the requested resource
reason: NotFound
)");
}

TEST_P(GetListContract, UnknownGroupAndVersionAreNoPages) {
  Answer group = Get("/apis/nothing.example.com/v1/things");
  EXPECT_CODE(group, 404);
  EXPECT_EQ(group.raw.body, "404 page not found\n");
  EXPECT_EQ(group.Header("content-type"), "text/plain; charset=utf-8");
  Answer version = Get("/apis/apps/v7/deployments");
  EXPECT_STATUS(version, R"(
code: 404
details: {}
message: the server could not find the requested resource
reason: NotFound
)");
}

TEST_P(GetListContract, EmptyListHasItems) {
  EXPECT_BODY(Get(kConfigMaps), 200, R"(
apiVersion: v1
items: []
kind: ConfigMapList
metadata:
  resourceVersion: RV
)");
}

TEST_P(GetListContract, ListOfAMissingNamespaceIsEmpty) {
  EXPECT_BODY(Get("/api/v1/namespaces/no-{id}/configmaps"), 200, R"(
apiVersion: v1
items: []
kind: ConfigMapList
metadata:
  resourceVersion: RV
)");
}

TEST_P(GetListContract, ItemsHaveNoKindAndAreSortedByName) {
  Make({"b", "c", "a"});
  EXPECT_BODY(Get(kConfigMaps), 200, R"(
apiVersion: v1
items:
- data:
    k: v
  metadata:
    creationTimestamp: TIME
    labels:
      "n": "2"
    name: a
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
- data:
    k: v
  metadata:
    creationTimestamp: TIME
    labels:
      "n": "0"
    name: b
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
- data:
    k: v
  metadata:
    creationTimestamp: TIME
    labels:
      "n": "1"
    name: c
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
kind: ConfigMapList
metadata:
  resourceVersion: RV
)");
}

TEST_P(GetListContract, ListOfAllNamespacesHasThoseOfOne) {
  Make({"a", "b"});
  Answer list = Get("/api/v1/configmaps?fieldSelector=metadata.namespace={ns}");
  EXPECT_CODE(list, 200);
  EXPECT_EQ(Names(list), "a b");
}

TEST_P(GetListContract, PagesContinueWhereTheLastEnded) {
  Make({"a", "b", "c", "d", "e"});
  Answer first = Get(std::string(kConfigMaps) + "?limit=2");
  EXPECT_VALUE(first.body["metadata"], R"(
continue: CONTINUE
remainingItemCount: 3
resourceVersion: RV
)");
  EXPECT_EQ(Names(first), "a b");
  // What is made meanwhile is not in the pages to come.
  EXPECT_CODE(Post(kConfigMaps, ConfigMapJson("c2")), 201);
  Answer second = Get(std::string(kConfigMaps) + "?limit=2&continue=" + first.body["metadata"]["continue"].string_value().str());
  EXPECT_VALUE(second.body["metadata"], R"(
continue: CONTINUE
remainingItemCount: 1
resourceVersion: RV
)");
  EXPECT_EQ(Names(second), "c d");
  EXPECT_EQ(second.rv(), first.rv());
  Answer last = Get(std::string(kConfigMaps) + "?limit=2&continue=" + second.body["metadata"]["continue"].string_value().str());
  EXPECT_VALUE(last.body["metadata"], R"(
resourceVersion: RV
)");
  EXPECT_EQ(Names(last), "e");
}

TEST_P(GetListContract, LimitLargerThanTheListNeedsNoContinue) {
  Make({"a", "b"});
  Answer list = Get(std::string(kConfigMaps) + "?limit=2");
  EXPECT_EQ(Names(list), "a b");
  EXPECT_VALUE(list.body["metadata"], R"(
resourceVersion: RV
)");
}

TEST_P(GetListContract, PagesWithASelectorCountNothing) {
  Make({"a", "b", "c"});
  Answer list = Get(std::string(kConfigMaps) + "?limit=1&labelSelector=n");
  EXPECT_EQ(Names(list), "a");
  EXPECT_VALUE(list.body["metadata"], R"(
continue: CONTINUE
resourceVersion: RV
)");
}

TEST_P(GetListContract, BrokenContinueIsRefused) {
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?limit=2&continue=nonsense"), R"(
code: 400
message: 'invalid continue token: continue key is not valid: invalid character ''\u009e'' looking for beginning of value'
reason: BadRequest
)");
}

TEST_P(GetListContract, ContinueAndResourceVersionExcludeEachOther) {
  Make({"a", "b"});
  const std::string token = Get(std::string(kConfigMaps) + "?limit=1").body["metadata"]["continue"].string_value().str();
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?limit=1&resourceVersion=5&continue=" + token), R"(
code: 400
message: specifying resource version is not allowed when using continue
reason: BadRequest
)");
}

TEST_P(GetListContract, ContinueAfterCompactionIsExpired) {
  Make({"a", "b", "c"});
  std::string token = Get(std::string(kConfigMaps) + "?limit=1").body["metadata"]["continue"].string_value().str();
  Make({"d", "e"});
  Result<void> compacted = server().compact();
  ASSERT_TRUE(compacted) << compacted.error().ToString();
  // A real server of today goes on from a copy in memory for minutes after its etcd forgot. Version 2 was before there was any copy.
  if (!server().embedded()) token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Miwic3RhcnQiOiIvYVx1MDAwMCJ9";
  Answer expired = Get(std::string(kConfigMaps) + "?limit=1&continue=" + token);
  EXPECT_CODE(expired, 410);
  EXPECT_VALUE(expired.body, R"(
apiVersion: v1
code: 410
kind: Status
message: The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.
metadata:
  continue: CONTINUE
reason: Expired
status: Failure
)");
  // The new token continues at the present version.
  Answer rest = Get(std::string(kConfigMaps) + "?continue=" + expired.body["metadata"]["continue"].string_value().str());
  EXPECT_CODE(rest, 200);
  EXPECT_EQ(Names(rest), "b c d e");
}

TEST_P(GetListContract, ExactVersionShowsThePast) {
  std::vector<Answer> made = Make({"a", "b"});
  Make({"c"});
  EXPECT_EQ(NamesOf("resourceVersion=" + made[1].rv() + "&resourceVersionMatch=Exact"), "a b");
  // From 1.26's cache they come in any order.
  for (const char* match : {"&resourceVersionMatch=NotOlderThan", ""}) {
    Answer list = Get(std::string(kConfigMaps) + "?resourceVersion=" + made[1].rv() + match);
    if (server().oldest()) {
      EXPECT_EQ(list.body["items"].list().size(), 3U) << list.raw.body;
    } else {
      EXPECT_EQ(Names(list), "a b c");
    }
  }
  EXPECT_EQ(NamesOf("resourceVersion=" + made[1].rv() + "&limit=5"), "a b");
}

TEST_P(GetListContract, VersionZeroTakesWhatIsAtHand) {
  Make({"a", "b"});
  GetUntil(std::string(kConfigMaps) + "?resourceVersion=0", [](const Answer& a) { return Names(a) == "a b"; });
}

TEST_P(GetListContract, VersionMatchNeedsAVersion) {
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?resourceVersionMatch=Exact"), R"(
code: 422
details:
  causes:
  - field: resourceVersionMatch
    message: 'Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided'
    reason: FieldValueForbidden
  group: meta.k8s.io
  kind: ListOptions
message: <of the causes>
reason: Invalid
)");
}

TEST_P(GetListContract, ExactMatchOfVersionZeroIsRefused) {
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?resourceVersion=0&resourceVersionMatch=Exact"), R"(
code: 422
details:
  causes:
  - field: resourceVersionMatch
    message: 'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
    reason: FieldValueForbidden
  group: meta.k8s.io
  kind: ListOptions
message: <of the causes>
reason: Invalid
)");
}

TEST_P(GetListContract, UnknownVersionMatchIsRefused) {
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?resourceVersion=1&resourceVersionMatch=Perhaps"), R"(
code: 422
details:
  causes:
  - field: resourceVersionMatch
    message: 'Unsupported value: "Perhaps": supported values: "Exact", "NotOlderThan", ""'
    reason: FieldValueNotSupported
  group: meta.k8s.io
  kind: ListOptions
message: <of the causes>
reason: Invalid
)");
}

TEST_P(GetListContract, BrokenVersionIsRefused) {
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?resourceVersion=abc"), R"(
code: 400
message: 'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
reason: BadRequest
)");
}

TEST_P(GetListContract, VersionOfTheFutureTimesOut) {
  Answer list = Get(std::string(kConfigMaps) + "?resourceVersion=99999999");
  EXPECT_CODE(list, 504);
  EXPECT_VALUE(list.body["details"], R"(
causes:
- message: Too large resource version
  reason: ResourceVersionTooLarge
retryAfterSeconds: 1
)");
  EXPECT_EQ(list.body["reason"], Value("Timeout"));
  EXPECT_EQ(list.body["message"].string_value().view().substr(0, 54), "Timeout: Too large resource version: 99999999, current");
}

TEST_P(GetListContract, GetAtAVersionIsNotOlder) {
  std::vector<Answer> made = Make({"a"});
  EXPECT_EQ(Get(std::string(kConfigMaps) + "/a?resourceVersion=" + made[0].rv()).body, made[0].body);
  GetUntil(std::string(kConfigMaps) + "/a?resourceVersion=0", [&](const Answer& a) { return a.body == made[0].body; });
}

TEST_P(GetListContract, BrokenLimitAndTimeoutAreRefused) {
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?limit=many"), R"(
code: 400
message: 'strconv.ParseInt: parsing "many": invalid syntax'
reason: BadRequest
)");
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?timeoutSeconds=long"), R"(
code: 400
message: 'strconv.ParseInt: parsing "long": invalid syntax'
reason: BadRequest
)");
}

TEST_P(GetListContract, UnknownParametersAreIgnored) { EXPECT_CODE(Get(std::string(kConfigMaps) + "?whatever=1"), 200); }

TEST_P(GetListContract, LabelSelectorsSelect) {
  EXPECT_CODE(Post(kConfigMaps, ConfigMapJson("a", R"({"app":"web","tier":"front"})")), 201);
  EXPECT_CODE(Post(kConfigMaps, ConfigMapJson("b", R"({"app":"web","tier":"back"})")), 201);
  EXPECT_CODE(Post(kConfigMaps, ConfigMapJson("c", R"({"app":"db"})")), 201);
  EXPECT_CODE(Post(kConfigMaps, ConfigMapJson("d", R"({"app":""})")), 201);
  const std::pair<const char*, const char*> cases[] = {
      {"app=web", "a b"},
      {"app==web,tier=back", "b"},
      {"app!=web", "c d"},
      {"tier!=front", "b c d"},
      {"app+in+(web,db)", "a b c"},
      {"app+notin+(web)", "c d"},
      {"tier", "a b"},
      {"!tier", "c d"},
      {"app=", "d"},
      {"tier,app+in+(web),tier+notin+(back)", "a"},
      {"none", ""},
  };
  for (const auto& [selector, names] : cases) EXPECT_EQ(NamesOf(std::string("labelSelector=") + selector), names) << selector;
}

TEST_P(GetListContract, NumbersCompareInLabelSelectors) {
  Make({"a", "b", "c"});
  EXPECT_EQ(NamesOf("labelSelector=n>0"), "b c");
  EXPECT_EQ(NamesOf("labelSelector=n<1"), "a");
}

TEST_P(GetListContract, BrokenLabelSelectorsAreRefused) {
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?labelSelector=a+in+b"), R"(
code: 400
message: 'unable to parse requirement: found ''b'' expected: ''('''
reason: BadRequest
)");
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?labelSelector=-bad=x"), R"(
code: 400
message: 'unable to parse requirement: <nil>: Invalid value: "-bad": <not a qualified name>'
reason: BadRequest
)");
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?labelSelector=a=b=c"), R"(
code: 400
message: 'found ''='', expected: '','' or ''end of string'''
reason: BadRequest
)");
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?labelSelector=a>x"), R"(
code: 400
message: 'unable to parse requirement: values[0]: Invalid value: "x": for ''Gt'', ''Lt'' operators, the value must be an integer'
reason: BadRequest
)");
}

TEST_P(GetListContract, FieldSelectorsSelect) {
  Make({"a", "b"});
  EXPECT_EQ(NamesOf("fieldSelector=metadata.name=b"), "b");
  EXPECT_EQ(NamesOf("fieldSelector=metadata.name!=b"), "a");
  EXPECT_EQ(NamesOf("fieldSelector=metadata.name=a,metadata.name=b"), "");
  EXPECT_EQ(NamesOf("fieldSelector=metadata.name=a&labelSelector=n=0"), "a");
}

TEST_P(GetListContract, PodsAreSelectedByNodeAndPhase) {
  EXPECT_CODE(Post(kPods, kPodA), 201);
  const std::string pods = kPods;
  EXPECT_EQ(Names(Get(pods + "?fieldSelector=status.phase=Pending")), "a");
  EXPECT_EQ(Names(Get(pods + "?fieldSelector=status.phase=Running")), "");
  EXPECT_EQ(Names(Get(pods + "?fieldSelector=spec.nodeName=")), "a");
  EXPECT_EQ(Names(Get(pods + "?fieldSelector=spec.restartPolicy=Always,spec.schedulerName=default-scheduler")), "a");
}

TEST_P(GetListContract, EventsAreSelectedInBothGroupsHoweverTheyWereWritten) {
  EXPECT_CODE(Post("/api/v1/namespaces/{ns}/events", R"(
apiVersion: v1
kind: Event
metadata: {name: core, namespace: "{ns}"}
involvedObject: {kind: Pod, namespace: "{ns}", name: p}
reportingComponent: example.com/c
)"),
              201);
  EXPECT_CODE(Post("/apis/events.k8s.io/v1/namespaces/{ns}/events", R"(
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: new, namespace: "{ns}"}
eventTime: "2024-01-02T03:04:05.000000Z"
regarding: {kind: Pod, namespace: "{ns}", name: p}
reportingController: example.com/c
reportingInstance: c-1
action: Run
reason: Why
type: Normal
)"),
              201);
  const std::string core = "/api/v1/namespaces/{ns}/events?fieldSelector=",
                    events = "/apis/events.k8s.io/v1/namespaces/{ns}/events?fieldSelector=";
  EXPECT_EQ(Names(Get(core + "involvedObject.name=p,involvedObject.kind=Pod")), "core new");
  EXPECT_EQ(Names(Get(core + "reportingComponent=example.com/c")), "core new");
  EXPECT_EQ(Names(Get(core + "involvedObject.name=q")), "");
  EXPECT_EQ(Names(Get(events + "regarding.name=p,regarding.kind=Pod")), "core new");
  EXPECT_EQ(Names(Get(events + "reportingController=example.com/c")), "core new");
}

TEST_P(GetListContract, UnknownFieldsAreNotSelectable) {
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?fieldSelector=data.k=v"), R"(
code: 400
message: '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"'
reason: BadRequest
)");
  EXPECT_STATUS(Get(std::string(kPods) + "?fieldSelector=spec.priority=0"), R"(
code: 400
message: 'field label not supported: spec.priority'
reason: BadRequest
)");
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?fieldSelector=metadata.name"), R"(
code: 400
message: 'invalid selector: ''metadata.name''; can''t understand ''metadata.name'''
reason: BadRequest
)");
}

TEST_P(GetListContract, HeadIsNotAllowed) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  Answer head = Call({.method = "HEAD", .url = std::string(kConfigMaps) + "/a"});
  EXPECT_EQ(head.code, 405);
  EXPECT_EQ(head.raw.body, "");
}

TEST_P(GetListContract, ListVersionGrowsWithEveryWrite) {
  Answer before = Get(kConfigMaps);
  std::vector<Answer> made = Make({"a"});
  Answer after = Get(kConfigMaps);
  EXPECT_GT(std::stoll(made[0].rv()), std::stoll(before.rv()));
  EXPECT_GE(std::stoll(after.rv()), std::stoll(made[0].rv()));
}

}  // namespace
}  // namespace kube::contract
