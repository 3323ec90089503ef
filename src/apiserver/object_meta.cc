#include "apiserver/object_meta.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <random>
#include <set>

#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

std::mt19937_64& Random() {
  thread_local std::mt19937_64 engine = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }();
  return engine;
}

constexpr std::size_t kMaxAnnotationBytes = 256 * 1024;

void CopyMember(Value& to, const Value& from, std::string_view name) {
  if (const Value* found = from.Find(name)) {
    to[name] = *found;
  } else {
    to.MutableObject().Erase(name);
  }
}

bool IsStandardFinalizer(std::string_view text) { return text == "kubernetes" || text == "orphan" || text == "foregroundDeletion"; }

// Kinds whose validation is not the core group's: any qualified name is a finalizer.
bool TakesAnyFinalizer(const ServedResource& r) {
  return r.custom || r.group == "admissionregistration.k8s.io" || r.group == "coordination.k8s.io" || r.group == "node.k8s.io" ||
         r.group == "apiextensions.k8s.io" || r.group == "apiregistration.k8s.io" ||
         (r.group == "policy" && r.resource == "poddisruptionbudgets");
}

void ValidateFinalizers(const ServedResource& resource, const Value& meta, std::vector<FieldError>& errors) {
  bool orphan = false, foreground = false;
  std::size_t i = 0;
  for (const Value& finalizer : meta["finalizers"].list()) {
    std::string_view text = finalizer.string_value();
    orphan = orphan || text == "orphan";
    foreground = foreground || text == "foregroundDeletion";
    for (const std::string& problem : QualifiedNameProblems(text))
      errors.push_back(InvalidValue("metadata.finalizers", finalizer, problem));
    if (text.find('/') == std::string_view::npos && !IsStandardFinalizer(text) && !TakesAnyFinalizer(resource)) {
      errors.push_back(InvalidValue(fmt::format("metadata.finalizers[{}]", i), finalizer,
                                    "name is neither a standard finalizer name nor is it fully qualified"));
    }
    ++i;
  }
  if (orphan && foreground) {
    errors.push_back(InvalidValue("metadata.finalizers", meta["finalizers"], "finalizer orphan and foregroundDeletion cannot be both set"));
  }
}

void ValidateOwners(const Value& meta, std::vector<FieldError>& errors) {
  std::size_t i = 0;
  std::string controller;
  for (const Value& owner : meta["ownerReferences"].list()) {
    std::string field = "metadata.ownerReferences";
    std::string_view api_version = owner["apiVersion"].string_value();
    std::string_view version = api_version.substr(api_version.find('/') == std::string_view::npos ? 0 : api_version.find('/') + 1);
    if (version.empty()) errors.push_back(InvalidValue(field + ".apiVersion", Value(api_version), "version must not be empty"));
    for (const char* member : {"kind", "name", "uid"}) {
      if (owner[member].string_value().empty())
        errors.push_back(InvalidValue(fmt::format("{}.{}", field, member), "", "must not be empty"));
    }
    if (owner["controller"].bool_value()) {
      std::string self = fmt::format("{}/{}", owner["kind"].string_value().view(), owner["name"].string_value().view());
      if (!controller.empty()) {
        errors.push_back(InvalidValue(field, meta["ownerReferences"],
                                      fmt::format("Only one reference can have Controller set to true. Found \"true\" in references for {} "
                                                  "and {}",
                                                  controller, self)));
      }
      controller = self;
    }
    ++i;
  }
}

}  // namespace

std::string NewUid() {
  std::uint64_t a = Random()(), b = Random()();
  a = (a & 0xffffffffffff0fffULL) | 0x4000ULL;
  b = (b & 0x3fffffffffffffffULL) | 0x8000000000000000ULL;
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", a >> 32, (a >> 16) & 0xffff, a & 0xffff, b >> 48, b & 0xffffffffffffULL);
}

std::string NameFromPrefix(std::string_view prefix) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string out(prefix.substr(0, 58));
  for (int i = 0; i < 5; ++i) out += kAlphabet[Random()() % kAlphabet.size()];
  return out;
}

