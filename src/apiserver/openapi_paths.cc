#include "apiserver/openapi_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "apiserver/builtin/catalogue.h"
#include "kube/api/all.h"
#include "kube/api/autoscaling/v1.h"
#include "kube/api/core/v1.h"
#include "kube/meta/registry.h"
#include "kube/meta/v1.h"

namespace kube::apiserver {
namespace {

using Parameter = OpenApiParameter;
using Operation = OpenApiOperation;
using Parameters = std::vector<Parameter>;

constexpr std::string_view kJson = "application/json", kYaml = "application/yaml", kProtobuf = "application/vnd.kubernetes.protobuf";

std::vector<std::string> Strings(std::initializer_list<std::string_view> items) { return {items.begin(), items.end()}; }

const Parameter kPretty{"pretty", "query", "string"};
const Parameter kNamespace{"namespace", "path", "string"};
const Parameter kName{"name", "path", "string"};

const Parameters kWriteParameters = {
    {"dryRun", "query", "string"}, {"fieldManager", "query", "string"}, {"fieldValidation", "query", "string"}};
const Parameters kDeleteParameters = {{"dryRun", "query", "string"},
                                      {"gracePeriodSeconds", "query", "integer"},
                                      {"ignoreStoreReadErrorWithClusterBreakingPotential", "query", "boolean"},
                                      {"orphanDependents", "query", "boolean"},
                                      {"propagationPolicy", "query", "string"}};
const Parameters kSelectParameters = {{"continue", "query", "string"},           {"fieldSelector", "query", "string"},
                                      {"labelSelector", "query", "string"},      {"limit", "query", "integer"},
                                      {"resourceVersion", "query", "string"},    {"resourceVersionMatch", "query", "string"},
                                      {"sendInitialEvents", "query", "boolean"}, {"shardSelector", "query", "string"},
                                      {"timeoutSeconds", "query", "integer"}};
const Parameters kWatchParameters = {{"allowWatchBookmarks", "query", "boolean"}, {"watch", "query", "boolean"}};

void Append(Parameters& to, const Parameters& more) { to.insert(to.end(), more.begin(), more.end()); }

bool Before(const Parameter& a, const Parameter& b) { return std::tie(a.name, a.in) < std::tie(b.name, b.in); }
bool Same(const Parameter& a, const Parameter& b) { return a.name == b.name && a.in == b.in; }

Value ParameterOf(const Parameter& p, OpenApiForm form) {
  Value out = Value::Object({{"name", p.name}, {"in", p.in}});
  if (p.in == "path") out["required"] = true;
  Value type = Value::Object({{"type", p.type}, {"uniqueItems", true}});
  if (form == OpenApiForm::kV3) {
    out["schema"] = std::move(type);
  } else {
    for (const auto& [key, value] : type.object()) out[key] = value;
  }
  return out;
}

std::string_view TextOf(int code) { return code == 200 ? "OK" : code == 201 ? "Created" : code == 202 ? "Accepted" : "Unauthorized"; }

Value Texts(const std::vector<std::string>& items) {
  Value out = Value::Array();
  for (const std::string& item : items) out.MutableList().push_back(item);
  return out;
}

Value Content(const std::vector<std::string>& types, const Value& schema) {
  Value out = Value::Object();
  for (const std::string& type : types) out[type] = Value::Object({{"schema", schema}});
  return out;
}

Value OperationOf(const Operation& op, const Parameters& common, OpenApiForm form) {
  bool v3 = form == OpenApiForm::kV3;
  Value out = Value::Object({{"operationId", op.id}, {"tags", Value::Array({op.tag})}});
  Value responses = Value::Object();
  for (int code : op.codes) {
    Value& response = responses[std::to_string(code)];
    response = Value::Object({{"description", TextOf(code)}});
    if (op.answer.is_null()) continue;
    if (v3) {
      response["content"] = Content(op.produces, op.answer);
    } else {
      response["schema"] = op.answer;
    }
  }
  responses["401"] = Value::Object({{"description", TextOf(401)}});
  out["responses"] = std::move(responses);

  Value parameters = Value::Array();
  if (!op.body.is_null()) {
    if (v3) {
      Value body = Value::Object({{"content", Content(op.consumes, op.body)}});
      if (op.body_required) body["required"] = true;
      out["requestBody"] = std::move(body);
    } else {
      Value body = Value::Object({{"name", "body"}, {"in", "body"}, {"schema", op.body}});
      if (op.body_required) body["required"] = true;
      parameters.MutableList().push_back(std::move(body));
    }
  }
  for (const Parameter& p : op.parameters) {
    bool shared = std::any_of(common.begin(), common.end(), [&](const Parameter& c) { return Same(c, p); });
    if (!shared) parameters.MutableList().push_back(ParameterOf(p, form));
  }
  if (!std::as_const(parameters).list().empty()) out["parameters"] = std::move(parameters);
  if (!v3) {
    out["consumes"] = Texts(op.consumes);
    out["produces"] = Texts(op.produces);
    out["schemes"] = Value::Array({"https"});
  }
  if (!op.action.empty()) {
    out["x-kubernetes-action"] = op.action;
    out["x-kubernetes-group-version-kind"] = op.gvk;
  }
  return out;
}

Value GvkValue(std::string_view group, std::string_view version, std::string_view kind) {
  return Value::Object({{"group", group}, {"version", version}, {"kind", kind}});
}

const TypeInfo* ListTypeOf(const TypeInfo& type) {
  static const TypeRegistry registry = [] {
    TypeRegistry r = TypeRegistry::WithMetaKinds();
    r.Add(api::AllKinds());
    return r;
  }();
  return registry.FindListOf(type);
}

// The members of an options struct as parameters.
Parameters ParametersOf(const TypeInfo& options) {
  Parameters out;
  for (const FieldInfo& field : options) {
    const char* type = field.kind == FieldKind::kBool                                       ? "boolean"
                       : field.kind == FieldKind::kInt32 || field.kind == FieldKind::kInt64 ? "integer"
                                                                                            : "string";
    if (field.kind == FieldKind::kTime) continue;  // the real server cannot describe it as a parameter
    out.push_back({std::string(field.json_name), "query", type});
  }
  return out;
}

// Makes the operations of one resource.
class Builder {
 public:
  Builder(const ServedGroup& group, const ServedVersion& version, const ServedResource& r, Definitions& definitions)
      : r_(r), definitions_(definitions), root_(RootOf(group, version)), tag_(OpenApiGroupTag(group.name) + "_" + version.version) {
    id_group_ = Capitalized(OpenApiGroupTag(group.name)) + Capitalized(version.version);
    scope_ = r.namespaced ? "Namespaced" : "";
    produces_ = r.custom ? Strings({kJson, kYaml}) : Strings({kJson, kYaml, kProtobuf});
    consumes_ = r.custom ? Strings({kJson, kYaml}) : Strings({"*/*"});
    if (r.custom) {
      own_ = definitions.RefToCustom(r);
    } else {
      own_ = definitions.RefTo(*r.type);
    }
  }

