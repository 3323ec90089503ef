#include "apiserver/builtin/validation_kinds.h"
#include "apiserver/names.h"
#include "kube/api/core/v1.h"
#include "kube/codec/json.h"

namespace kube::apiserver::builtin {
namespace {

using namespace core::v1;

constexpr std::size_t kMaxDataSize = 1024 * 1024;
constexpr const char* kFrozen = "field is immutable when `immutable` is set";

template <typename M>
std::size_t CheckKeys(Errors& errors, const std::string& path, const M& data) {
  std::size_t size = 0;
  for (const auto& [key, value] : data) {
    AddProblems(errors, Key(path, key), key, ConfigMapKeyProblems(key));
    size += value.size();
  }
  return size;
}

void RequireKey(Errors& errors, const Secret& secret, const char* key) {
  if (!secret.data.contains(key)) errors.push_back(Required(Key("data", key)));
}

void RequireJson(Errors& errors, const Secret& secret, const char* key) {
  RequireKey(errors, secret, key);
  if (!secret.data.contains(key)) return;
  Result<Value> parsed = ParseJson(secret.data.Get(key));
  if (parsed && parsed->is_object()) return;
  errors.push_back(
      InvalidValue(Key("data", key), "<secret contents redacted>", parsed ? "expected a JSON object" : parsed.error().message()));
}

void CheckByType(Errors& errors, const Secret& secret) {
  if (secret.type == "kubernetes.io/service-account-token") {
    if (secret.metadata.annotations.Get("kubernetes.io/service-account.name").empty()) {
      errors.push_back(Required(Key("metadata.annotations", "kubernetes.io/service-account.name")));
    }
  } else if (secret.type == "kubernetes.io/dockercfg") {
    RequireJson(errors, secret, ".dockercfg");
  } else if (secret.type == "kubernetes.io/dockerconfigjson") {
    RequireJson(errors, secret, ".dockerconfigjson");
  } else if (secret.type == "kubernetes.io/basic-auth") {
    if (!secret.data.contains("username") && !secret.data.contains("password")) {
      RequireKey(errors, secret, "username");
      RequireKey(errors, secret, "password");
    }
  } else if (secret.type == "kubernetes.io/ssh-auth") {
    if (secret.data.Get("ssh-privatekey").empty()) errors.push_back(Required(Key("data", "ssh-privatekey")));
  } else if (secret.type == "kubernetes.io/tls") {
    RequireKey(errors, secret, "tls.crt");
    RequireKey(errors, secret, "tls.key");
  }
}

}  // namespace

void ValidateKind(const ConfigMap& object, const ConfigMap* old, Errors& errors) {
  if (old != nullptr && old->immutable.value_or(false)) {
    if (!object.immutable.value_or(false)) errors.push_back(ForbiddenField("immutable", kFrozen));
    if (!(object.data == old->data)) errors.push_back(ForbiddenField("data", kFrozen));
    if (!(object.binary_data == old->binary_data)) errors.push_back(ForbiddenField("binaryData", kFrozen));
  }
  std::size_t size = 0;
  for (const auto& [key, value] : object.data) {
    AddProblems(errors, Key("data", key), key, ConfigMapKeyProblems(key));
    if (object.binary_data.contains(key)) errors.push_back(InvalidValue(Key("data", key), key, "duplicate of key present in binaryData"));
    size += value.size();
  }
  size += CheckKeys(errors, "binaryData", object.binary_data);
  if (size > kMaxDataSize) errors.push_back(TooLong("[]", kMaxDataSize));  // the path of a whole object
}

void ValidateKind(const Secret& object, const Secret* old, Errors& errors) {
  if (old != nullptr) {
    CheckImmutable(errors, "type", object.type, object.type == old->type);
    if (old->immutable.value_or(false)) {
      if (!object.immutable.value_or(false)) errors.push_back(ForbiddenField("immutable", kFrozen));
      if (!(object.data == old->data)) errors.push_back(ForbiddenField("data", kFrozen));
    }
  }
  if (CheckKeys(errors, "data", object.data) > kMaxDataSize) errors.push_back(TooLong("data", kMaxDataSize));
  CheckByType(errors, object);
}

void ValidateKind(const Namespace& object, const Namespace* old, Errors& errors) {
  if (old != nullptr) return;  // finalizers are written through their own subresource
  for (const String& f : object.spec.finalizers) {
    AddProblems(errors, "spec.finalizers", f, QualifiedNameProblems(f));
    bool is_standard = f == "kubernetes" || f == "orphan" || f == "foregroundDeletion";
    if (f.view().find('/') == std::string_view::npos && !is_standard) {
      errors.push_back(InvalidValue("spec.finalizers", f, "name is neither a standard finalizer name nor is it fully qualified"));
    }
  }
}

}  // namespace kube::apiserver::builtin
