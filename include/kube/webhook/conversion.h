// Conversion between the versions of a kind, as hub and spokes: every version converts to and from the hub.
//
//   ConversionSpec networks = Conversion<v2::Network>()
//                                 .Spoke<v1::Network>([](const v1::Network& from, v2::Network& to) { to.spec.cidrs = {from.spec.cidr}; },
//                                                     [](const v2::Network& from, v1::Network& to) { ... });
//   manager.Add(networks);                                    // serves it at /convert
//   Converter::Make(networks)->Convert<v1::Network>(v2);      // in a test; testing::CheckConversion converts random objects
//
// A function contains only the differences. Before it is called, the library copies the fields that have the same JSON name and type in
// both versions, including those of nested structs with a C++ type in each version, and fields that neither version declares.
//
// No data is lost. After each conversion the library converts back and stores what is missing in an annotation, "conversion.kubexx.dev/"
// plus the version that it belongs to. Converting the object to that version again restores the values:
//   - A value is restored only if the fields of the other version still convert to what they gave when it was stored: the newer value wins.
//   - List elements are matched by their keys (list type map, the patch merge key, or a unique `name`). Without keys they are matched by
//     content, so nothing is restored for an element that changed. Elements that the other version cannot represent are restored if its
//     list still has the same elements.
//   - Members of maps and structs are separate values. An optional struct (Box) that was removed is not restored.
// The library therefore calls the functions for both directions. They must be deterministic and free of side effects.
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

// Prefix of the annotations with values that a version cannot represent.
inline constexpr std::string_view kConversionAnnotationPrefix = "conversion.kubexx.dev/";

// Converts between two versions; `from` and `to` are structs of those versions.
using ConversionFunction = std::function<Result<void>(const Context& ctx, const void* from, void* to)>;

// A version other than the hub, and its conversion functions.
struct ConversionSpoke {
  const TypeInfo* type = nullptr;
  ConversionFunction to_hub{};
  ConversionFunction from_hub{};
};

// A conversion for Manager::Add. Plain data; Conversion<Hub>() builds it.
struct ConversionSpec {
  std::string path = "/convert";  // several kinds may share a path
  const TypeInfo* hub = nullptr;
  std::vector<ConversionSpoke> spokes{};
  bool keep_lost = true;                               // keep lost values in annotations
  std::size_t max_kept_bytes = std::size_t{64} << 10;  // per version of an object
  std::string stored_version{};                        // empty for the hub's
  std::optional<Error> problem{};                      // a configuration error; Manager::Add and Converter::Make return it

  // Both are empty if there is no hub.
  KUBE_EXPORT std::string group() const;
  KUBE_EXPORT std::string kind() const;
  KUBE_EXPORT std::vector<std::string> versions() const;  // the hub's first
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

// Builds a ConversionSpec. The functions are called on several threads at once. They return void or Result<void>. An exception fails the
// conversion and is counted.
//
// Thread safety: one thread at a time.
template <Resource Hub>
class ConversionBuilder {
 public:
  ConversionBuilder() : spec_(internal::NewConversion(Hub::kType)) {}

  // Adds a version with to_hub(const S&, Hub&) and from_hub(const Hub&, S&). Metadata is copied; the functions may change only labels and
  // annotations, as API servers require.
  template <Resource S, typename ToHub, typename FromHub>
  ConversionBuilder& Spoke(ToHub to_hub, FromHub from_hub) {
    internal::AddSpoke(spec_, {.type = &S::kType,
                               .to_hub = internal::MakeConversionFunction<S, Hub>(std::move(to_hub)),
                               .from_hub = internal::MakeConversionFunction<Hub, S>(std::move(from_hub))});
    return *this;
  }
  // For a version that differs only in fields that one of the two lacks: copies common fields, and keeps the rest in the annotation.
  template <Resource S>
  ConversionBuilder& Spoke() {
    return Spoke<S>([](const S&, Hub&) {}, [](const Hub&, S&) {});
  }

  // If false, values that a version lacks are lost, and conversions cost half. Existing annotations are still restored.
  ConversionBuilder& KeepLost(bool keep) {
    spec_.keep_lost = keep;
    return *this;
  }
  // If the lost values do not fit, the object is converted without them and the annotation says so. Reads then work, but a write of that
  // object is rejected, because it would lose data permanently. API servers allow 256 KiB for all annotations of an object.
  ConversionBuilder& MaxKeptBytes(std::size_t bytes) {
    spec_.max_kept_bytes = bytes;
    return *this;
  }
  // The version with `storage: true` in the CustomResourceDefinition, if it is not the hub.
  template <Resource S>
  ConversionBuilder& StoredAs() {
    spec_.stored_version = std::string(S::kType.kind == nullptr ? std::string_view() : S::kType.kind->version);
    return *this;
  }
  // Serves the conversion at `path` instead of /convert.
  ConversionBuilder& At(std::string path) {
    spec_.path = std::move(path);
    return *this;
  }

  ConversionSpec Build() const { return spec_; }     // a copy of the spec so far
  operator ConversionSpec() const { return spec_; }  // NOLINT(google-explicit-constructor)

 private:
  ConversionSpec spec_;
};

// Starts the definition of a conversion. Hub is the version that all others convert to and from.
template <Resource Hub>
ConversionBuilder<Hub> Conversion() {
  return {};
}

// Converts objects as the webhook does, without a server.
//
// Thread safety: all functions from any thread. Copies are cheap.
class KUBE_EXPORT Converter {
 public:
  // Errors: the spec's problem; kInvalid if it has no spokes, its stored version is not one of its versions, or its path is invalid.
  static Result<Converter> Make(ConversionSpec spec);

  const ConversionSpec& spec() const;
  // Returns null if there is no such version.
  const TypeInfo* Find(std::string_view version) const;

  // Converts the object to another version; returns it unchanged if it already has that version. Errors: those of the function; kInternal
  // if it threw (and `threw` is set); kInvalid if a type is not a version of the kind, or lost values of the object
  // did not fit in its annotations.
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

// Returns the endpoints for WebhookServer, one per path. Errors: as Converter::Make; kInvalid if a kind appears twice.
KUBE_EXPORT Result<std::vector<WebhookEndpoint>> ConversionEndpoints(const std::vector<ConversionSpec>& specs);

// ---- The CustomResourceDefinition ----

// Returns spec.conversion: strategy Webhook, ConversionReview v1, and the Service or URL of `options`.
KUBE_EXPORT Result<apiextensions::v1::CustomResourceConversion> MakeConversionStanza(const ConversionSpec& spec,
                                                                                     const WebhookConfigurationOptions& options);
// Checks that the spec converts every version of the definition. Errors: kInvalid, naming the missing version.
KUBE_EXPORT Result<void> CheckVersions(const ConversionSpec& spec, const apiextensions::v1::CustomResourceDefinition& crd);
// Checks the versions and sets spec.conversion. Keeps an existing CA bundle if options.ca_bundle is empty.
KUBE_EXPORT Result<void> SetConversion(const ConversionSpec& spec, const WebhookConfigurationOptions& options,
                                       apiextensions::v1::CustomResourceDefinition& crd);

}  // namespace kube
