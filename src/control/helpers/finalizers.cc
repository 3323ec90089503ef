#include "kube/control/finalizers.h"

#include <algorithm>
#include <exception>
#include <functional>

#include "control/helpers/erased_object.h"
#include "kube/client/retry.h"
#include "kube/meta/validation.h"

namespace kube::internal {

bool HasName(const List<String>& finalizers, std::string_view name) {
  return std::any_of(finalizers.begin(), finalizers.end(), [&](const String& f) { return f == name; });
}

bool AddName(List<String>& finalizers, std::string_view name) {
  if (HasName(finalizers, name)) return false;
  finalizers.push_back(String(name));
  return true;
}

bool RemoveName(List<String>& finalizers, std::string_view name) {
  return finalizers.erase_if([&](const String& f) { return f == name; }) != 0;
}

namespace {

// Refused by the server if the object is not of this version any more.
Patch FinalizerPatch(const List<String>& finalizers, const meta::v1::ObjectMeta& metadata) {
  Value patch = Value::Object();
  // A version is of one object only, so this cannot hit a later one of that name. An object without one is identified by its UID.
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

// Errors: kInvalid for a name without a domain, and for one that is listed twice.
Result<void> CheckFinalizerNames(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].find('/') == std::string::npos) {
      return Error::Invalid("finalizer \"" + names[i] + "\" needs a domain: example.com/" + names[i]);
    }
    if (Result<void> r = ValidateLabelKey(names[i]); !r) return r.error().WithContext("finalizer \"" + names[i] + "\"");
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i)) {
      return Error::Invalid("finalizer \"" + names[i] + "\" is registered twice");
    }
  }
  return {};
}

// Calls it; an exception becomes an error of kind kUserCode.
Result<void> CallFinalizer(const std::function<Result<void>()>& call, const std::string& name, const ObjectKey& key) {
  const auto context = [&] { return "finalizer " + name + " of " + key.ToString(); };
  try {
    Result<void> done = call();
    if (!done) return done.error().WithContext(context());
    return {};
  } catch (const ErrorException& e) {  // Result::value(): the same as returning that error
    return e.error().WithContext(context());
  } catch (const std::exception& e) {
    return Error(ErrorKind::kUserCode, std::string("it threw: ") + e.what()).WithContext(context());
  } catch (...) {
    return Error(ErrorKind::kUserCode, "it threw something that is not a std::exception").WithContext(context());
  }
}

// One object on its server, for the requests of a run. `object` is always the newest state that is known.
class Subject {
 public:
  Subject(const Context& ctx, const ClientCore& core, const ResourceTarget& target, void* object)
      : ctx_(ctx), core_(core), target_(target), object_(object), metadata_(MetadataOfErased(target.type, object)) {}

  const meta::v1::ObjectMeta& metadata() const { return metadata_; }

  Result<void> WriteFinalizers(const List<String>& finalizers) {
    ErasedObject answer(target_.type);
    Result<void> done =
        PatchObject(core_, ctx_, target_, KeyOf(metadata_), {}, FinalizerPatch(finalizers, metadata_), {}, answer.mutable_data());
    if (done) Become(answer);
    return done;
  }

  // False: the object is deleted. Its work is done, so a newer version is no reason to do it again.
  Result<bool> TakeOff(std::string_view name) {
    bool there = true, stale = false;
    const auto gone = [&](const Error& error) -> Result<void> {
      if (!IsNotFound(error)) return error;
      there = false;
      return {};
    };
    Result<void> done = RetryOnConflict(ctx_, [&]() -> Result<void> {
      if (stale) {
        ErasedObject live(target_.type);
        if (Result<void> r = GetObject(core_, ctx_, target_, KeyOf(metadata_), {}, {}, live.mutable_data()); !r) return gone(r.error());
        if (live.uid() != metadata_.uid) {  // another one of that name
          there = false;
          return {};
        }
        Become(live);
      }
      stale = true;
      List<String> finalizers = metadata_.finalizers;
      if (!RemoveName(finalizers, name)) return {};
      if (Result<void> r = WriteFinalizers(finalizers); !r) return gone(r.error());
      return {};
    });
    if (!done) return done.error();
    return there;
  }

 private:
  void Become(const ErasedObject& newer) {
    newer.CopyTo(object_);
    metadata_ = MetadataOfErased(target_.type, object_);
  }

  const Context& ctx_;
  const ClientCore& core_;
  const ResourceTarget& target_;
  void* object_;
  meta::v1::ObjectMeta metadata_;
};

}  // namespace

std::vector<std::string> FinalizersCore::names() const {
  std::vector<std::string> out;
  for (const Entry& entry : entries_) out.push_back(entry.name);
  return out;
}

Result<FinalizerResult> FinalizersCore::Run(const Context& ctx, const ClientCore& core, const ResourceTarget& target, void* object) const {
  if (Result<void> r = CheckFinalizerNames(names()); !r) return r.error();
  Subject subject(ctx, core, target, object);
  if (subject.metadata().deletion_timestamp.IsZero()) {
    List<String> finalizers = subject.metadata().finalizers;
    bool changed = false;
    for (const Entry& entry : entries_) changed = AddName(finalizers, entry.name) || changed;
    if (!changed) return FinalizerResult{.proceed = true};
    if (Result<void> r = subject.WriteFinalizers(finalizers); !r) return r.error().WithContext("add finalizers");
    // Deleted since it was read: the server does not let finalizers be added to such an object, so it has none of ours.
    return FinalizerResult{.proceed = subject.metadata().deletion_timestamp.IsZero(), .changed = true};
  }
  FinalizerResult out;
  for (const Entry& entry : entries_) {
    if (!HasName(subject.metadata().finalizers, entry.name)) continue;
    Result<void> done = CallFinalizer([&] { return entry.callback(ctx, object); }, entry.name, KeyOf(subject.metadata()));
    if (!done) return done.error();
    Result<bool> there = subject.TakeOff(entry.name);
    if (!there) return there.error().WithContext("remove the finalizer " + entry.name);
    out.finished.push_back(entry.name);
    out.changed = true;
    if (!*there) break;
  }
  return out;
}

}  // namespace kube::internal
