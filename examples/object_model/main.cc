// The code of docs/object-model.md. Each region between `// [name]` and `// [end]` stands there word for word, and runs here.
#include <kube/api/all.h>
#include <kube/api/apps/v1.h>
#include <kube/api/core/v1.h>
#include <kube/codec/diff.h>
#include <kube/codec/field_selection.h>
#include <kube/codec/footprint.h>
#include <kube/codec/hash.h>
#include <kube/codec/interner.h>
#include <kube/codec/json.h>
#include <kube/codec/patch.h>
#include <kube/codec/protobuf.h>
#include <kube/codec/yaml.h>
#include <kube/kind.h>
#include <kube/meta/dynamic_object.h>
#include <kube/meta/registry.h>

#include <cstddef>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

namespace {

int failures = 0;

void Check(bool condition, std::string_view what) {
  if (condition) return;
  ++failures;
  std::cout << "FAILED: " << what << '\n';
}

// [plain]
using kube::apps::v1::Deployment;
using kube::core::v1::Container;
using kube::core::v1::Pod;

Pod MakePod() {
  Pod pod;
  pod.metadata.name = "web";
  pod.metadata.namespace_ = "shop";
  pod.metadata.labels["app"] = "web";
  pod.spec.containers.push_back({.name = "web", .image = "example.com/web:1.4"});
  pod.spec.containers[0].ports.push_back({.name = "http", .container_port = 8080});
  return pod;
}
// [end]

void Optional() {
  // [optional]
  Deployment d;
  std::int32_t wanted = d.spec.replicas.value_or(1);  // std::optional: nobody said how many
  bool paused = d.spec.paused;                        // a plain bool: false is the same as absent

  Pod pod = MakePod();
  const Container& c = pod.spec.containers[0];
  bool root_allowed = !c.security_context->run_as_non_root.value_or(false);  // Box: fine where it is absent
  bool there = c.security_context.has_value();                               // and still absent after reading

  pod.spec.containers[0].security_context.Mutable().run_as_non_root = true;  // writing makes it present
  // [end]
  Check(wanted == 1 && !paused && root_allowed && !there, "absent fields read as defaults");
  Check(pod.spec.containers[0].security_context->run_as_non_root == true, "Mutable makes a Box present");
}

void Sharing() {
  // [sharing]
  const Pod original = MakePod();
  Pod copy = original;  // shares long strings and every list, map and box without a mutable reference
  copy.metadata.labels["app"] = "api";
  copy.spec.containers[0].image = "example.com/api:2.0";

  bool untouched = original.metadata.labels["app"] == "web" && original.spec.containers[0].image == "example.com/web:1.4";

  Container& web = copy.spec.containers[0];
  const Pod before = copy;
  web.image = "example.com/api:2.1";  // before.spec.containers[0].image is still 2.0
  // [end]
  Check(untouched, "a copy leaves the original alone");
  Check(before.spec.containers[0].image == "example.com/api:2.0", "a reference does not write into a copy");

  // [reading]
  Pod pod = MakePod();
  std::size_t ports = 0;
  for (const Container& c : std::as_const(pod.spec.containers)) ports += c.ports.size();
  // [end]
  Check(ports == 1, "reading by a const reference");
}

kube::Result<std::string> Codecs() {
  // [codecs]
  kube::Result<Deployment> d = kube::FromYaml<Deployment>(R"(
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 3
      template:
        spec:
          containers:
          - name: web
            image: example.com/web:1.4
  )");
  if (!d) return d.error();

  kube::Result<std::string> json = kube::ToJson(*d, {.indent = 2});
  kube::Result<std::string> bytes = kube::ToProtobuf(*d);  // with the envelope that servers want
  if (!bytes) return bytes.error();
  kube::Result<Deployment> back = kube::FromProtobuf<Deployment>(*bytes);
  bool same = back && *back == *d;
  // [end]
  Check(same, "protobuf gives the same object");
  return json;
}

void Errors() {
  // [errors]
  auto wrong = kube::FromJson<Pod>(R"({"spec": {"containers": [{"name": "web", "ports": [{"containerPort": "http"}]}]}})");
  std::string message = wrong.error().ToString();  // spec.containers[0].ports[0].containerPort: expected ...

  auto strict = kube::FromYaml<Pod>("spec: {conatiners: []}", {.strict = true});
  std::string typo = strict.error().ToString();  // strict decoding error: unknown field "spec.conatiners"
  // [end]
  Check(!wrong && message.find("spec.containers[0].ports[0].containerPort: expected") == 0, message);
  Check(!strict && typo.find("unknown field \"spec.conatiners\"") != std::string::npos, typo);
}

void Unknown() {
  // [unknown]
  auto pod = kube::FromJson<Pod>(R"({"metadata": {"name": "web"}, "spec": {"fieldOf2030": {"x": 1}}})");
  pod->metadata.labels["seen"] = "yes";
  std::string text = *kube::ToJson(*pod);  // has both the label and fieldOf2030
  // [end]
  Check(text.find(R"("fieldOf2030":{"x":1})") != std::string::npos, text);
}

void Values() {
  // [values]
  using kube::Quantity;
  Quantity limit = *Quantity::Parse("1.5Gi");
  Quantity used = *Quantity::Parse("512Mi") + *Quantity::Parse("1Gi");
  bool full = used == limit;             // by amount, exactly
  std::string shown = limit.ToString();  // canonical: 1536Mi

  kube::Time created = *kube::Time::Parse("2030-01-02T03:04:05Z");
  kube::Duration age = kube::Time::FromUnix(1893558845) - created;  // 1h30m0s
  kube::IntOrString port = "http";                                  // or 8080
  // [end]
  Check(full && shown == "1536Mi", "quantities");
  Check(age.ToString() == "1h30m0s", "durations");
  Check(port.is_string(), "a port's name");
}

void AnyKind(std::string_view text) {
  // [dynamic]
  kube::Result<kube::DynamicObject> cart = kube::DynamicObject::Parse(
      R"({"apiVersion": "shop.example.com/v1", "kind": "Cart", "metadata": {"name": "first"}, "spec": {"size": "small"}})");
  cart->set_label("tier", "front");
  (*cart)["spec"]["items"].MutableList().push_back("book-1");
  std::optional<kube::String> size = cart->NestedString({"spec", "size"});
  // [end]
  Check(size == "small" && kube::ToJson(*cart)->find("book-1") != std::string::npos, "a dynamic object");

  // [registry]
  kube::TypeRegistry registry;
  registry.Add(kube::api::AllKinds());  // or only those that you need: registry.Add<Pod, Deployment>();

  kube::Result<kube::Value> any = kube::ParseJson(text);
  const kube::TypeInfo* type = registry.Find(std::as_const(*any)["apiVersion"].string_value(), std::as_const(*any)["kind"].string_value());
  kube::AnyObject object(*type);
  kube::Result<void> read = kube::DecodeJson(*type, object.mutable_data(), text);
  if (const Pod* pod = object.As<Pod>()) std::cout << "a pod named " << pod->metadata.name << '\n';
  // [end]
  Check(read.ok() && object.As<Pod>() != nullptr, "an object whose type is known at run time");
}

void Changes() {
  // [changes]
  Deployment before;
  before.metadata.name = "web";
  before.spec.replicas = 1;
  before.spec.template_.spec.containers = {{.name = "web", .image = "web:1"}, {.name = "proxy", .image = "proxy:1"}};
  Deployment after = before;
  after.spec.replicas = 3;
  after.spec.template_.spec.containers[0].image = "web:2";

  std::cout << kube::ToString(kube::Diff(before, after));
  // ~ spec.replicas: 1 -> 3
  // ~ spec.template.spec.containers[name=web].image: "web:1" -> "web:2"

  kube::Result<kube::Value> patch = kube::CreateTwoWayMergePatch(before, after);  // what kubectl edit sends
  kube::Result<Deployment> patched = kube::ApplyStrategicMergePatch(before, kube::ToJson(*patch));
  bool same = *patched == after && kube::HashObject(*patched) == kube::HashObject(after);
  // [end]
  Check(same, "a patch leads from one to the other");
}

void Interning(std::string_view pod_bytes) {
  // [interner]
  kube::Interner interner;  // one per decoding thread
  kube::List<Pod> cache;
  for (int i = 0; i < 1000; ++i) cache.push_back(*kube::FromProtobuf<Pod>(pod_bytes, {.interner = &interner}));
  // [end]
  Check(interner.stats().hits > 0, "equal parts are shared");

  // [footprint]
  kube::Footprint memory;
  for (const Pod& pod : std::as_const(cache)) memory.Add(pod);
  bool shared = memory.real_bytes() < memory.logical_bytes();  // every block once; every block as often as it is referred to
  // [end]
  Check(shared, "shared parts count once");
}

void Selecting(std::string_view pod_bytes) {
  // [fields]
  kube::Result<kube::FieldSelection> fields = kube::FieldSelection::Without({"metadata.managedFields", "spec.containers.ports"});
  kube::Result<Pod> slim = kube::FromProtobuf<Pod>(pod_bytes, {.fields = &*fields});

  fields = kube::FieldSelection::Only({"spec.nodeName", "status.phase"});  // and apiVersion, kind, metadata
  kube::Result<Pod> slimmer = kube::FromProtobuf<Pod>(pod_bytes, {.fields = &*fields});
  // [end]
  Check(slim->spec.containers.size() == 1 && slim->spec.containers[0].ports.empty(), "what is left out is not there");
  Check(slimmer->metadata.name == "web" && slimmer->spec.containers.empty(), "what is not named is not there, but for metadata");
}

// [own]
// A kind of your own: structs, and in one source file their tables. Kind, shape and place of each field follow from the member.
struct CartItem {
  kube::String sku{};
  std::int32_t amount = 0;
  KUBE_TABLE(CartItem);
};
struct Cart {
  kube::meta::v1::ObjectMeta metadata{};
  kube::List<CartItem> items{};
  KUBE_TABLE(Cart);
};

KUBE_DEFINE_TABLE(CartItem, "shop.v1.CartItem", KUBE_FIELD(CartItem, sku), KUBE_FIELD(CartItem, amount));
KUBE_DEFINE_KIND(Cart, (.group = "shop.example.com", .version = "v1", .kind = "Cart", .resource = "carts", .namespaced = true),
                 KUBE_FIELD(Cart, metadata), KUBE_FIELD(Cart, items));
// [end]

void Own() {
  // [own-use]
  Cart cart{.items = {{.sku = "book-1", .amount = 2}}};
  cart.metadata.name = "first";
  std::string yaml = *kube::ToYaml(cart);
  // [end]
  Check(yaml.find("apiVersion: shop.example.com/v1\nitems:\n- amount: 2\n  sku: book-1\nkind: Cart\nmetadata:\n") == 0, yaml);
}

}  // namespace

int main() {
  Optional();
  Sharing();
  kube::Result<std::string> json = Codecs();
  Check(json.ok() && json->find("\"replicas\": 3") != std::string::npos, "JSON for people");
  Errors();
  Unknown();
  Values();
  Pod pod = MakePod();
  AnyKind(*kube::ToJson(pod));
  Changes();
  Interning(*kube::ToProtobuf(pod));
  Selecting(*kube::ToProtobuf(pod));
  Own();
  std::cout << (failures == 0 ? "all examples hold\n" : "some examples do not hold\n");
  return failures == 0 ? 0 : 1;
}