bool HasFinalizer(const Value& object, std::string_view finalizer) {
  for (const Value& f : MetaOf(object)["finalizers"].list()) {
    if (f.string_value() == finalizer) return true;
  }
  return false;
}

void AddFinalizer(Value& object, std::string_view finalizer) {
  if (!HasFinalizer(object, finalizer)) object["metadata"]["finalizers"].MutableList().push_back(finalizer);
}

void RemoveFinalizer(Value& object, std::string_view finalizer) {
  if (!HasFinalizer(object, finalizer)) return;
  Value& meta = object["metadata"];
  meta["finalizers"].MutableList().erase_if([&](const Value& f) { return f.string_value() == finalizer; });
  DropEmpty(meta, "finalizers");
}

void DropEmpty(Value& object, std::string_view member) {
  const Value* found = object.Find(member);
  if (found == nullptr) return;
  bool empty = found->is_null() || (found->is_list() && found->list().empty()) || (found->is_object() && found->object().empty()) ||
               (found->is_string() && found->string_value().empty());
  if (empty) object.MutableObject().Erase(member);
}

Result<void> SetNamespace(Value& object, const ServedResource& resource, std::string_view request_namespace) {
  std::string_view given = NamespaceOf(object);
  if (resource.namespaced) {
    if (!given.empty() && given != request_namespace) {
      return BadRequest("the namespace of the provided object does not match the namespace sent on the request");
    }
    if (given.empty()) object["metadata"]["namespace"] = request_namespace;
    return {};
  }
  // The real server forgives a namespace on what has none.
  if (!given.empty()) object["metadata"].MutableObject().Erase("namespace");
  return {};
}

