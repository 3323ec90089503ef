// Conversion: the versions of a kind as a hub and spokes. The hub is the version that all others convert to and from.
//
//   ConversionSpec networks = Conversion<v2::Network>()
//                                 .Spoke<v1::Network>([](const v1::Network& from, v2::Network& to) { to.spec.cidrs = {from.spec.cidr}; },
//                                                     [](const v2::Network& from, v1::Network& to) { ... });
//   manager.Add(networks);                                    // serves it at /convert
//   Converter::Make(networks)->Convert<v1::Network>(v2);      // in a test; testing::CheckConversion tries random objects
//
// A function contains the differences only. Before it is called, the fields that both versions have with the same JSON name and the same
// type were copied, also those of nested structs that have a C++ type for each version, and fields that neither knows.
//
// Nothing is lost. After each conversion the library converts back, and keeps what is missing then in an annotation,
// "conversion.kubexx.dev/" and the version that it belongs to. When the object is converted to that version again, the values return:
//   - A value returns only if the fields of the other version still give what they gave when it was kept: the newer value wins.
//   - An element of a list belongs to its keys (list type map, the patch merge key, or a unique `name`); without keys to its content, so
//     after a change of it there is nothing to return to. Elements that the other version cannot hold return if its list still has the same
//     ones.
//   - The members of a map, and of a struct, are values of their own; an optional struct (Box) that was removed does not return.
// So functions are called for both directions, must give equal results for equal objects, and must not have side effects.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/error.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/meta/gvk.h"
#include "kube/meta/resource.h"
#include "kube/value/any_object.h"
#include "kube/value/type_info.h"
#include "kube/webhook/configurations.h"
#include "kube/webhook/webhook_spec.h"

namespace kube {

namespace apiextensions::v1 {
struct CustomResourceConversion;
struct CustomResourceDefinition;
}  // namespace apiextensions::v1

inline constexpr std::string_view kConversionAnnotationPrefix = "conversion.kubexx.dev/";

using ConversionFunction = std::function<Result<void>(const Context& ctx, const void* from, void* to)>;

struct ConversionSpoke {
  const TypeInfo* type = nullptr;
  ConversionFunction to_hub{};
  ConversionFunction from_hub{};
};

// What Manager::Add takes. Plain data; Conversion<Hub>() makes it.
struct ConversionSpec {
  std::string path = "/convert";  // several kinds may have one path
  const TypeInfo* hub = nullptr;
  std::vector<ConversionSpoke> spokes{};
  bool keep_lost = true;                               // in annotations
  std::size_t max_kept_bytes = std::size_t{64} << 10;  // for each version of an object
  std::string stored_version{};                        // empty: the hub's
  std::optional<Error> problem{};                      // why it cannot work; Manager::Add and Converter::Make return it

  // Both empty if there is no hub.
  KUBE_EXPORT std::string group() const;
  KUBE_EXPORT std::string kind() const;
  KUBE_EXPORT std::vector<std::string> versions() const;  // the hub's is the first
};

namespace internal {

KUBE_EXPORT ConversionSpec NewConversion(const TypeInfo& hub);
KUBE_EXPORT void AddSpoke(ConversionSpec& spec, ConversionSpoke spoke);

template <typename From, typename To, typename F>
ConversionFunction MakeConversionFunction(F f) {
  return [f = std::move(f)](const Context& ctx, const void* from, void* to) -> Result<void> {
    const auto& source = *static_cast<const From*>(from);
    auto& target = *static_cast<To*>(to);
    const auto call = [&]() -> decltype(auto) {
      if constexpr (std::is_invocable_v<const F&, const Context&, const From&, To&>) {
        return f(ctx, source, target);
      } else {
        static_assert(std::is_invocable_v<const F&, const From&, To&>,
                      "a conversion function takes (const From&, To&), or a const Context& before them, and returns void or Result<void>");
        return f(source, target);
      }
    };
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      return {};
    } else {
      return call();
    }
  };
}

}  // namespace internal

// Functions are called on several threads at once. They return nothing or Result<void>; what they throw fails the conversion, and is
// counted.
//
// Thread safety: one thread at a time.
template <Resource Hub>
class ConversionBuilder {
 public:
  ConversionBuilder() : spec_(internal::NewConversion(Hub::kType)) {}

