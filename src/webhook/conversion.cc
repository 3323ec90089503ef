#include "kube/webhook/conversion.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <tuple>

#include "kube/base/log.h"
#include "kube/meta/validation.h"
#include "webhook/field_copy.h"
#include "webhook/lost_fields.h"
#include "webhook/webhook_path.h"

namespace kube {
namespace {

using internal::FieldCopy;
using meta::v1::ObjectMeta;

// What API servers allow for all annotations of an object, keys included.
constexpr std::size_t kMostAnnotationBytes = std::size_t{256} << 10;
// Instead of the fields: there are too many.
constexpr std::string_view kTooLarge = "too large";

Logger Log() { return Logger("webhook"); }

std::string VersionOf(const TypeInfo& type) { return std::string(type.kind == nullptr ? std::string_view() : type.kind->version); }
std::string AnnotationOf(const TypeInfo& type) { return std::string(kConversionAnnotationPrefix) + VersionOf(type); }
bool IsOurs(std::string_view annotation) { return annotation.starts_with(kConversionAnnotationPrefix); }

// Metadata stays as it was, except labels and annotations.
void KeepMetadata(const ObjectMeta& from, ObjectMeta& to) {
  ObjectMeta kept = from;
  kept.labels = std::move(to.labels);
  kept.annotations = std::move(to.annotations);
  to = std::move(kept);
}

// Labels and annotations that came out of an annotation: an API server would refuse the object for one that is not valid.
void DropInvalid(const Map<String>& before, Map<String>& after, bool labels) {
  std::vector<String> invalid;
  for (const auto& [key, value] : std::as_const(after)) {
    if (const String* old = before.Find(key.view()); old != nullptr && *old == value) continue;
    std::string name = key.str();
    if (!labels)
      std::transform(name.begin(), name.end(), name.begin(), [](char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (IsOurs(name) || !ValidateLabelKey(name) || (labels && !ValidateLabelValue(value.view()))) invalid.push_back(key);
  }
  for (const String& key : invalid) after.Erase(key.view());
}

std::size_t BytesOf(const Map<String>& annotations) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : annotations) bytes += key.size() + value.size();
  return bytes;
}

}  // namespace

namespace internal {

ConversionSpec NewConversion(const TypeInfo& hub) {
  ConversionSpec spec;
  spec.hub = &hub;
  if (hub.kind == nullptr) spec.problem = Error::Invalid(fmt::format("conversion: {} is no kind: its table has no version", hub.name));
  return spec;
}

void AddSpoke(ConversionSpec& spec, ConversionSpoke spoke) {
  const auto wrong = [&](std::string what) {
    if (!spec.problem) spec.problem = Error::Invalid(fmt::format("conversion of {}.{}: {}", spec.kind(), spec.group(), what));
  };
  if (const KindInfo* kind = spoke.type->kind; kind == nullptr) {
    wrong(fmt::format("{} is no kind: its table has no version", spoke.type->name));
  } else if (kind->group != spec.group() || kind->kind != spec.kind()) {
    wrong(fmt::format("a spoke is of another kind, {}.{}", kind->kind, kind->group));
  } else {
    const std::vector<std::string> versions = spec.versions();
    if (std::find(versions.begin(), versions.end(), kind->version) != versions.end())
      wrong(fmt::format("{} is there twice; the hub is no spoke", kind->version));
  }
  spec.spokes.push_back(std::move(spoke));
}

}  // namespace internal

std::string ConversionSpec::group() const {
  return std::string(hub == nullptr || hub->kind == nullptr ? std::string_view() : hub->kind->group);
}
std::string ConversionSpec::kind() const {
  return std::string(hub == nullptr || hub->kind == nullptr ? std::string_view() : hub->kind->kind);
}
std::vector<std::string> ConversionSpec::versions() const {
  std::vector<std::string> out;
  if (hub != nullptr) out.push_back(VersionOf(*hub));
  for (const ConversionSpoke& spoke : spokes) out.push_back(VersionOf(*spoke.type));
  return out;
}

class Converter::Impl {
 public:
  explicit Impl(ConversionSpec spec) : spec_(std::move(spec)) {
    for (const ConversionSpoke& spoke : spec_.spokes) spokes_.emplace_back(spoke, *spec_.hub);
  }

  const ConversionSpec& spec() const { return spec_; }

