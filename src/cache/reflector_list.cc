// Lists: which version and limit, pages, and what to do if the server has forgotten a version.
#include <algorithm>
#include <utility>

#include "cache/reflector_impl.h"
#include "kube/client/pager.h"

namespace kube::internal {
namespace {
constexpr std::chrono::seconds kSlowList{10};
}  // namespace

ListOptions Reflector::Impl::ListRequest() const {
  ListOptions request;
  request.ns = options_.ns;
  request.label_selector = options_.label_selector;
  request.field_selector = options_.field_selector;
  request.decode = decode_;
  return request;
}

std::optional<Error> Reflector::Impl::List(const Context& ctx) {
  // Any version that the server has at hand will do at first; later ones must not go back in time.
  const std::string version = version_unavailable_ ? "" : version_.empty() ? "0" : version_;
  // With a limit the server reads from its disk, without one from its cache: at a real version only the second can serve many clients
  // that all list again at once. Not so where its first answer came in pages, for then it has no cache.
  std::int64_t limit = kDefaultPageSize;
  if (options_.page_size != 0) {
    limit = options_.page_size;
  } else if (!paginated_ && !version.empty() && version != "0") {
    limit = 0;
  }
  Become(ReflectorState::kListing, "a list is due");
  Flush();
  Count("reflector_lists_total");
  const Clock::TimePoint start = Now();

  Listed listed;
  std::optional<Error> error = ListPages(ctx, version, limit, listed);
  if (error && !ctx.stopped() && (IsExpired(*error) || IsTooLargeResourceVersion(*error))) {
    options_.log.V(4).Info("The server does not have this version: listing the newest", {{"version", version}, {"err", *error}});
    version_unavailable_ = true;
    listed = {};
    error = ListPages(ctx, "", limit, listed);
  }
  if (error) return error;
  if (ctx.stopped()) return std::nullopt;
  if (version == "0" && listed.paginated) paginated_ = true;
  version_unavailable_ = false;

  std::vector<ObjectRef> objects;
  objects.reserve(listed.objects.size());
  for (NewObject& object : listed.objects) {
    if (!Acceptable(WatchEventType::kAdded, object.get()) || Nameless(WatchEventType::kAdded, object.get())) {
      listed.Mark(Unusable(object.get()));
      continue;
    }
    LearnScope(object.get());
    if (std::optional<UndecodableObject> refused = Refused(object.get())) {
      listed.Mark(*std::move(refused));
      continue;
    }
    objects.push_back(std::move(object));
  }
  listed.objects.clear();
  for (UndecodableObject& object : listed.undecodable) object = Placed(std::move(object));
  const std::chrono::nanoseconds took = Now() - start;
  const std::size_t count = objects.size();
  version_ = listed.resource_version;
  ++unflushed_;
  sink_.Replace(std::move(objects), version_, std::move(listed.undecodable));
  {
    MutexLock lock(mu_);
    ++status_.lists;
  }
  Worked(Phase::kList);
  Flush();
  Observe("reflector_list_duration_seconds", std::chrono::duration<double>(took).count());
  Observe("reflector_items_per_list", static_cast<double>(count));
  if (took >= kSlowList) options_.log.Info("A list took long", {{"took", took}, {"objects", count}});
  return std::nullopt;
}

std::optional<Error> Reflector::Impl::ListPages(const Context& ctx, const std::string& version, std::int64_t limit, Listed& out) {
  ListOptions request = ListRequest();
  request.resource_version = version;
  request.limit = limit;
  for (bool first = true;; first = false) {
    if (std::optional<Error> stopped = ctx.Err()) return stopped;
    Result<ListPage> page = source_->List(ctx, request);
    if (!page) {
      if (first || request.continue_token.empty() || !IsExpired(page.error())) return page.error();
      // The moment that the first page showed is forgotten: once more, all at once, at what was asked for.
      options_.log.V(4).Info("The pages of a list have expired: listing all at once", {{"err", page.error()}});
      out.objects.clear();
      out.undecodable.clear();
      request.resource_version = version;
      request.limit = 0;
      request.continue_token.clear();
      page = source_->List(ctx, request);
      if (!page) return page.error();
      first = true;
    }
    heard_ = Now();
    if (first) {
      out.objects = std::move(page->objects);
      out.resource_version = page->resource_version;
    } else {
      out.objects.reserve(out.objects.size() + page->objects.size());
      for (NewObject& object : page->objects) out.objects.push_back(std::move(object));
    }
    for (UndecodableObject& object : page->undecodable) out.Mark(std::move(object));
    if (page->continue_token.empty()) return std::nullopt;
    out.paginated = true;
    request.continue_token = std::move(page->continue_token);
    request.resource_version.clear();
  }
}

}  // namespace kube::internal
