#include <optional>
#include <string>
#include <utility>

#include "client/client_core.h"
#include "client/object_codec.h"
#include "client/request.h"
#include "client/watch_stream.h"
#include "client/write_report.h"
#include "kube/base/log.h"
#include "kube/client/resource_client.h"
#include "kube/codec/interner.h"
#include "kube/codec/json.h"
#include "kube/meta/v1.h"
#include "kube/transport/transport_errors.h"
#include "kube/value/time.h"

namespace kube::internal {
namespace {

constexpr std::string_view kProtobufFirst = "application/vnd.kubernetes.protobuf,application/json";
constexpr std::string_view kMetadata =
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
constexpr std::string_view kMetadataList =
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

bool PrefersProtobuf(const ClientCore& core, const Gvr& gvr, const TypeInfo* type) {
  if (type == nullptr || !HasProtobuf(*type) || core.protobuf_refusals.Has(gvr)) return false;
  return core.config.content_type.empty() || core.config.content_type == kProtobufType;
}

// Removes protobuf, the first entry, from one of the Accept headers above.
std::string_view WithoutProtobuf(std::string_view accept) { return accept.substr(accept.find(',') + 1); }

std::string_view AcceptFor(const ClientCore& core, const Gvr& gvr, const TypeInfo* type, bool metadata_only, bool list) {
  if (metadata_only) {
    const std::string_view accept = list ? kMetadataList : kMetadata;
    return core.protobuf_refusals.Has(gvr) ? WithoutProtobuf(accept) : accept;
  }
  if (type == nullptr) return kJsonType;
  return PrefersProtobuf(core, gvr, type) ? kProtobufFirst : "application/json, */*";
}

// A call on its way from the verb to HTTP.
struct Call {
  std::string_view verb;
  std::string_view method;
  ResourcePath path;
  Query query{};
  EncodedBody body{};
  // What a protobuf body was made of, in case the server wants it in JSON.
  const TypeInfo* body_type = nullptr;
  const void* body_object = nullptr;
  std::string_view accept{};
  bool streaming = false;
};

std::string WhatIs(const Call& call) { return std::string(call.verb) + " " + call.path.Describe(); }

// Takes the bytes of the body, and nothing else of the call.
Result<HttpResponse> SendOnce(const ClientCore& core, const Context& ctx, Call& call) {
  Result<std::string> target = call.path.ToTarget();
  if (!target) return target.error().WithContext(WhatIs(call));
  const std::string query = EncodeQuery(call.query);
  HttpRequest request;
  request.method = call.method;
  request.target = query.empty() ? *std::move(target) : *target + "?" + query;
  request.headers.Add("Accept", std::string(call.accept));
  if (!call.body.content_type.empty()) request.headers.Add("Content-Type", std::string(call.body.content_type));
  request.body = std::move(call.body.bytes);
  request.streaming = call.streaming;
  request.verb = call.verb;
  request.url_template = call.path.ToTemplate();
  return core.Send(ctx, std::move(request), WhatIs(call));
}

constexpr int kNotAcceptable = 406;
constexpr int kUnsupportedMediaType = 415;

// A server that refuses protobuf (an aggregated one, or a proxy) is asked again in JSON, and for this resource from then on. Servers choose
// the formats before they do anything, so a write that was refused like this has had no effect.
Result<HttpResponse> Send(const ClientCore& core, const Context& ctx, Call call) {
  if (core.config.timeout.count() > 0 && !call.streaming) {
    call.query.emplace("timeout", Duration(core.config.timeout).ToString());
  }
  const bool accepts_protobuf = call.accept.starts_with(kProtobufType);
  const bool sends_protobuf = call.body.content_type == kProtobufType;
  if (!accepts_protobuf && !sends_protobuf) return SendOnce(core, ctx, call);
  std::string bytes = sends_protobuf ? std::string() : call.body.bytes;  // patches and options: short
  Result<HttpResponse> response = SendOnce(core, ctx, call);
  if (response) return response;
  const int code = response.error().http_code();
  if (!(code == kUnsupportedMediaType && sends_protobuf) && !(code == kNotAcceptable && accepts_protobuf)) return response;
  call.accept = accepts_protobuf ? WithoutProtobuf(call.accept) : call.accept;
  if (sends_protobuf) {
    Result<EncodedBody> body = EncodeObject(call.body_type, call.body_object, false);
    if (!body) return body.error().WithContext(WhatIs(call));
    call.body = *std::move(body);
  } else {
    call.body.bytes = std::move(bytes);
  }
  response = SendOnce(core, ctx, call);
  const int now = response ? 0 : response.error().http_code();
  const bool understood = response || (now != 0 && now != kUnsupportedMediaType && now != kNotAcceptable);
  if (understood && core.protobuf_refusals.Add(*call.path.gvr)) {
    static const Logger logger("client");
    logger.V(2).Info("Server refuses protobuf, using JSON", {{"resource", call.path.gvr->ToString()}, {"code", code}});
  }
  return response;
}

// One object in the answer.
Result<void> SendForObject(const ClientCore& core, const Context& ctx, const ResourceTarget& target, Call call,
                           const DecodeOptions& options, void* object) {
  const std::string what = WhatIs(call);
  Result<HttpResponse> response = Send(core, ctx, std::move(call));
  if (!response) return response.error();
  Result<void> decoded =
      DecodeObject(target.type, target.metadata_only, response->headers.Get("content-type"), response->body, options, object);
  if (!decoded) return decoded.error().WithContext(what);
  return {};
}

// A named object. For a kind that is known to be namespaced, the namespace has to be there; for one that is not, it must not.
Result<void> CheckNamed(const ResourceTarget& target, std::string_view ns, std::string_view name) {
  if (name.empty()) return Error::Invalid("resource name may not be empty");
  if (!target.namespaced) return {};
  if (*target.namespaced && ns.empty()) return Error::Invalid("an empty namespace may not be set when a resource name is provided");
  if (!*target.namespaced && !ns.empty()) {
    return Error::Invalid(target.gvr.group_resource().ToString() + " are not namespaced, but the key names the namespace \"" +
                          std::string(ns) + "\"");
  }
  return {};
}

ResourcePath PathOf(const ResourceTarget& target, const ObjectKey& key, std::string_view subresource) {
  return {.gvr = &target.gvr, .ns = key.ns.view(), .name = key.name.view(), .subresource = subresource};
}

Error OnlyMetadata() {
  return Error::Invalid("a metadata-only client cannot create, update or apply objects: use Patch, or a client for the whole kind");
}

// A write that answers with the object.
Result<void> SendWrite(const ClientCore& core, const Context& ctx, const ResourceTarget& target, Call call, bool dry_run, void* answer) {
  const WriteCall write{target, call.verb == "apply" ? "patch" : call.verb, call.path.subresource};
  Result<void> sent = SendForObject(core, ctx, target, std::move(call), {}, answer);
  if (sent && !dry_run) ReportWrite(core, ctx, write, answer);
  return sent;
}

// With the object as the body, and one in the answer.
Result<void> SendObject(const ClientCore& core, const Context& ctx, const ResourceTarget& target, Call call, const void* object,
                        bool dry_run, void* answer) {
  if (target.metadata_only) return OnlyMetadata();
  Result<EncodedBody> body = EncodeObject(target.type, object, PrefersProtobuf(core, target.gvr, target.type));
  if (!body) return body.error().WithContext(WhatIs(call));
  call.body = *std::move(body);
  call.body_type = target.type;
  call.body_object = object;
  call.accept = AcceptFor(core, target.gvr, target.type, false, false);
  return SendWrite(core, ctx, target, std::move(call), dry_run, answer);
}

}  // namespace

Result<void> GetObject(const ClientCore& core, const Context& ctx, const ResourceTarget& target, const ObjectKey& key,
                       std::string_view subresource, const GetOptions& options, void* object) {
  Call call{.verb = "get", .method = "GET", .path = PathOf(target, key, subresource)};
  if (Result<void> ok = CheckNamed(target, key.ns.view(), key.name.view()); !ok) return ok.error().WithContext(WhatIs(call));
  if (!options.resource_version.empty()) call.query.emplace("resourceVersion", options.resource_version);
  call.accept = AcceptFor(core, target.gvr, target.type, target.metadata_only, false);
  return SendForObject(core, ctx, target, std::move(call), options.decode, object);
}

Result<void> ListObjects(const ClientCore& core, const Context& ctx, const ResourceTarget& target, const ListOptions& options, void* list) {
  Call call{.verb = "list", .method = "GET", .path = {.gvr = &target.gvr, .ns = options.ns}};
  if (target.namespaced == false && !options.ns.empty()) {
    return Error::Invalid("they are not namespaced, but the options name a namespace").WithContext(WhatIs(call));
  }
  call.query = ToQuery(options);
  call.accept = AcceptFor(core, target.gvr, target.type, target.metadata_only, true);
  const std::string what = WhatIs(call);
  Result<HttpResponse> response = Send(core, ctx, std::move(call));
  if (!response) return response.error();
  // Objects of one list are much alike: shared parts are decoded once. For short lists the table costs more than it saves.
  constexpr std::size_t kWorthSharing = 256 * 1024;
  std::optional<Interner> interner;
  DecodeOptions decode = options.decode;
  if (decode.interner == nullptr && response->body.size() >= kWorthSharing) decode.interner = &interner.emplace();
  Result<void> decoded = DecodeObjectList(target.type, target.metadata_only, response->headers.Get("content-type"), response->body, decode,
                                          list, options.undecodable);
  if (!decoded) return decoded.error().WithContext(what);
  return {};
}

Result<std::unique_ptr<WatchStream>> WatchObjects(const ClientCore& core, const Context& ctx, const ResourceTarget& target,
                                                  const WatchOptions& options) {
  Call call{.verb = "watch", .method = "GET", .path = {.gvr = &target.gvr, .ns = options.ns}};
  if (target.namespaced == false && !options.ns.empty()) {
    return Error::Invalid("they are not namespaced, but the options name a namespace").WithContext(WhatIs(call));
  }
  call.query = ToQuery(options);
  call.accept = AcceptFor(core, target.gvr, target.type, target.metadata_only, false);
  call.streaming = true;
  const std::string what = WhatIs(call);
  Result<HttpResponse> response = Send(core, ctx, std::move(call));
  if (!response) {
    if (!IsProbableEof(response.error())) return response.error();
    // A connection that broke while the watch was being opened, and again each time that it was tried: as a watch that ended at once.
    HttpResponse empty;
    empty.headers.Add("Content-Type", std::string(kJsonType));
    empty.stream = MakeBodyStream("");
    return MakeWatchStream(target, options, what, std::move(empty));
  }
  return MakeWatchStream(target, options, what, *std::move(response));
}

Result<void> CreateObject(const ClientCore& core, const Context& ctx, const ResourceTarget& target, const void* object,
                          const CreateOptions& options, void* answer) {
  const ObjectKey key = KeyOfObject(target.type, object);
  Call call{.verb = "create", .method = "POST", .path = {.gvr = &target.gvr, .ns = key.ns.view()}, .query = ToQuery(options)};
  if (target.namespaced == true && key.ns.empty()) {
    return Error::Invalid("an empty namespace may not be set during creation").WithContext(WhatIs(call));
  }
  return SendObject(core, ctx, target, std::move(call), object, options.dry_run, answer);
}

Result<void> UpdateObject(const ClientCore& core, const Context& ctx, const ResourceTarget& target, std::string_view subresource,
                          const void* object, const UpdateOptions& options, void* answer) {
  const ObjectKey key = KeyOfObject(target.type, object);
  Call call{.verb = "update", .method = "PUT", .path = PathOf(target, key, subresource), .query = ToQuery(options)};
  if (Result<void> ok = CheckNamed(target, key.ns.view(), key.name.view()); !ok) return ok.error().WithContext(WhatIs(call));
  return SendObject(core, ctx, target, std::move(call), object, options.dry_run, answer);
}

Result<void> PatchObject(const ClientCore& core, const Context& ctx, const ResourceTarget& target, const ObjectKey& key,
                         std::string_view subresource, const Patch& patch, const PatchOptions& options, void* answer) {
  Call call{.verb = "patch", .method = "PATCH", .path = PathOf(target, key, subresource)};
  if (Result<void> ok = CheckNamed(target, key.ns.view(), key.name.view()); !ok) return ok.error().WithContext(WhatIs(call));
  call.query = ToQuery(options);
  call.body = {.bytes = patch.body, .content_type = patch.content_type()};
  call.accept = AcceptFor(core, target.gvr, target.type, target.metadata_only, false);
  return SendWrite(core, ctx, target, std::move(call), options.dry_run, answer);
}

Result<void> ApplyObject(const ClientCore& core, const Context& ctx, const ResourceTarget& target, std::string_view subresource,
                         const void* object, const ApplyOptions& options, void* answer) {
  if (target.metadata_only) return OnlyMetadata();
  const ObjectKey key = KeyOfObject(target.type, object);
  Call call{.verb = "apply", .method = "PATCH", .path = PathOf(target, key, subresource)};
  if (Result<void> ok = CheckNamed(target, key.ns.view(), key.name.view()); !ok) return ok.error().WithContext(WhatIs(call));
  if (options.field_manager.empty()) {
    return Error::Invalid("server-side apply needs a field manager: set ApplyOptions::field_manager").WithContext(WhatIs(call));
  }
  const meta::v1::ObjectMeta* metadata = target.type == nullptr ? nullptr : MetadataOf(*target.type, object);
  const bool managed = target.type == nullptr ? !(*static_cast<const DynamicObject*>(object))["metadata"]["managedFields"].list().empty()
                                              : metadata != nullptr && !metadata->managed_fields.empty();
  if (managed) {
    return Error::Invalid(
               "cannot apply an object with managed fields already set: apply only the fields that you want, not a whole object "
               "that was read from the server")
        .WithContext(WhatIs(call));
  }
  Result<EncodedBody> body = EncodeObject(target.type, object, false);
  if (!body) return body.error().WithContext(WhatIs(call));
  call.query = ToQuery(options);
  call.body = *std::move(body);
  call.body.content_type = "application/apply-patch+yaml";
  call.accept = AcceptFor(core, target.gvr, target.type, false, false);
  return SendWrite(core, ctx, target, std::move(call), options.dry_run, answer);
}

Result<void> DeleteObject(const ClientCore& core, const Context& ctx, const ResourceTarget& target, const ObjectKey& key,
                          const DeleteOptions& options) {
  Call call{.verb = "delete", .method = "DELETE", .path = PathOf(target, key, {})};
  if (Result<void> ok = CheckNamed(target, key.ns.view(), key.name.view()); !ok) return ok.error().WithContext(WhatIs(call));
  call.body.bytes = ToBody(options);
  if (!call.body.bytes.empty()) call.body.content_type = kJsonType;
  call.accept = AcceptFor(core, target.gvr, target.type, false, false);
  Result<HttpResponse> response = Send(core, ctx, std::move(call));
  if (!response) return response.error();
  if (!options.dry_run) ReportDeletion(core, ctx, {target, "delete"}, key, options, *response);
  return {};
}

Result<void> DeleteObjects(const ClientCore& core, const Context& ctx, const ResourceTarget& target, const ListOptions& which,
                           const DeleteOptions& options) {
  Call call{.verb = "deletecollection", .method = "DELETE", .path = {.gvr = &target.gvr, .ns = which.ns}};
  if (target.namespaced == true && which.ns.empty()) {
    return Error::Invalid("deleting a collection needs a namespace").WithContext(WhatIs(call));
  }
  call.query = ToQuery(which);
  call.body.bytes = ToBody(options);
  if (!call.body.bytes.empty()) call.body.content_type = kJsonType;
  call.accept = AcceptFor(core, target.gvr, target.type, false, false);
  Result<HttpResponse> response = Send(core, ctx, std::move(call));
  if (!response) return response.error();
  if (!options.dry_run) ReportDeletions(core, ctx, {target, "deletecollection"}, *response);
  return {};
}

Result<void> CallSubresource(const ClientCore& core, const Context& ctx, const ResourceTarget& target, const ObjectKey& key,
                             std::string_view subresource, std::string_view method, const TypeInfo* body_type, const void* body,
                             const WriteOptions& options, const TypeInfo* answer_type, void* answer) {
  const std::string_view verb = method == "GET" ? "get" : method == "PUT" ? "update" : "create";
  Call call{.verb = verb, .method = method, .path = PathOf(target, key, subresource)};
  if (Result<void> ok = CheckNamed(target, key.ns.view(), key.name.view()); !ok) return ok.error().WithContext(WhatIs(call));
  const std::string what = WhatIs(call);
  if (body != nullptr) {
    Result<EncodedBody> encoded = EncodeObject(body_type, body, PrefersProtobuf(core, target.gvr, body_type));
    if (!encoded) return encoded.error().WithContext(what);
    call.query = ToQuery(options);
    call.body = *std::move(encoded);
    call.body_type = body_type;
    call.body_object = body;
  }
  call.accept = AcceptFor(core, target.gvr, answer_type, false, false);
  Result<HttpResponse> response = Send(core, ctx, std::move(call));
  if (!response) return response.error();
  Result<void> decoded = DecodeObject(answer_type, false, response->headers.Get("content-type"), response->body, {}, answer);
  if (!decoded) return decoded.error().WithContext(what);
  if (body != nullptr && !options.dry_run) {
    const meta::v1::ObjectMeta* metadata = MetadataOf(*answer_type, answer);
    const WriteCall write{target, verb, subresource};
    if (subresource == "eviction") ReportDeleting(core, ctx, write, key, {});
    if (metadata != nullptr) ReportMetadata(core, ctx, write, key, *metadata);
  }
  return {};
}

}  // namespace kube::internal