  void AddTo(Value& paths) {
    std::string collection = root_ + (r_.namespaced ? "/namespaces/{namespace}/" : "/") + r_.resource;
    std::string item = collection + "/{name}";
    Put(paths, collection, Collection());
    if (r_.namespaced && r_.HasVerb("list")) {
      Operation all = List("ForAllNamespaces", "");
      std::erase_if(all.parameters, [](const Parameter& p) { return Same(p, kNamespace); });
      Put(paths, root_ + "/" + r_.resource, {all});
    }
    Put(paths, item, Item());
    for (const ServedSubresource& s : r_.subresources) AddSubresource(paths, item, s);
    if (!r_.custom && r_.HasVerb("watch")) AddWatches(paths);
  }

 private:
  void Put(Value& paths, const std::string& path, const std::vector<Operation>& operations) const {
    if (!operations.empty()) paths[path] = PathItem(operations, definitions_.form());
  }

  Operation New(std::string_view method, std::string_view verb, std::string_view action, std::string_view suffix = {}) const {
    Operation op;
    op.method = method;
    op.id = fmt::format("{}{}{}{}{}", verb, id_group_, scope_, r_.kind, suffix);
    op.tag = tag_;
    op.action = action;
    op.gvk = GvkValue(r_.group, r_.version, r_.kind);
    op.consumes = consumes_;
    op.produces = produces_;
    op.answer = own_;
    op.codes = {200};
    op.parameters = {kPretty};
    if (r_.namespaced) op.parameters.push_back(kNamespace);
    return op;
  }

  Value Status() const { return definitions_.RefTo(meta::v1::Status::kType); }

  Operation List(std::string_view suffix, std::string_view scope) {
    Operation op = New("get", "list", "list", suffix);
    op.id = fmt::format("list{}{}{}{}", id_group_, scope, r_.kind, suffix);
    Append(op.parameters, kSelectParameters);
    Append(op.parameters, kWatchParameters);
    if (r_.custom) {
      op.answer = definitions_.RefToCustomList(r_);
    } else {
      if (const TypeInfo* list = ListTypeOf(*r_.type)) op.answer = definitions_.RefTo(*list);
      op.produces.push_back(fmt::format("{};stream=watch", kJson));
      op.produces.push_back(fmt::format("{};stream=watch", kProtobuf));
    }
    return op;
  }

