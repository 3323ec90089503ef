// Any bytes as the body of a write: a ConfigMap, a Deployment or a custom object is created, updated, patched or applied with them. The
// first two bytes say what and how. Whatever comes, the answer is an object or an error of the API, and what is stored can be read.
#include <memory>
#include <string>
#include <string_view>

#include "apiserver/core.h"
#include "apiserver/crd.h"
#include "apiserver/encoder.h"
#include "apiserver/object_meta.h"
#include "kube/codec/json.h"
#include "require.h"

namespace {

namespace apiserver = kube::apiserver;
using kube::fuzz::Require;

struct Kind {
  const char *group, *plural, *object;
};
constexpr Kind kKinds[] = {
    {"", "configmaps",
     R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"k":"v"},"finalizers":["x/y"]},"data":{"k":"v"}})"},
    {"apps", "deployments",
     R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"k":"v"}},"template":{
        "metadata":{"labels":{"k":"v"}},"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"e","value":"1"}]}]}}}})"},
    {"example.com", "carts", R"({"apiVersion":"example.com/v1","kind":"Cart","metadata":{"name":"a"},"spec":{"size":1,"items":["x"]}})"},
};
constexpr const char* kCrd = R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
  "metadata":{"name":"carts.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
  "names":{"plural":"carts","singular":"cart","kind":"Cart","listKind":"CartList"},
  "versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object",
  "properties":{"spec":{"type":"object","properties":{"size":{"type":"integer","default":3},"mode":{"type":"string","enum":["a","b"]},
  "items":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
  "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}}}]}})";

// One for all inputs: making one takes longer than a write.
struct Server {
  apiserver::ApiCore core{kube::Clock::Real(), false};
  apiserver::CrdController crds{core};

  Server() {
    Create("", "namespaces", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"x"}})");
    Create("apiextensions.k8s.io", "customresourcedefinitions", kCrd);
  }
  apiserver::Call CallFor(const char* group, const char* plural, std::string_view body) {
    std::shared_ptr<const apiserver::Resources> resources = core.registry().current();
    apiserver::ResourcePtr resource = resources->Find(group, "v1", plural);
    Require(resource != nullptr, "the resource is served");
    apiserver::Call call{.resources = resources, .resource = resource, .query = {}, .user = {.name = "f", .uid = "", .groups = {}}};
    if (resource->namespaced) call.ns = "x";
    call.user_agent = "fuzz/1";
    call.body = body;
    return call;
  }
  void Create(const char* group, const char* plural, std::string_view body) {
    apiserver::Call call = CallFor(group, plural, body);
    Require(core.Create(call).ok(), "the first objects are good");
  }
};

void CheckAnswer(const apiserver::Call& call, const kube::Result<apiserver::Answer>& answer) {
  if (!answer) {
    const kube::Error& error = answer.error();
    Require(error.kind() == kube::ErrorKind::kApi && error.http_code() >= 400 && error.http_code() < 600, "an error of the API");
    Require(!kube::ToJson(apiserver::ToStatus(error)).empty(), "an error is a Status");
    return;
  }
  Require(answer->status == 200 || answer->status == 201, "it went well");
  if (answer->stored) {
    const kube::Value value = answer->stored->Parse();
    Require(!apiserver::NameOf(value).empty() && apiserver::NamespaceOf(value) == call.ns, "it is what the request names");
    Require(value["metadata"]["resourceVersion"].string_value() == std::to_string(answer->stored->version), "it has its version");
    Require(value["metadata"]["uid"].string_value() == answer->stored->uid, "it has its UID");
  }
  for (auto encoding : {apiserver::Encoding::kJson, apiserver::Encoding::kYaml, apiserver::Encoding::kProtobuf}) {
    for (auto transform : {apiserver::Transform::kNone, apiserver::Transform::kTable, apiserver::Transform::kPartialMetadata}) {
      apiserver::AnswerForm form;
      form.encoding = encoding;
      form.transform = transform;
      apiserver::EncodeContext context{.resource = call.resource.get(), .form = form, .now = {}, .include_object = ""};
      Require(apiserver::EncodeAnswer(*answer, context).ok(), "it can be sent");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Server* const server = new Server();  // lives as long as the process
  if (size < 2) return 0;
  const Kind& kind = kKinds[data[0] % 3];
  int how = data[1] % 8;
  std::string_view body(reinterpret_cast<const char*>(data) + 2, size - 2);
  server->Create(kind.group, kind.plural, kind.object);
  apiserver::Call call = server->CallFor(kind.group, kind.plural, body);
  apiserver::ApiCore& core = server->core;
  constexpr const char* kTypes[] = {"application/json",
                                    "application/yaml",
                                    "application/vnd.kubernetes.protobuf",
                                    "application/json",
                                    "application/strategic-merge-patch+json",
                                    "application/merge-patch+json",
                                    "application/json-patch+json",
                                    "application/apply-patch+yaml"};
  call.content_type = kTypes[how];
  if (how >= 3) call.name = "a";
  if (how == 7) call.query = apiserver::Query::Parse("fieldManager=f&force=true");
  kube::Result<apiserver::Answer> answer = how < 3 ? core.Create(call) : how == 3 ? core.Update(call) : core.Patch(call);
  CheckAnswer(call, answer);
  const std::string& storage = call.resource->storage;
  for (const apiserver::ObjectPtr& object : core.store().List(storage, "").objects) {
    Require(core.store().Remove(storage, object, object->Parse()) != nullptr, "nobody else writes");
  }
  core.store().Compact();
  return 0;
}