void WipeMetaForCreate(Value& object) {
  Value& meta = object["metadata"];
  if (!meta.is_object()) meta = Value::Object();
  Map<Value>& members = meta.MutableObject();
  for (const char* member :
       {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion", "generation", "uid", "creationTimestamp"}) {
    members.Erase(member);
  }
  for (const char* member : {"labels", "annotations", "ownerReferences", "finalizers", "generateName", "name"}) DropEmpty(meta, member);
}

void FillMetaForCreate(Value& object, Time now) {
  Value& meta = object["metadata"];
  meta["creationTimestamp"] = now.ToString();
  meta["uid"] = NewUid();
  const Value& read = meta;
  if (read["name"].string_value().empty() && !read["generateName"].string_value().empty()) {
    meta["name"] = NameFromPrefix(read["generateName"].string_value());
  }
}

void PrepareMetaForUpdate(Value& object, const Value& old) {
  Value& meta = object["metadata"];
  const Value& before = MetaOf(old);
  const Value& read = meta;
  // A client may leave these out; saying something else is an error, which ValidateMetaUpdate finds.
  if (read["uid"].string_value().empty()) CopyMember(meta, before, "uid");
  if (before.Find("deletionTimestamp") != nullptr) CopyMember(meta, before, "deletionTimestamp");
  if (read["deletionGracePeriodSeconds"].is_null()) CopyMember(meta, before, "deletionGracePeriodSeconds");
  for (const char* member : {"creationTimestamp", "generation"}) CopyMember(meta, before, member);
  meta.MutableObject().Erase("selfLink");
  for (const char* member : {"labels", "annotations", "ownerReferences", "finalizers", "generateName"}) DropEmpty(meta, member);
}

Problems NameProblems(const ServedResource& resource, std::string_view name, bool prefix) {
  // A prefix may end with '-': something follows.
  std::string text(name);
  if (prefix && text.size() > 1 && text.back() == '-') text.back() = 'a';
  if (resource.group.empty()) {
    if (resource.resource == "namespaces") return DnsLabelProblems(text);
    if (resource.resource == "services") return Dns1035LabelProblems(text);
    if (resource.resource == "events") return DnsSubdomainProblems(text);
  }
  if (resource.group == "rbac.authorization.k8s.io" || resource.group == "certificates.k8s.io") {
    return resource.resource == "certificatesigningrequests" ? DnsSubdomainProblems(text) : PathSegmentProblems(text);
  }
  return DnsSubdomainProblems(text);
}

std::vector<FieldError> ValidateMeta(const ServedResource& resource, const Value& object) {
  std::vector<FieldError> errors;
  const Value& meta = MetaOf(object);
  std::string_view prefix = meta["generateName"].string_value();
  if (!prefix.empty()) {
    for (const std::string& problem : NameProblems(resource, prefix, true)) {
      errors.push_back(InvalidValue("metadata.generateName", Value(prefix), problem));
    }
  }
  std::string_view name = meta["name"].string_value();
  if (name.empty()) {
    errors.push_back(Required("metadata.name", "name or generateName is required"));
  } else {
    for (const std::string& problem : NameProblems(resource, name, false)) {
      errors.push_back(InvalidValue("metadata.name", Value(name), problem));
    }
  }
  if (resource.namespaced) {
    std::string_view ns = meta["namespace"].string_value();
    if (ns.empty()) {
      errors.push_back(Required("metadata.namespace"));
    } else {
      for (const std::string& problem : DnsLabelProblems(ns)) errors.push_back(InvalidValue("metadata.namespace", Value(ns), problem));
    }
  }
  for (const auto& [key, value] : meta["labels"].object()) {
    for (const std::string& problem : QualifiedNameProblems(key)) errors.push_back(InvalidValue("metadata.labels", Value(key), problem));
    for (const std::string& problem : LabelValueProblems(value.string_value())) {
      errors.push_back(InvalidValue("metadata.labels", value, problem));
    }
  }
  std::size_t annotation_bytes = 0;
  for (const auto& [key, value] : meta["annotations"].object()) {
    std::string lower = key.str();
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    for (const std::string& problem : QualifiedNameProblems(lower)) {
      errors.push_back(InvalidValue("metadata.annotations", Value(key), problem));
    }
    annotation_bytes += key.size() + value.string_value().size();
  }
  if (annotation_bytes > kMaxAnnotationBytes) errors.push_back(TooLong("metadata.annotations", kMaxAnnotationBytes));
  ValidateOwners(meta, errors);
  ValidateFinalizers(resource, meta, errors);
  return errors;
}

std::vector<std::string> FinalizerWarnings(const Value& object, const Value* old) {
  std::set<std::string> added;
  for (const Value& finalizer : MetaOf(object)["finalizers"].list()) {
    std::string_view text = finalizer.string_value();
    if (text.find('/') != std::string_view::npos || IsStandardFinalizer(text)) continue;
    if (old == nullptr || !HasFinalizer(*old, text)) added.emplace(text);
  }
  std::vector<std::string> out;
  for (const std::string& name : added) {
    const char* with_path = name.find('.') != std::string::npos ? " including a path (/)" : "";
    out.push_back(
        fmt::format("metadata.finalizers: \"{}\": prefer a domain-qualified finalizer name{} to avoid accidental conflicts with other "
                    "finalizer writers",
                    name, with_path));
  }
  return out;
}

std::vector<FieldError> ValidateMetaUpdate(const Value& object, const Value& old) {
  std::vector<FieldError> errors;
  const Value& meta = MetaOf(object);
  const Value& before = MetaOf(old);
  if (before.Find("deletionTimestamp") != nullptr) {
    std::string added;
    for (const Value& finalizer : meta["finalizers"].list()) {
      if (!HasFinalizer(old, finalizer.string_value())) {
        added += fmt::format("{}\"{}\"", added.empty() ? "" : ", ", finalizer.string_value().view());
      }
    }
    if (!added.empty()) {
      errors.push_back(
          ForbiddenField("metadata.finalizers",
                         "no new finalizers can be added if the object is being deleted, found new finalizers []string{" + added + "}"));
    }
  }
  for (const char* member : {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    if (!(meta[member] == before[member])) {
      errors.push_back(InvalidValue(fmt::format("metadata.{}", member), meta[member], "field is immutable"));
    }
  }
  return errors;
}

}  // namespace kube::apiserver