  std::vector<Operation> Collection() {
    std::vector<Operation> out;
    if (r_.HasVerb("list")) out.push_back(List("", scope_));
    if (r_.HasVerb("create")) out.push_back(Write("post", "create", "post", ""));
    if (r_.HasVerb("deletecollection")) {
      Operation op = New("delete", "delete", "deletecollection");
      op.id = fmt::format("delete{}Collection{}{}", id_group_, scope_, r_.kind);
      Append(op.parameters, kSelectParameters);
      if (r_.custom) {
        Append(op.parameters, kWatchParameters);
      } else {
        Append(op.parameters, kDeleteParameters);
        op.body = definitions_.RefTo(meta::v1::DeleteOptions::kType);
      }
      op.answer = Status();
      out.push_back(std::move(op));
    }
    return out;
  }

  Operation Write(std::string_view method, std::string_view verb, std::string_view action, std::string_view suffix) {
    Operation op = New(method, verb, action, suffix);
    Append(op.parameters, kWriteParameters);
    op.body = own_;
    op.body_required = true;
    op.codes = method == "post" ? std::vector<int>{200, 201, 202} : std::vector<int>{200, 201};
    if (method == "patch") {
      op.parameters.push_back({"force", "query", "boolean"});
      op.body = definitions_.RefTo("io.k8s.apimachinery.pkg.apis.meta.v1.Patch", Value::Object({{"type", "object"}}));
      op.consumes = Strings({"application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json",
                             "application/apply-patch+yaml"});
      if (r_.custom) {
        op.consumes.erase(op.consumes.begin() + 2);
        op.codes = {200};
      }
    }
    return op;
  }

  Operation Read(std::string_view suffix) {
    Operation op = New("get", "read", "get", suffix);
    if (r_.custom) op.parameters.push_back({"resourceVersion", "query", "string"});
    return op;
  }

  std::vector<Operation> Item() {
    std::vector<Operation> out;
    if (r_.HasVerb("get")) out.push_back(Read(""));
    if (r_.HasVerb("update")) out.push_back(Write("put", "replace", "put", ""));
    if (r_.HasVerb("patch")) out.push_back(Write("patch", "patch", "patch", ""));
    if (r_.HasVerb("delete")) {
      Operation op = New("delete", "delete", "delete");
      Append(op.parameters, kDeleteParameters);
      op.body = definitions_.RefTo(meta::v1::DeleteOptions::kType);
      op.codes = {200, 202};
      // Deleting a namespace returns it while it is terminating; the real server's document does not say so.
      if (!r_.returns_deleted || r_.resource == "namespaces") op.answer = Status();
      out.push_back(std::move(op));
    }
    for (Operation& op : out) op.parameters.push_back(kName);
    return out;
  }

  void AddSubresource(Value& paths, const std::string& item, const ServedSubresource& s) {
    std::string suffix = Capitalized(s.name);
    const TypeInfo* type = nullptr;
    if (r_.custom) {
      if (s.name == "scale") type = &autoscaling::v1::Scale::kType;
    } else if (const BuiltinSubresource* b = r_.builtin->Subresource(s.name)) {
      type = b->type;
    }
    bool connects = s.kind.size() > 7 && s.kind.substr(s.kind.size() - 7) == "Options";
    if (connects) return AddConnects(paths, item, s, type);

    Value reference = type != nullptr ? definitions_.RefTo(*type) : own_;
    std::vector<Operation> out;
    auto has = [&](std::string_view verb) { return std::find(s.verbs.begin(), s.verbs.end(), verb) != s.verbs.end(); };
    if (has("get")) out.push_back(Read(suffix));
    if (has("update")) out.push_back(Write("put", "replace", "put", suffix));
    if (has("patch")) out.push_back(Write("patch", "patch", "patch", suffix));
    if (has("create")) out.push_back(Write("post", "create", "post", suffix));
    for (Operation& op : out) {
      op.parameters.push_back(kName);
      op.answer = reference;
      if (op.method == "put" || op.method == "post") op.body = reference;
      if (!r_.custom) op.gvk = GvkValue(s.group.empty() ? r_.group : s.group, s.version.empty() ? r_.version : s.version, s.kind);
    }
    if (s.name == "log" && r_.kind == "Pod") {
      Operation& op = out.front();
      op.answer = Value::Object({{"type", "string"}});
      op.produces.insert(op.produces.begin(), "text/plain");
      for (const Parameter& p : ParametersOf(core::v1::PodLogOptions::kType)) op.parameters.push_back(p);
    }
    Put(paths, item + "/" + s.name, out);
  }