  // to_hub(const S&, Hub&) and from_hub(const Hub&, S&). Metadata is copied; only labels and annotations may be changed, as API servers
  // have it.
  template <Resource S, typename ToHub, typename FromHub>
  ConversionBuilder& Spoke(ToHub to_hub, FromHub from_hub) {
    internal::AddSpoke(spec_, {.type = &S::kType,
                               .to_hub = internal::MakeConversionFunction<S, Hub>(std::move(to_hub)),
                               .from_hub = internal::MakeConversionFunction<Hub, S>(std::move(from_hub))});
    return *this;
  }
  // For a version that differs in fields which only one of the two has: nothing but the copy, and the annotation for the rest.
  template <Resource S>
  ConversionBuilder& Spoke() {
    return Spoke<S>([](const S&, Hub&) {}, [](const Hub&, S&) {});
  }

  // Off: what a version lacks is lost, and conversions cost half. Annotations that are there already still return.
  ConversionBuilder& KeepLost(bool keep) {
    spec_.keep_lost = keep;
    return *this;
  }
  // If an object loses more than fits, it is converted without, and the annotation says so: reads work, but a write of that object is
  // refused, as it would lose data for good. API servers allow 256 KiB for all annotations of an object.
  ConversionBuilder& MaxKeptBytes(std::size_t bytes) {
    spec_.max_kept_bytes = bytes;
    return *this;
  }
  // The version with `storage: true` in the CustomResourceDefinition, if that is not the hub.
  template <Resource S>
  ConversionBuilder& StoredAs() {
    spec_.stored_version = std::string(S::kType.kind == nullptr ? std::string_view() : S::kType.kind->version);
    return *this;
  }
  // Instead of /convert.
  ConversionBuilder& At(std::string path) {
    spec_.path = std::move(path);
    return *this;
  }

  ConversionSpec Build() const { return spec_; }
  operator ConversionSpec() const { return spec_; }  // NOLINT(google-explicit-constructor)

 private:
  ConversionSpec spec_;
};

template <Resource Hub>
ConversionBuilder<Hub> Conversion() {
  return {};
}

// Converts as the webhook does, without a server.
//
// Thread safety: all functions from any thread. Copies are cheap.
class KUBE_EXPORT Converter {
 public:
  // Errors: the spec's problem; kInvalid if it has no spokes, names a stored version that is none of its versions, or has a bad path.
  static Result<Converter> Make(ConversionSpec spec);

  const ConversionSpec& spec() const;
  // Null if there is no such version.
  const TypeInfo* Find(std::string_view version) const;

  // The object in another version, or as it is if it has that version already. Errors: what a function returned; kInternal for what it
  // threw
  // (`threw` is set then); kInvalid for a type that is no version of the kind, and for an object that was too large to be kept whole.
  Result<AnyObject> Convert(const Context& ctx, AnyObject from, const TypeInfo& to, bool* threw = nullptr) const;
  template <Resource To, Resource From>
  Result<To> Convert(const From& from, const Context& ctx = Context::Background()) const {
    AnyObject object(From::kType);
    *static_cast<From*>(object.mutable_data()) = from;
    object.Settle();
    Result<AnyObject> converted = Convert(ctx, std::move(object), To::kType);
    if (!converted) return converted.error();
    return *static_cast<const To*>(converted->data());
  }

 private:
  class Impl;
  explicit Converter(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// For WebhookServer: one endpoint for each path. Errors: as Converter::Make; kInvalid for a kind that comes twice.
KUBE_EXPORT Result<std::vector<WebhookEndpoint>> ConversionEndpoints(const std::vector<ConversionSpec>& specs);

// ---- The CustomResourceDefinition ----

// spec.conversion: strategy Webhook, ConversionReview v1, and the Service or URL of `options`.
KUBE_EXPORT Result<apiextensions::v1::CustomResourceConversion> MakeConversionStanza(const ConversionSpec& spec,
                                                                                     const WebhookConfigurationOptions& options);
// Whether the spec converts each version of the definition. Errors: kInvalid, naming the missing version.
KUBE_EXPORT Result<void> CheckVersions(const ConversionSpec& spec, const apiextensions::v1::CustomResourceDefinition& crd);
// Both: checks the versions and sets spec.conversion. Without options.ca_bundle, a bundle that is there stays.
KUBE_EXPORT Result<void> SetConversion(const ConversionSpec& spec, const WebhookConfigurationOptions& options,
                                       apiextensions::v1::CustomResourceDefinition& crd);

}  // namespace kube
