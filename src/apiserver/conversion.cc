#include "apiserver/conversion.h"

#include <fmt/format.h>

#include <utility>

#include "apiserver/errors.h"
#include "apiserver/object_meta.h"
#include "apiserver/structural_schema.h"
#include "apiserver/webhook_answer.h"
#include "codec/json_bytes.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

constexpr std::size_t kMostKept = 20'000;
// A list of 5,000 objects of 10 KB comes in one answer.
constexpr std::size_t kMostAnswered = std::size_t{128} << 20;

std::string VersionOf(const Value& object) { return object["apiVersion"].string_value().str(); }

Error Failed(const Value& object, std::string_view why) {
  return UnforeseenError(
      fmt::format("conversion webhook for {}, Kind={} {}", VersionOf(object), object["kind"].string_value().view(), why));
}

// Brings an object into the form that its own version has by now.
void Normalise(const StructuralSchema& schema, Value& object) {
  schema.Prune(object);
  schema.PruneNulls(object);
  schema.ApplyDefaults(object);
}

}  // namespace

std::shared_ptr<const CustomConversion> CustomConversion::Of(const Value& crd) {
  const Value& spec = crd["spec"];
  const Value& conversion = spec["conversion"];
  if (conversion["strategy"].string_value() != "Webhook") return nullptr;
  auto out = std::make_shared<CustomConversion>();
  out->kind = spec["names"]["kind"].string_value().str();
  out->target = WebhookTarget::From(conversion["webhook"]["clientConfig"]);
  for (const Value& version : conversion["webhook"]["conversionReviewVersions"].list())
    out->review_versions.push_back(version.string_value().str());
  for (const Value& version : spec["versions"].list()) {
    out->schemas.emplace(fmt::format("{}/{}", spec["group"].string_value().view(), version["name"].string_value().view()),
                         StructuralSchema::Make(version["schema"]["openAPIV3Schema"], spec["preserveUnknownFields"].bool_value()));
  }
  return out;
}

bool NeedsConversion(const ServedResource& r, const StoredObject& stored) {
  if (!r.custom || !r.custom->conversion) return false;
  // Kind and version stand first in what the store keeps.
  return !stored.json->starts_with(fmt::format(R"({{"kind":"{}","apiVersion":"{}",)", r.kind, r.api_version()));
}

Result<std::vector<Value>> Converter::Convert(const Context& ctx, const CustomConversion& conversion, std::vector<Value> objects,
                                              std::string_view api_version) {
  const auto target = conversion.schemas.find(api_version);
  if (target == conversion.schemas.end())
    return UnforeseenError(fmt::format("request to convert CR to an invalid group/version: {}", api_version));
  Value wanted = Value::Array();
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const std::string version = VersionOf(objects[i]);
    if (version == api_version) continue;
    if (!conversion.schemas.contains(version))
      return UnforeseenError(fmt::format("request to convert CR from an invalid group/version: {}", version));
    // The store's version is none of the object itself.
    Value sent = objects[i];
    if (MetaOf(sent).is_object()) sent["metadata"].MutableObject().Erase("resourceVersion");
    wanted.MutableList().push_back(std::move(sent));
    places.push_back(i);
  }
  if (places.empty()) return objects;
  const std::string_view review = ReviewVersion(conversion.review_versions);
  if (review.empty()) return UnforeseenError("no supported conversion review versions");
  const Value& first = objects[places.front()];
  const std::string uid = NewUid();
  const Value request = Value::Object(
      {{"kind", "ConversionReview"},
       {"apiVersion", fmt::format("apiextensions.k8s.io/{}", review)},
       {"request", Value::Object({{"uid", uid}, {"desiredAPIVersion", api_version}, {"objects", std::move(wanted)}})},
       // As the real server sends it.
       {"response",
        Value::Object({{"uid", ""}, {"convertedObjects", Value()}, {"result", Value::Object({{"metadata", Value::Object()}})}})}});
  Result<std::string> body = caller_.Post(ctx, conversion.target,
                                          {.body = kube::internal::ToWireJson(kube::internal::ToJsonBytes(request)),
                                           .user_agent = "kube-apiserver-admission",
                                           .max_answer = kMostAnswered});
  if (!body) return Failed(first, "failed: " + body.error().message());
  Result<std::vector<Value>> answer = ReadConversionAnswer(*body, review, uid);
  if (!answer) return Failed(first, "failed: " + answer.error().message());
  if (answer->size() != places.size()) return Failed(first, fmt::format("returned {} objects, expected {}", answer->size(), places.size()));
  for (std::size_t i = 0; i < places.size(); ++i) {
    Value& object = objects[places[i]];
    Result<Value> accepted = AcceptConverted(object, std::move((*answer)[i]), api_version);
    if (!accepted) return Failed(object, accepted.error().message());
    object = *std::move(accepted);
    target->second->Prune(object);
  }
  return objects;
}

Result<Value> Converter::Read(const Context& ctx, const ServedResource& r, const StoredObject& stored) {
  Value object = stored.Parse();
  const CustomConversion& conversion = *r.custom->conversion;
  if (auto own = conversion.schemas.find(VersionOf(object)); own != conversion.schemas.end()) Normalise(*own->second, object);
  Result<std::vector<Value>> converted = Convert(ctx, conversion, {std::move(object)}, r.api_version());
  if (!converted) return converted.error();
  return std::move(converted->front());
}

Result<std::vector<ObjectPtr>> Converter::ConvertStored(const Context& ctx, const ServedResource& r, std::vector<ObjectPtr> objects) {
  const CustomConversion& conversion = *r.custom->conversion;
  std::vector<Value> others;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (!NeedsConversion(r, *objects[i])) continue;
    if (ObjectPtr made = Find(objects[i], r)) {
      objects[i] = std::move(made);
      continue;
    }
    Value object = objects[i]->Parse();
    if (auto own = conversion.schemas.find(VersionOf(object)); own != conversion.schemas.end()) Normalise(*own->second, object);
    others.push_back(std::move(object));
    places.push_back(i);
  }
  if (others.empty()) return objects;
  Result<std::vector<Value>> converted = Convert(ctx, conversion, std::move(others), r.api_version());
  if (!converted) return converted.error();
  for (std::size_t i = 0; i < places.size(); ++i) {
    ObjectPtr& object = objects[places[i]];
    auto made = std::make_shared<StoredObject>(*object);
    made->json = std::make_shared<const std::string>(kube::internal::ToJsonBytes((*converted)[i]));
    made->form = r.custom->schema;
    Keep(object, r, made);
    object = std::move(made);
  }
  return objects;
}

ObjectPtr Converter::Find(const ObjectPtr& from, const ServedResource& r) const {
  MutexLock lock(mu_);
  const auto [begin, end] = kept_.equal_range(from.get());
  for (auto it = begin; it != end; ++it) {
    if (it->second.version == r.custom && it->second.from.lock() == from) return it->second.made;
  }
  return nullptr;
}

void Converter::Keep(const ObjectPtr& from, const ServedResource& r, ObjectPtr made) {
  MutexLock lock(mu_);
  if (kept_.size() >= kMostKept) {
    std::erase_if(kept_, [](const auto& entry) { return entry.second.from.expired(); });
    if (kept_.size() >= kMostKept / 2) kept_.clear();
  }
  kept_.emplace(from.get(), Kept{.from = from, .version = r.custom, .made = std::move(made)});
}

}  // namespace kube::apiserver
