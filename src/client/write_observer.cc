#include "kube/client/write_observer.h"

#include <utility>
#include <vector>

#include "client/object_codec.h"
#include "client/write_report.h"
#include "kube/codec/field_selection.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"
#include "kube/meta/dynamic_object.h"

namespace kube {
namespace {

using Effect = ObservedWrite::Effect;

// Both of them: an observer does not hide the one outside.
class BothObservers : public WriteObserver {
 public:
  BothObservers(std::shared_ptr<WriteObserver> inner, std::shared_ptr<WriteObserver> outer)
      : inner_(std::move(inner)), outer_(std::move(outer)) {}
  void Wrote(const ObservedWrite& write) override {
    inner_->Wrote(write);
    outer_->Wrote(write);
  }

 private:
  const std::shared_ptr<WriteObserver> inner_, outer_;
};

// Nothing holds it any more: this write was its end, although the answer has it once more.
bool IsGone(const meta::v1::ObjectMeta& metadata) {
  return !metadata.deletion_timestamp.IsZero() && metadata.finalizers.empty() && metadata.deletion_grace_period_seconds.value_or(0) == 0;
}

void Tell(WriteObserver& observer, Effect effect, const ClientCore& core, const internal::WriteCall& call, const ObjectKey& key,
          const meta::v1::ObjectMeta& metadata, std::optional<Map<String>> labels = {}) {
  observer.Wrote({.effect = effect,
                  .gvr = call.target.gvr,
                  .key = key,
                  .uid = metadata.uid,
                  .resource_version = metadata.resource_version,
                  .labels = std::move(labels),
                  .client = core,
                  .verb = call.verb,
                  .subresource = call.subresource,
                  .kind = call.target.gvk.kind.view()});
}

// Nothing of an object but its metadata, which all kinds have in the same place; also of a list of them.
const DecodeOptions& MetadataAlone() {
  static const FieldSelection fields = FieldSelection::Only(std::vector<std::string>()).value();
  static const DecodeOptions options{.fields = &fields};
  return options;
}

using Metadata = meta::v1::PartialObjectMetadata;

// An answer without what says how it is packed.
struct Unpacked {
  bool protobuf = false;
  bool status = false;
  std::string_view type{};
  std::string_view body{};
};
Unpacked Unpack(const HttpResponse& response) {
  Unpacked out{.type = response.headers.Get("content-type"), .body = response.body};
  if (internal::FormatOf(out.type) != internal::BodyFormat::kProtobuf) return out;
  const Result<ProtobufEnvelope> envelope = ParseProtobufEnvelope(response.body);
  if (!envelope) return out;
  out.body = envelope->raw;
  out.protobuf = envelope->content_type != internal::kJsonType;
  out.status = envelope->kind == "Status";
  if (!out.protobuf) out.type = internal::kJsonType;
  return out;
}

std::optional<meta::v1::Status> SuccessIn(const Unpacked& answer) {
  if (answer.protobuf && !answer.status) return std::nullopt;
  meta::v1::Status status;
  const Result<void> read = answer.protobuf
                                ? DecodeProtobuf(meta::v1::Status::kType, &status, answer.body)
                                : internal::DecodeObject(&meta::v1::Status::kType, false, answer.type, answer.body, {}, &status);
  if (!read || status.status != "Success") return std::nullopt;
  return status;
}

}  // namespace

WriteObserver::~WriteObserver() = default;

Context ObserveWrites(const Context& ctx, std::shared_ptr<WriteObserver> observer) {
  if (std::shared_ptr<WriteObserver> outer = ctx.Value<WriteObserver>()) {
    observer = std::make_shared<BothObservers>(std::move(observer), std::move(outer));
  }
  return ctx.WithValue(std::move(observer));
}

namespace internal {

void ReportWrite(const ClientCore& core, const Context& ctx, const WriteCall& call, const void* answer) {
  const ResourceTarget& target = call.target;
  const std::shared_ptr<WriteObserver> observer = ctx.Value<WriteObserver>();
  if (observer == nullptr) return;
  const auto tell = [&](const meta::v1::ObjectMeta& metadata) {
    Tell(*observer, IsGone(metadata) ? Effect::kGone : Effect::kStored, core, call, KeyOf(metadata), metadata, metadata.labels);
  };
  if (target.type == nullptr) {
    tell(static_cast<const DynamicObject*>(answer)->metadata());
  } else if (const meta::v1::ObjectMeta* metadata = MetadataOf(*target.type, answer)) {
    tell(*metadata);
  }
}

void ReportMetadata(const ClientCore& core, const Context& ctx, const WriteCall& call, const ObjectKey& key,
                    const meta::v1::ObjectMeta& metadata) {
  const std::shared_ptr<WriteObserver> observer = ctx.Value<WriteObserver>();
  if (observer == nullptr || metadata.resource_version.empty() || KeyOf(metadata) != key) return;
  Tell(*observer, Effect::kStored, core, call, key, metadata);
}

void ReportDeletion(const ClientCore& core, const Context& ctx, const WriteCall& call, const ObjectKey& key, const DeleteOptions& options,
                    const HttpResponse& response) {
  const std::shared_ptr<WriteObserver> observer = ctx.Value<WriteObserver>();
  if (observer == nullptr) return;
  const Unpacked answer = Unpack(response);
  Metadata object;
  if (const std::optional<meta::v1::Status> status = SuccessIn(answer)) {
    object.metadata.uid = options.uid.empty() && status->details ? status->details->uid : String(options.uid);
    object.metadata.resource_version = String(options.resource_version);  // it was of this version
    Tell(*observer, Effect::kGone, core, call, key, object.metadata);
    return;
  }
  const Result<void> read = answer.protobuf ? DecodeProtobuf(Metadata::kType, &object, answer.body, MetadataAlone())
                                            : DecodeObject(&Metadata::kType, true, answer.type, answer.body, MetadataAlone(), &object);
  if (read && KeyOf(object.metadata) == key) {
    Tell(*observer, IsGone(object.metadata) ? Effect::kGone : Effect::kDeleting, core, call, key, object.metadata);
  } else {
    ReportDeleting(core, ctx, call, key, options.uid);
  }
}

void ReportDeletions(const ClientCore& core, const Context& ctx, const WriteCall& call, const HttpResponse& response) {
  const std::shared_ptr<WriteObserver> observer = ctx.Value<WriteObserver>();
  if (observer == nullptr) return;
  const Unpacked answer = Unpack(response);
  ObjectList<Metadata> list;
  const Result<void> read = answer.protobuf ? DecodeProtobuf(ListTableOf(Metadata::kType), &list, answer.body, MetadataAlone())
                                            : DecodeObjectList(&Metadata::kType, true, answer.type, answer.body, MetadataAlone(), &list);
  if (!read) return;
  // An object that was deleted at once has no deletionTimestamp in the answer; one that stays for a while may not have it yet either.
  for (const Metadata& item : list) {
    meta::v1::ObjectMeta metadata = item.metadata;
    metadata.resource_version = {};
    Tell(*observer, Effect::kDeleting, core, call, KeyOf(metadata), metadata);
  }
}

void ReportDeleting(const ClientCore& core, const Context& ctx, const WriteCall& call, const ObjectKey& key, std::string_view uid) {
  const std::shared_ptr<WriteObserver> observer = ctx.Value<WriteObserver>();
  if (observer == nullptr) return;
  meta::v1::ObjectMeta metadata;
  metadata.uid = String(uid);
  Tell(*observer, Effect::kDeleting, core, call, key, metadata);
}

}  // namespace internal
}  // namespace kube
