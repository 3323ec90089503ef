#include "webhook/conversion_review.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "codec/json_writer.h"
#include "kube/api/apiextensions/v1.h"
#include "kube/base/log.h"
#include "kube/codec/field_selection.h"
#include "kube/codec/json.h"
#include "kube/value/table.h"

namespace kube::internal {

// A ConversionReview of any version: the requests of v1 and v1beta1 have the same fields.
struct ConversionEnvelope {
  String api_version{};
  String kind{};
  Box<apiextensions::v1::ConversionRequest> request{};
  KUBE_TABLE(ConversionEnvelope);
};
KUBE_DEFINE_TABLE(ConversionEnvelope, "webhook.ConversionReview", KUBE_FIELD(ConversionEnvelope, api_version),
                  KUBE_FIELD(ConversionEnvelope, kind), KUBE_FIELD(ConversionEnvelope, request));

struct ConversionObjectHeader {
  String api_version{};
  String kind{};
  KUBE_TABLE(ConversionObjectHeader);
};
KUBE_DEFINE_TABLE(ConversionObjectHeader, "webhook.ConversionObjectHeader", KUBE_FIELD(ConversionObjectHeader, api_version),
                  KUBE_FIELD(ConversionObjectHeader, kind));

namespace {

constexpr std::string_view kReviewVersion = "apiextensions.k8s.io/v1";

Logger Log() { return Logger("webhook"); }

// API servers take all metadata but labels and annotations from their own copy of the object, and compare name, namespace and uid. So what
// is often half of an object need not be decoded and sent back.
const FieldSelection& WithoutManagedFields() {
  static const FieldSelection& fields = *new FieldSelection(FieldSelection::WithoutManagedFields());
  return fields;
}

std::string Begin(std::string_view version, std::string_view uid) {
  std::string out;
  JsonWriter writer(out, 0);
  writer.BeginObject();
  writer.Name("kind");
  writer.Plain("ConversionReview");
  writer.Name("apiVersion");
  writer.String(version);
  writer.Name("response");
  writer.BeginObject();
  writer.Name("uid");
  writer.String(uid);
  return out;
}

WebhookAnswer Failure(std::string_view version, std::string_view uid, const std::string& message, bool threw = false) {
  Log().Error("A conversion failed", {{"uid", uid}, {"error", message}});
  std::string out = Begin(version, uid);
  out += R"(,"convertedObjects":[],"result":{"metadata":{},"status":"Failure","message":)";
  JsonWriter(out, 0).String(message);
  out += "}}}";
  return {.body = std::move(out), .threw = threw};
}

std::string ApiVersionOf(const TypeInfo& type) { return GvkOf(type).api_version().str(); }

class Review {
 public:
  Review(const std::vector<Converter>& converters, const Context& ctx, const apiextensions::v1::ConversionRequest& request)
      : converters_(converters), ctx_(ctx), request_(request) {}

  WebhookAnswer Run() {
    std::string out = Begin(kReviewVersion, request_.uid.view());
    out += R"(,"convertedObjects":[)";
    for (std::size_t i = 0; i < request_.objects.size(); ++i) {
      if (ctx_.stopped()) return {.code = 504, .body = "the API server no longer waits for this conversion\n"};
      if (i != 0) out += ',';
      std::string scratch;
      if (Result<void> converted = One(request_.objects[i].View(scratch), out); !converted)
        return Failure(kReviewVersion, request_.uid.view(), fmt::format("object {}: {}", i, converted.error().ToString()), threw_);
    }
    out += R"(],"result":{"metadata":{},"status":"Success"}}})";
    return {.body = std::move(out)};
  }

 private:
  const std::vector<Converter>& converters_;
  const Context& ctx_;
  const apiextensions::v1::ConversionRequest& request_;
  bool threw_ = false;
  // Types of the previous object: most objects are like it.
  const Converter* converter_ = nullptr;
  const TypeInfo* from_ = nullptr;
  const TypeInfo* to_ = nullptr;
  std::string usual_start_;

