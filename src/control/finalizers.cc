#include "kube/control/finalizers.h"

#include <algorithm>
#include <exception>

#include "kube/meta/validation.h"

namespace kube::internal {

bool HasName(const List<String>& finalizers, std::string_view name) {
  return std::any_of(finalizers.begin(), finalizers.end(), [&](const String& f) { return f == name; });
}

Patch FinalizerPatch(const List<String>& finalizers, const meta::v1::ObjectMeta& metadata) {
  Value patch = Value::Object();
  // A version is of one object only, so this cannot hit a later one of that name. An object without one goes by its UID.
  if (!metadata.resource_version.empty()) {
    patch["metadata"]["resourceVersion"] = metadata.resource_version;
  } else if (!metadata.uid.empty()) {
    patch["metadata"]["uid"] = metadata.uid;
  }
  List<Value> names;
  for (const String& name : finalizers) names.push_back(name);
  patch["metadata"]["finalizers"] = Value(std::move(names));
  return Patch::Merge(patch);
}

Result<void> CheckFinalizerNames(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].find('/') == std::string::npos) {
      return Error::Invalid("finalizer \"" + names[i] + "\" needs a domain: example.com/" + names[i]);
    }
    if (Result<void> r = ValidateLabelKey(names[i]); !r) return r.error().WithContext("finalizer \"" + names[i] + "\"");
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i)) {
      return Error::Invalid("finalizer \"" + names[i] + "\" is there twice");
    }
  }
  return {};
}

Result<void> CallFinalizer(const std::function<Result<void>()>& call, const std::string& name, const ObjectKey& key) {
  const auto context = [&] { return "finalizer " + name + " of " + key.ToString(); };
  try {
    Result<void> done = call();
    if (!done) return done.error().WithContext(context());
    return {};
  } catch (const std::exception& e) {
    return Error(ErrorKind::kUserCode, std::string("it threw: ") + e.what()).WithContext(context());
  } catch (...) {
    return Error(ErrorKind::kUserCode, "it threw something that is no std::exception").WithContext(context());
  }
}

}  // namespace kube::internal
