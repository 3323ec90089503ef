#include "kube/control/storage_migration.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "control/crds/crd_client.h"
#include "kube/client/client.h"
#include "kube/client/retry.h"

namespace kube {
namespace {

using internal::CrdClient;

constexpr std::size_t kMostFailures = 100;
constexpr std::uint64_t kReportEvery = 100;  // objects

std::vector<std::string> StoredVersions(const DynamicObject& crd) {
  std::vector<std::string> out;
  for (const Value& version : crd["status"]["storedVersions"].list()) out.push_back(version.string_value().str());
  return out;
}

// Writes at an even pace.
class Pace {
 public:
  Pace(const Context& ctx, double qps) : next_(ctx.clock()->Now()) {
    if (qps > 0) step_ = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(1 / qps));
  }
  Result<void> Wait(const Context& ctx) {
    if (step_ == std::chrono::nanoseconds(0)) return {};
    const Clock::TimePoint now = ctx.clock()->Now();
    if (next_ < now) next_ = now;
    const Clock::TimePoint mine = next_;
    next_ += step_;
    return ctx.SleepUntil(mine);
  }

 private:
  std::chrono::nanoseconds step_{0};
  Clock::TimePoint next_;
};

class Migration {
 public:
  Migration(const Context& ctx, const Client& client, std::string crd, const StorageMigrationOptions& options)
      : ctx_(ctx), client_(client), name_(std::move(crd)), options_(options), pace_(ctx, options.qps) {}

  Result<StorageMigration> Run() {
    Result<DynamicObject> crd = CrdClient(client_).Get(ctx_, {"", String(name_)});
    if (!crd) return crd.error();
    std::string served;
    for (const Value& version : std::as_const(*crd)["spec"]["versions"].list()) {
      const std::string name = version["name"].string_value().str();
      const bool storage = version["storage"].bool_value();
      if (storage) out_.storage_version = name;
      // The storage version if it is served: then nothing has to be converted.
      if (version["served"].bool_value() && (served.empty() || storage)) served = name;
    }
    out_.stored_versions = StoredVersions(*crd);
    if (out_.stored_versions == std::vector<std::string>{out_.storage_version}) {
      out_.trimmed = true;
      return out_;
    }
    if (served.empty()) return Error::Invalid(fmt::format("{} serves no version: its objects cannot be rewritten", name_));
    Begin(*crd);
    const Value& spec = std::as_const(*crd)["spec"];
    const ResourceClient<DynamicObject> objects =
        client_.ResourceAt({.gvr = {spec["group"].string_value(), String(served), spec["names"]["plural"].string_value()},
                            .gvk = {spec["group"].string_value(), String(served), spec["names"]["kind"].string_value()},
                            .namespaced = spec["scope"].string_value() == "Namespaced"});
    if (Result<void> all = RewriteAll(objects); !all) return all.error();
    if (Result<void> trimmed = Trim(); !trimmed) return trimmed.error().WithContext("trim status.storedVersions of " + name_);
    return out_;
  }

 private:
  const Context ctx_;
  const Client& client_;
  const std::string name_;
  const StorageMigrationOptions& options_;
  Pace pace_;
  StorageMigration out_;
  StorageMigrationProgress progress_;
  std::string skip_to_;  // done by an earlier run or before a restart, up to here
  std::string last_;     // the last key that was tried, failures included
  bool ordered_ = true;  // the server lists keys in ascending order
  bool restarted_ = false;
  std::optional<std::uint64_t> reported_;  // objects, with the last report

  void Begin(const DynamicObject& crd) {
    progress_ = {.uid = crd.uid().str(), .generation = crd.generation(), .storage_version = out_.storage_version};
    const StorageMigrationProgress& r = options_.resume;
    if (r.uid == progress_.uid && r.generation == progress_.generation && r.storage_version == progress_.storage_version) {
      skip_to_ = progress_.after = r.after;
    }
  }