  Result<void> One(std::string_view json, std::string& out) {
    if (json.empty()) return Error::Decode("expected an object, got null");
    if (usual_start_.empty() || !json.starts_with(usual_start_)) {
      if (Result<void> found = FindTypes(json); !found) return found;
    }
    AnyObject object(*from_);
    Result<void> decoded = DecodeJson(*from_, object.mutable_data(), json, {.fields = &WithoutManagedFields()});
    object.Settle();
    if (!decoded) return decoded.error().WithContext(NameOf(object));
    Result<AnyObject> converted = converter_->Convert(ctx_, object, *to_, &threw_);
    if (!converted) return converted.error().WithContext(NameOf(object));
    if (Result<void> written = EncodeJson(*to_, converted->data(), out); !written) return written.error().WithContext(NameOf(object));
    return {};
  }

  // Sets what is known of the object's versions.
  Result<void> FindTypes(std::string_view json) {
    Result<ConversionObjectHeader> header = FromJson<ConversionObjectHeader>(json, {.keep_unknown = false});
    if (!header) return header.error();
    converter_ = nullptr;
    from_ = to_ = nullptr;
    for (const Converter& converter : converters_) {
      const ConversionSpec& spec = converter.spec();
      if (header->kind != spec.kind()) continue;
      for (const std::string& version : spec.versions()) {
        const TypeInfo* type = converter.Find(version);
        const std::string name = ApiVersionOf(*type);
        if (name == header->api_version.view()) from_ = type;
        if (name == request_.desired_api_version.view()) to_ = type;
      }
      if (from_ == nullptr && to_ == nullptr) continue;  // of another group
      converter_ = &converter;
      break;
    }
    if (from_ == nullptr || to_ == nullptr) {
      std::string known;
      for (const Converter& converter : converters_) {
        for (const std::string& version : converter.spec().versions())
          known += fmt::format("{}{} {}", known.empty() ? "" : ", ", ApiVersionOf(*converter.Find(version)), converter.spec().kind());
      }
      return Error::Invalid(fmt::format("this program does not convert {} {} to {}; it knows {}", header->api_version, header->kind,
                                        request_.desired_api_version, known));
    }
    usual_start_ = fmt::format(R"({{"apiVersion":"{}","kind":"{}",)", header->api_version, header->kind);
    return {};
  }

  std::string NameOf(const AnyObject& object) const {
    return fmt::format("{} \"{}\"", converter_->spec().kind(), KeyOf(*MetadataOf(object)).ToString());
  }
};

WebhookAnswer Refuse(std::string why) { return {.code = 400, .body = std::move(why)}; }

}  // namespace

WebhookAnswer ServeConversion(const std::vector<Converter>& converters, const Context& ctx, std::string_view body) {
  Result<ConversionEnvelope> envelope = FromJson<ConversionEnvelope>(body, {.keep_unknown = false});
  if (!envelope) return Refuse(envelope.error().WithContext("ConversionReview").ToString());
  if (envelope->kind != "ConversionReview") return Refuse("expected a ConversionReview of apiextensions.k8s.io/v1");
  if (!envelope->request) return Refuse("the ConversionReview has no request");
  const apiextensions::v1::ConversionRequest& request = *std::as_const(*envelope).request;
  if (request.uid.empty()) return Refuse("the ConversionReview has no uid");
  if (envelope->api_version != kReviewVersion)
    return Failure(envelope->api_version.view(), request.uid.view(),
                   fmt::format("ConversionReview {} is not supported: set spec.conversion.webhook.conversionReviewVersions of the "
                               "CustomResourceDefinition to [\"v1\"]",
                               envelope->api_version));
  return Review(converters, ctx, request).Run();
}

}  // namespace kube::internal

namespace kube {

Result<std::vector<WebhookEndpoint>> ConversionEndpoints(const std::vector<ConversionSpec>& specs) {
  std::map<std::string, std::vector<Converter>> paths;
  std::set<std::pair<std::string, std::string>> kinds;
  for (const ConversionSpec& spec : specs) {
    Result<Converter> converter = Converter::Make(spec);
    if (!converter) return converter.error();
    if (!kinds.emplace(spec.group(), spec.kind()).second)
      return Error::Invalid(fmt::format("there are two conversions of {}.{}", spec.kind(), spec.group()));
    paths[spec.path].push_back(*std::move(converter));
  }
  std::vector<WebhookEndpoint> out;
  for (auto& [path, converters] : paths) {
    out.push_back({.path = path,
                   .serve = [converters = std::make_shared<const std::vector<Converter>>(std::move(converters))](
                                const Context& ctx, std::string_view body) { return internal::ServeConversion(*converters, ctx, body); },
                   .conversion = true});
  }
  return out;
}

}  // namespace kube