  Result<AnyObject> Convert(const Context& ctx, AnyObject from, const TypeInfo& to, bool* threw) const {
    const Spoke* const start = SpokeOf(from.type());
    const Spoke* const end = SpokeOf(to);
    if ((start == nullptr && &from.type() != spec_.hub) || (end == nullptr && &to != spec_.hub))
      return Error::Invalid(
          fmt::format("{} and {} are not both versions of {}.{}", from.type().name, to.name, spec_.kind(), spec_.group()));
    if (&from.type() == &to) return from;
    if (start != nullptr) {
      Result<AnyObject> hub = Step(ctx, *start, true, std::move(from), end == nullptr, threw);
      if (!hub || end == nullptr) return hub;
      from = *std::move(hub);
    }
    return Step(ctx, *end, false, std::move(from), true, threw);
  }

 private:
  struct Spoke {
    const ConversionSpoke* functions;
    FieldCopy to_hub;
    FieldCopy from_hub;
    Spoke(const ConversionSpoke& spoke, const TypeInfo& hub) : functions(&spoke), to_hub(*spoke.type, hub), from_hub(hub, *spoke.type) {}
  };

  const ConversionSpec spec_;
  std::vector<Spoke> spokes_;

  const Spoke* SpokeOf(const TypeInfo& type) const {
    for (const Spoke& spoke : spokes_) {
      if (spoke.functions->type == &type) return &spoke;
    }
    return nullptr;
  }
  bool IsStored(const TypeInfo& type) const {
    return VersionOf(type) == (spec_.stored_version.empty() ? VersionOf(*spec_.hub) : spec_.stored_version);
  }

  static Result<void> Call(const ConversionFunction& function, const Context& ctx, const void* from, void* to, bool* threw) {
    std::string what;
    try {
      return function(ctx, from, to);
    } catch (const ErrorException& e) {  // Result::value(): the same as returning that error
      return e.error();
    } catch (const std::exception& e) {
      what = e.what();
    } catch (...) {
      what = "something that is not a std::exception";
    }
    if (threw != nullptr) *threw = true;
    return Error::Internal("the conversion function threw: " + what);
  }

  // The copy, then the function.
  Result<AnyObject> Make(const Context& ctx, const Spoke& spoke, bool to_hub, const AnyObject& from, bool* threw) const {
    AnyObject made(to_hub ? *spec_.hub : *spoke.functions->type);
    void* const object = made.mutable_data();
    (to_hub ? spoke.to_hub : spoke.from_hub).Copy(from.data(), object);
    Result<void> called = Call(to_hub ? spoke.functions->to_hub : spoke.functions->from_hub, ctx, from.data(), object, threw);
    if (!called) return called.error();
    KeepMetadata(*MetadataOf(from), *MutableMetadataOf(made.type(), object));
    made.Settle();
    return made;
  }

  // `last`: the result leaves the converter; otherwise it is the hub between two spokes.
  Result<AnyObject> Step(const Context& ctx, const Spoke& spoke, bool to_hub, AnyObject from, bool last, bool* threw) const {
    const TypeInfo& type = to_hub ? *spec_.hub : *spoke.functions->type;
    const bool stored = last && IsStored(type);
    Map<String> kept = TakeAnnotations(from);
    kept.Erase(AnnotationOf(from.type()));
    const String mine = kept.Get(AnnotationOf(type));
    kept.Erase(AnnotationOf(type));
    Result<AnyObject> made = Make(ctx, spoke, to_hub, from, threw);
    if (!made) return made.error().WithContext(fmt::format("{} to {}", VersionOf(from.type()), VersionOf(type)));
    if (mine.view().starts_with(kTooLarge)) {
      if (stored) return MarkedTooLarge(type);
      kept.Set(AnnotationOf(type), mine);
    } else if (!mine.empty()) {
      Restore(*made, mine.view());
    }
    if (spec_.keep_lost) {
      Result<AnyObject> back = Make(ctx, spoke, !to_hub, *made, threw);
      if (!back) return back.error().WithContext(fmt::format("{} to {} and back", VersionOf(from.type()), VersionOf(type)));
      KeepMetadata(*MetadataOf(from), *MutableMetadataOf(*back));
      back->Settle();
      const std::string lost = internal::LostFields(from.type(), from.data(), back->data());
      if (!lost.empty()) {
        const std::string name = AnnotationOf(from.type());
        const std::size_t others = BytesOf(MetadataOf(*made)->annotations) + BytesOf(kept);
        if (lost.size() <= spec_.max_kept_bytes && others + name.size() + lost.size() <= kMostAnnotationBytes) {
          kept.Set(name, String(lost));
        } else if (stored) {
          return TooLargeToStore(from.type(), lost.size(), type);
        } else {
          Mark(*made, from.type(), lost.size(), others, kept);
        }
      }
    }
    if (!kept.empty()) {
      Map<String>& annotations = MutableMetadataOf(*made)->annotations;
      for (const auto& [key, value] : std::as_const(kept)) annotations.Set(key.view(), value);
      made->Settle();
    }
    return made;
  }