  // exec, attach, portforward and proxy: streams, whose options are parameters.
  void AddConnects(Value& paths, const std::string& item, const ServedSubresource& s, const TypeInfo* options) {
    bool proxy = s.name == "proxy";
    std::vector<std::string_view> methods = {"get", "post"};
    if (proxy) methods = {"get", "post", "put", "patch", "delete", "head", "options"};
    for (bool with_path : {false, true}) {
      if (with_path && !proxy) break;
      std::vector<Operation> out;
      for (std::string_view method : methods) {
        Operation op = New(method, "connect", "connect");
        op.id = fmt::format("connect{}{}{}{}{}{}", id_group_, Capitalized(method), scope_, r_.kind, Capitalized(s.name),
                            with_path ? "WithPath" : "");
        op.parameters = {kName};
        if (r_.namespaced) op.parameters.push_back(kNamespace);
        if (with_path) op.parameters.push_back({"path", "path", "string"});
        if (options != nullptr) Append(op.parameters, ParametersOf(*options));
        op.gvk = GvkValue(r_.group, r_.version, s.kind);
        op.produces = Strings({"*/*"});
        op.answer = Value::Object({{"type", "string"}});
        out.push_back(std::move(op));
      }
      Put(paths, item + "/" + s.name + (with_path ? "/{path}" : ""), out);
    }
  }

  // The old way to watch, by a path of its own.
  void AddWatches(Value& paths) {
    std::string scoped = root_ + "/watch" + (r_.namespaced ? "/namespaces/{namespace}/" : "/") + r_.resource;
    auto watch = [&](std::string id, std::string_view action) {
      Operation op = New("get", "watch", action);
      op.id = std::move(id);
      Append(op.parameters, kSelectParameters);
      Append(op.parameters, kWatchParameters);
      op.produces.push_back(fmt::format("{};stream=watch", kJson));
      op.produces.push_back(fmt::format("{};stream=watch", kProtobuf));
      op.answer = definitions_.RefTo(meta::v1::WatchEvent::kType);
      return op;
    };
    if (r_.HasVerb("get")) {
      Operation one = watch(fmt::format("watch{}{}{}", id_group_, scope_, r_.kind), "watch");
      one.parameters.push_back(kName);
      Put(paths, scoped + "/{name}", {one});
    }
    Put(paths, scoped, {watch(fmt::format("watch{}{}{}List", id_group_, scope_, r_.kind), "watchlist")});
    if (r_.namespaced) {
      Operation all = watch(fmt::format("watch{}{}ListForAllNamespaces", id_group_, r_.kind), "watchlist");
      std::erase_if(all.parameters, [](const Parameter& p) { return Same(p, kNamespace); });
      Put(paths, root_ + "/watch/" + r_.resource, {all});
    }
  }

  const ServedResource& r_;
  Definitions& definitions_;
  std::string root_, tag_, id_group_, scope_;
  std::vector<std::string> produces_, consumes_;
  Value own_;
};

}  // namespace

std::string Capitalized(std::string_view word) {
  std::string out(word);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

std::string OpenApiGroupTag(std::string_view group) {
  if (group.empty()) return "core";
  constexpr std::string_view kSuffix = ".k8s.io";
  if (group.size() > kSuffix.size() && group.substr(group.size() - kSuffix.size()) == kSuffix) group.remove_suffix(kSuffix.size());
  std::string out;
  bool upper = false;
  for (char c : group) {
    bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (word) out += upper ? Capitalized(std::string_view(&c, 1)) : std::string(1, c);
    upper = !word;
  }
  return out;
}

std::string RootOf(const ServedGroup& group, const ServedVersion& version) {
  return group.name.empty() ? "/api/" + version.version : fmt::format("/apis/{}/{}", group.name, version.version);
}

Value PathItem(const std::vector<OpenApiOperation>& operations, OpenApiForm form) {
  Parameters common;
  for (const Parameter& p : operations.front().parameters) {
    bool everywhere = std::all_of(operations.begin(), operations.end(), [&](const Operation& op) {
      return std::any_of(op.parameters.begin(), op.parameters.end(), [&](const Parameter& other) { return Same(p, other); });
    });
    if (everywhere) common.push_back(p);
  }
  std::sort(common.begin(), common.end(), Before);
  Value out = Value::Object();
  for (Operation op : operations) {
    std::sort(op.parameters.begin(), op.parameters.end(), Before);
    out[op.method] = OperationOf(op, common, form);
  }
  for (const Parameter& p : common) out["parameters"].MutableList().push_back(ParameterOf(p, form));
  return out;
}

void AddResourcePaths(const ServedGroup& group, const ServedVersion& version, Definitions& definitions, Value& paths) {
  for (const auto& [name, resource] : version.resources) Builder(group, version, *resource, definitions).AddTo(paths);
}

void AddDiscoveryPath(std::string_view path, std::string_view id, std::string_view tag, const TypeInfo& answer, Definitions& definitions,
                      Value& paths) {
  Operation op;
  op.method = "get";
  op.id = id;
  op.tag = tag;
  op.consumes = op.produces = Strings({kJson, kYaml, kProtobuf});
  op.codes = {200};
  op.answer = definitions.RefTo(answer);
  paths[path] = PathItem({op}, definitions.form());
}

}  // namespace kube::apiserver
