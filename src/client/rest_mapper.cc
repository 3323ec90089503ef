#include "kube/client/rest_mapper.h"

#include <algorithm>
#include <set>
#include <utility>

#include "client/discovery_parse.h"
#include "client/request.h"
#include "client/rest_index.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/transport/http.h"

namespace kube {
namespace {

using internal::RestIndex;

constexpr std::string_view kNoMatch = "NoMatch";

Error NoMatch(std::string message) {
  Error::Payload payload;
  payload.kind = ErrorKind::kInvalid;
  payload.reason = kNoMatch;
  payload.message = std::move(message);
  return Error(std::move(payload));
}

std::string Quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

Error NoKind(const GroupKind& kind, const std::vector<String>& versions) {
  std::set<std::string> searched;
  for (const String& version : versions) searched.insert(Quoted(GroupVersion{kind.group, version}.ToString()));
  const std::string start = "no matches for kind " + Quoted(kind.kind);
  if (searched.empty()) return NoMatch(start + " in group " + Quoted(kind.group));
  if (searched.size() == 1) return NoMatch(start + " in version " + *searched.begin());
  std::string all;
  for (const std::string& version : searched) all += (all.empty() ? "" : " ") + version;
  return NoMatch(start + " in versions [" + all + "]");
}

ResourceClient<DynamicObject> ClientFor(const Client& client, const RestMapping& mapping) {
  ResourceTarget target;
  target.gvr = mapping.gvr;
  target.gvk = mapping.gvk;
  target.namespaced = mapping.namespaced;
  return client.ResourceAt(std::move(target));
}

std::vector<String> GivenVersions(const std::vector<String>& versions) {
  std::vector<String> out;
  std::copy_if(versions.begin(), versions.end(), std::back_inserter(out), [](const String& v) { return !v.empty(); });
  return out;
}

}  // namespace

bool IsNoMatch(const Error& e) { return e.kind() == ErrorKind::kInvalid && e.reason() == kNoMatch; }

class RestMapper::Impl {
 public:
  Impl(Discovery discovery, RestMapperOptions options)
      : discovery_(std::move(discovery)), options_(std::move(options)), tokens_(options_.refresh_burst) {}

  // `lookup` gives something that is empty on a miss; `miss` says what was not found, and where it should have been.
  template <typename Lookup, typename Miss>
  auto Find(const Context& ctx, const Lookup& lookup, const Miss& miss)
      -> Result<std::decay_t<decltype(lookup(std::declval<RestIndex&>()))>> {
    Result<std::shared_ptr<const ServerApis>> apis = discovery_.Apis(ctx);
    if (!apis) return apis.error();
    std::shared_ptr<const RestIndex> index = IndexOf(*apis);
    if (auto found = lookup(*index); Has(found)) return found;
    // What files say may be hours old.
    if (discovery_.fresh() && !MayRefresh(*ctx.clock())) return miss(*index);
    apis = discovery_.Refresh(ctx, *apis);
    if (!apis) return apis.error().WithContext("refresh the discovery after a miss");
    index = IndexOf(*apis);
    if (auto found = lookup(*index); Has(found)) return found;
    return miss(*index);
  }

  void Warn(std::string_view short_name, const GroupResource& chosen, const GroupResource& other) {
    {
      MutexLock lock(mu_);
      if (!warned_.insert(std::string(short_name) + " " + other.ToString()).second) return;
    }
    const std::string text = "short name " + Quoted(short_name) + " could also match lower priority resource " + other.ToString();
    if (options_.warning_handler) {
      options_.warning_handler(text);
      return;
    }
    static const Logger log("client.mapper");
    log.Warn("A short name is ambiguous", {{"shortName", short_name}, {"chosen", chosen.ToString()}, {"other", other.ToString()}});
  }

  const Discovery& discovery() const { return discovery_; }

 private:
  template <typename T>
  static bool Has(const std::optional<T>& found) {
    return found.has_value();
  }
  template <typename T>
  static bool Has(const std::vector<T>& found) {
    return !found.empty();
  }

  std::shared_ptr<const RestIndex> IndexOf(const std::shared_ptr<const ServerApis>& apis) {
    MutexLock lock(mu_);
    if (index_ == nullptr || index_->apis() != apis) index_ = std::make_shared<const RestIndex>(apis);
    return index_;
  }