  // Our annotations, which functions do not see.
  static Map<String> TakeAnnotations(AnyObject& object) {
    Map<String> taken;
    for (const auto& [key, value] : MetadataOf(object)->annotations) {
      if (IsOurs(key.view())) taken.Append(key, value);
    }
    if (taken.empty()) return taken;
    Map<String>& annotations = MutableMetadataOf(object)->annotations;
    for (const auto& [key, value] : std::as_const(taken)) annotations.Erase(key.view());
    object.Settle();
    return taken;
  }

  static void Restore(AnyObject& object, std::string_view lost) {
    const ObjectMeta before = *MetadataOf(object);
    void* const data = object.mutable_data();
    object.Settle();
    if (!internal::RestoreFields(object.type(), data, lost)) {
      Log().Warn("An annotation with lost fields is unreadable",
                 {{"annotation", AnnotationOf(object.type())}, {"object", KeyOf(before).ToString()}});
      return;
    }
    ObjectMeta& after = *MutableMetadataOf(object.type(), data);
    KeepMetadata(before, after);
    DropInvalid(before.labels, after.labels, true);
    DropInvalid(before.annotations, after.annotations, false);
    internal::Settle(after);
  }

  static Error MarkedTooLarge(const TypeInfo& lost) {
    return Error::Invalid(
        fmt::format("more of this object than an annotation can hold exists in {} only, and it was read without, so a write would lose "
                    "that: write it as {}",
                    VersionOf(lost), VersionOf(lost)));
  }
  static Error TooLargeToStore(const TypeInfo& lost, std::size_t bytes, const TypeInfo& stored) {
    return Error::Invalid(fmt::format("it is stored as {}, and {} bytes that exist in {} only do not fit into the annotation {}",
                                      VersionOf(stored), bytes, VersionOf(lost), AnnotationOf(lost)));
  }

  void Mark(const AnyObject& object, const TypeInfo& lost, std::size_t bytes, std::size_t others, Map<String>& kept) const {
    const std::string name = AnnotationOf(lost);
    const std::string mark = fmt::format("{}: {} bytes", kTooLarge, bytes);
    const bool fits = others + name.size() + mark.size() <= kMostAnnotationBytes;
    Log().Warn("An object has more that only one version can hold than fits into an annotation",
               {{"annotation", name}, {"bytes", bytes}, {"object", KeyOf(*MetadataOf(object)).ToString()}, {"marked", fits}});
    if (fits) kept.Set(name, String(mark));
  }
};

Result<Converter> Converter::Make(ConversionSpec spec) {
  if (spec.problem) return *spec.problem;
  if (spec.hub == nullptr || spec.hub->kind == nullptr) return Error::Invalid("a conversion has no hub: start with Conversion<Hub>()");
  const auto wrong = [&](const std::string& what) {
    return Error::Invalid(fmt::format("conversion of {}.{}: {}", spec.kind(), spec.group(), what));
  };
  const std::vector<std::string> versions = spec.versions();
  if (spec.spokes.empty()) return wrong(fmt::format("there is no version but {}: add a Spoke for each other one", versions[0]));
  for (const ConversionSpoke& spoke : spec.spokes) {
    if (!spoke.to_hub || !spoke.from_hub) return wrong(fmt::format("{} lacks a function", VersionOf(*spoke.type)));
  }
  if (!spec.stored_version.empty() && std::find(versions.begin(), versions.end(), spec.stored_version) == versions.end())
    return wrong(fmt::format("it has no version {}, which is said to be stored", spec.stored_version));
  if (!internal::IsWebhookPath(spec.path)) return wrong(fmt::format("\"{}\" is no path for a webhook: \"/convert\" is", spec.path));
  return Converter(std::make_shared<const Impl>(std::move(spec)));
}

const ConversionSpec& Converter::spec() const { return impl_->spec(); }

const TypeInfo* Converter::Find(std::string_view version) const {
  const ConversionSpec& spec = impl_->spec();
  if (spec.hub->kind->version == version) return spec.hub;
  for (const ConversionSpoke& spoke : spec.spokes) {
    if (spoke.type->kind->version == version) return spoke.type;
  }
  return nullptr;
}

Result<AnyObject> Converter::Convert(const Context& ctx, AnyObject from, const TypeInfo& to, bool* threw) const {
  return impl_->Convert(ctx, std::move(from), to, threw);
}

}  // namespace kube