  Result<void> RewriteAll(const ResourceClient<DynamicObject>& objects) {
    std::vector<UndecodableObject> undecodable;
    ListOptions list{.limit = options_.page_size};
    list.undecodable = &undecodable;
    int restarts = 0;
    for (;;) {
      undecodable.clear();
      Result<ObjectList<DynamicObject>> page = objects.List(ctx_, list);
      if (!page && (IsResourceExpired(page.error()) || IsGone(page.error())) && !list.continue_token.empty() && ++restarts <= 1000) {
        // A slow run outlives the moment that its pages show. What was tried already is skipped.
        if (ordered_) skip_to_ = std::max(skip_to_, last_);
        restarted_ = true;
        list.continue_token.clear();
        continue;
      }
      if (!page) return page.error();
      // Before the others of the page: a run that continues this one has to begin before them.
      for (const UndecodableObject& object : undecodable) CannotBeDecoded(object);
      const std::uint64_t before = progress_.objects;
      const bool last = page->metadata.continue_.empty();
      const std::optional<std::int64_t> behind = last ? 0 : page->metadata.remaining_item_count;
      for (const DynamicObject& object : *page) {
        const Result<void> done = Rewrite(objects, object);
        if (behind) progress_.remaining = static_cast<std::uint64_t>(*behind) + page->items.size() - (progress_.objects - before);
        if (!done) {
          if (progress_.objects != before) Report();  // a stopped run continues here, not at the page before
          return done;
        }
        if (progress_.objects % kReportEvery == 0) Report();
      }
      Report();
      if (last) return {};
      list.continue_token = page->metadata.continue_.str();
    }
  }

  void Report() {
    if (options_.on_progress && reported_ != progress_.objects) options_.on_progress(progress_);
    reported_ = progress_.objects;
  }

  Result<void> Rewrite(const ResourceClient<DynamicObject>& objects, const DynamicObject& object) {
    const std::string key = object.namespace_().str() + "/" + object.name().str();
    if (!skip_to_.empty() && key <= skip_to_) {
      if (restarted_) return {};
      ++out_.skipped;
      return Done(key);
    }
    if (Result<void> go = pace_.Wait(ctx_); !go) return go;
    const Result<DynamicObject> written = objects.Update(ctx_, object, {.dry_run = options_.dry_run, .field_manager = "kubexx-migration"});
    if (written) {
      ++out_.rewritten;
    } else if (IsConflict(written.error())) {
      ++out_.changed_by_others;
    } else if (IsNotFound(written.error())) {
      ++out_.deleted;
    } else if (ctx_.stopped() || written.error().kind() != ErrorKind::kApi || IsForbidden(written.error()) ||
               IsUnauthorized(written.error())) {
      return written.error();
    } else {
      ++out_.failed;
      if (out_.failures.size() < kMostFailures) out_.failures.push_back(fmt::format("{}: {}", key, written.error().message()));
    }
    return Done(key);
  }

  // It cannot be written either, and keeps none of the others from being rewritten.
  void CannotBeDecoded(const UndecodableObject& object) {
    const std::string key = object.key.ns.str() + "/" + object.key.name.str();
    if (restarted_ && !skip_to_.empty() && key <= skip_to_) return;  // counted already
    ++out_.failed;
    ++progress_.objects;
    if (out_.failures.size() < kMostFailures) out_.failures.push_back(fmt::format("{}: cannot be decoded: {}", key, object.error));
  }

  Result<void> Done(const std::string& key) {
    // A run cannot be resumed if the server lists in another order. After a failure, the next run resumes before the failed object.
    ordered_ = ordered_ && last_ < key;
    last_ = key;
    if (!ordered_) {
      progress_.after.clear();
    } else if (out_.failed == 0) {
      progress_.after = std::max(progress_.after, key);
    }
    ++progress_.objects;
    return {};
  }

  Result<void> Trim() {
    if (options_.dry_run) {
      out_.not_trimmed_because = "this was a dry run";
      return {};
    }
    if (out_.failed != 0) {
      out_.not_trimmed_because = fmt::format("{} objects were not rewritten", out_.failed);
      return {};
    }
    return RetryOnConflict(ctx_, [&]() -> Result<void> {
      Result<DynamicObject> crd = CrdClient(client_).Get(ctx_, {"", String(name_)});
      if (!crd) return crd.error();
      // Any change of the spec: a storage version that changed and changed back would look the same.
      if (crd->uid() != progress_.uid || crd->generation() != progress_.generation) {
        out_.not_trimmed_because = "the definition changed meanwhile: run it again";
        return {};
      }
      crd->mutable_value()["status"]["storedVersions"] = Value::Array({Value(out_.storage_version)});
      Result<DynamicObject> updated = CrdClient(client_).UpdateStatus(ctx_, *crd, {.field_manager = "kubexx-migration"});
      if (!updated) return updated.error();
      out_.trimmed = true;
      return {};
    });
  }
};

}  // namespace

Result<StorageMigration> MigrateStorage(const Context& ctx, const Client& client, const std::string& crd,
                                        const StorageMigrationOptions& options) {
  Result<StorageMigration> done = Migration(ctx, client, crd, options).Run();
  if (!done) return done.error().WithContext("migrate the storage of " + crd);
  return done;
}

}  // namespace kube