  bool MayRefresh(const Clock& clock) {
    MutexLock lock(mu_);
    const Clock::TimePoint now = clock.Now();
    if (options_.refresh_interval.count() <= 0) return true;
    if (last_ && now > *last_) {
      const double gained = static_cast<double>((now - *last_).count()) / static_cast<double>(options_.refresh_interval.count());
      tokens_ = std::min<double>(options_.refresh_burst, tokens_ + gained);
    }
    last_ = now;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

  const Discovery discovery_;
  const RestMapperOptions options_;
  Mutex mu_;
  std::shared_ptr<const RestIndex> index_ KUBE_GUARDED_BY(mu_);
  double tokens_ KUBE_GUARDED_BY(mu_);
  std::optional<Clock::TimePoint> last_ KUBE_GUARDED_BY(mu_);
  std::set<std::string> warned_ KUBE_GUARDED_BY(mu_);
};

RestMapper::RestMapper(Discovery discovery, RestMapperOptions options)
    : impl_(std::make_shared<Impl>(std::move(discovery), std::move(options))) {}

namespace {

// The error if nothing was found: a part that could not be read may well have it.
Error MissOr(const RestIndex& index, const std::vector<GroupVersion>& places, Error no_match) {
  for (const GroupVersion& place : places) {
    if (index.MayBeInFailure(place)) return index.apis()->error()->WithContext(no_match.message());
  }
  return no_match;
}

std::vector<GroupVersion> PlacesOf(const String& group, const std::vector<String>& versions) {
  std::vector<GroupVersion> places;
  for (const String& version : versions) places.push_back({group, version});
  if (places.empty()) places.push_back({group, ""});
  return places;
}

}  // namespace

Result<RestMapping> RestMapper::ForKind(const Context& ctx, const Gvk& gvk) const { return ForKind(ctx, gvk.group_kind(), {gvk.version}); }

Result<RestMapping> RestMapper::ForKind(const Context& ctx, const GroupKind& kind, const std::vector<String>& versions) const {
  const std::vector<String> given = GivenVersions(versions);
  Result<std::vector<RestMapping>> found = impl_->Find(
      ctx, [&](const RestIndex& index) { return index.Kinds(kind, given); },
      [&](const RestIndex& index) { return MissOr(index, PlacesOf(kind.group, given), NoKind(kind, given)); });
  if (!found) return found.error();
  return found->front();
}

Result<std::vector<RestMapping>> RestMapper::AllForKind(const Context& ctx, const GroupKind& kind) const {
  return impl_->Find(
      ctx, [&](const RestIndex& index) { return index.Kinds(kind, {}); },
      [&](const RestIndex& index) { return MissOr(index, PlacesOf(kind.group, {}), NoKind(kind, {})); });
}

Result<std::vector<RestMapping>> RestMapper::AllForResource(const Context& ctx, const Gvr& resource) const {
  const auto warn = [this](std::string_view name, const GroupResource& chosen, const GroupResource& other) {
    impl_->Warn(name, chosen, other);
  };
  const auto miss = [&](const RestIndex& index) {
    const Error no_match = NoMatch("no matches for " + resource.ToString());
    // An empty group means any, and no part can be blamed.
    if (resource.group.empty()) return no_match;
    return MissOr(index, {{resource.group, resource.version}}, no_match);
  };
  return impl_->Find(
      ctx, [&](const RestIndex& index) { return index.Resources(resource, warn); }, miss);
}

Result<RestMapping> RestMapper::ForResource(const Context& ctx, const Gvr& resource) const {
  Result<std::vector<RestMapping>> found = AllForResource(ctx, resource);
  if (!found) return found.error();
  return found->front();
}

Result<RestMapping> RestMapper::ForArgument(const Context& ctx, std::string_view text) const {
  const ResourceArg arg = ParseResourceArg(text);
  const auto warn = [this](std::string_view name, const GroupResource& chosen, const GroupResource& other) {
    impl_->Warn(name, chosen, other);
  };
  const auto miss = [&](const RestIndex& index) {
    Error no_match = NoMatch("the server doesn't have a resource type " + Quoted(arg.unversioned.resource));
    std::vector<GroupVersion> places;
    if (arg.versioned) places.push_back({arg.versioned->group, arg.versioned->version});
    if (!arg.unversioned.group.empty()) places.push_back({arg.unversioned.group, ""});
    return MissOr(index, places, std::move(no_match));
  };
  Result<std::optional<RestMapping>> found = impl_->Find(
      ctx, [&](const RestIndex& index) { return index.Argument(text, warn); }, miss);
  if (!found) return found.error();
  return **std::move(found);
}

Result<std::vector<RestMapping>> RestMapper::ForCategory(const Context& ctx, std::string_view category) const {
  return impl_->Find(
      ctx, [&](const RestIndex& index) { return index.Category(category); },
      [&](const RestIndex&) { return NoMatch("the server doesn't have a category " + Quoted(category)); });
}

Result<ResourceClient<DynamicObject>> RestMapper::Resource(const Context& ctx, const Gvk& gvk) const {
  Result<RestMapping> mapping = ForKind(ctx, gvk);
  if (!mapping) return mapping.error();
  return ClientFor(discovery().client(), *mapping);
}

void RestMapper::Reset() const { discovery().Invalidate(); }
const Discovery& RestMapper::discovery() const { return impl_->discovery(); }

Result<ResourceClient<DynamicObject>> ResourceFor(const Context& ctx, const Client& client, const Gvk& gvk) {
  for (const auto& [what, text] : {std::pair("group", gvk.group), std::pair("version", gvk.version)}) {
    if (Result<void> ok = internal::CheckPathSegment(what, text); !ok) return ok.error();
  }
  if (gvk.version.empty() || gvk.kind.empty()) return Error::Invalid("a kind needs a version and a name, got " + gvk.ToString());
  HttpRequest request;
  request.target = gvk.group.empty() ? "/api/" : "/apis/" + internal::EscapePathSegment(gvk.group) + "/";
  request.target += internal::EscapePathSegment(gvk.version);
  request.verb = "get";
  request.url_template = request.target;
  request.headers.Set("Accept", "application/json");
  Result<HttpResponse> response = client.Raw(ctx, std::move(request));
  if (!response) {
    if (IsNotFound(response.error())) return NoKind(gvk.group_kind(), {gvk.version});
    return response.error();
  }
  Result<ApiResourceList> list = internal::ParseApiResourceList(gvk.group_version(), response->body);
  if (!list) return list.error().WithContext("read the resources of " + gvk.api_version().str());
  for (const ApiResource& r : list->resources) {
    if (!r.is_subresource() && r.gvk.kind == gvk.kind) return ClientFor(client, {r.gvr(), gvk, r.namespaced});
  }
  return NoKind(gvk.group_kind(), {gvk.version});
}

}  // namespace kube
