#include "kube/client/discovery.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <set>
#include <utility>

#include "client/client_core.h"
#include "client/discovery_impl.h"
#include "client/request.h"
#include "kube/base/log.h"
#include "kube/base/thread.h"
#include "kube/base/wait_until.h"
#include "kube/client/status_error.h"
#include "kube/codec/json.h"
#include "kube/transport/transport.h"
#include "kube/transport/transport_errors.h"

namespace kube {
namespace {

constexpr std::string_view kGroupDiscoveryFailed = "GroupDiscoveryFailed";
constexpr std::string_view kStaleGroupVersion = "StaleGroupVersion";

const Logger& Log() {
  static const Logger log("client.discovery");
  return log;
}

int LeadingNumber(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Worth another attempt by the next caller.
bool IsPassing(const Error& e) {
  switch (e.kind()) {
    case ErrorKind::kApi:
      return (e.http_code() >= 500 && e.reason() != kStaleGroupVersion) || IsTooManyRequests(e);
    case ErrorKind::kTransport:
      return e.reason() != transport_reason::kTls && e.reason() != transport_reason::kProtocol && e.reason() != transport_reason::kTooLarge;
    case ErrorKind::kTimeout:
    case ErrorKind::kCancelled:
      return true;
    default:
      return false;
  }
}

bool HasPassingFailure(const ServerApis& apis) {
  return std::any_of(apis.failures.begin(), apis.failures.end(), [](const DiscoveryFailure& f) { return IsPassing(f.error); });
}

bool SameContent(const ServerApis& a, const ServerApis& b) {
  return a.failures.empty() && b.failures.empty() && a.groups == b.groups && a.lists == b.lists;
}

Error NotServed(const GroupVersion& group_version) {
  Error::Payload payload;
  payload.kind = ErrorKind::kApi;
  payload.http_code = 404;
  payload.reason = "NotFound";
  payload.message = "the server has no API group-version \"" + group_version.ToString() + "\"";
  return Error(std::move(payload));
}

}  // namespace

// ---- What was found ----

int ServerVersion::major_number() const { return LeadingNumber(major); }
int ServerVersion::minor_number() const { return LeadingNumber(minor); }
bool ServerVersion::AtLeast(int want_major, int want_minor) const {
  return std::pair(major_number(), minor_number()) >= std::pair(want_major, want_minor);
}

bool ApiResource::Supports(std::string_view verb) const { return std::find(verbs.begin(), verbs.end(), verb) != verbs.end(); }

const ApiResource* ApiResourceList::Find(std::string_view name) const {
  const auto it = std::find_if(resources.begin(), resources.end(), [&](const ApiResource& r) { return r.name == name; });
  return it == resources.end() ? nullptr : &*it;
}

bool ApiGroup::Has(std::string_view version) const { return std::find(versions.begin(), versions.end(), version) != versions.end(); }

const ApiGroup* ServerApis::FindGroup(std::string_view name) const {
  const auto it = std::find_if(groups.begin(), groups.end(), [&](const ApiGroup& g) { return g.name == name; });
  return it == groups.end() ? nullptr : &*it;
}

const ApiResourceList* ServerApis::Find(const GroupVersion& group_version) const {
  const auto it = std::find_if(lists.begin(), lists.end(), [&](const ApiResourceList& l) { return l.group_version == group_version; });
  return it == lists.end() ? nullptr : &*it;
}

std::vector<ApiResourceList> ServerApis::Preferred(const std::function<bool(const ApiResource&)>& keep) const {
  std::map<GroupResource, String> chosen;  // the version in which a resource is shown
  for (const ApiResourceList& list : lists) {
    const ApiGroup* group = FindGroup(list.group_version.group);
    const bool preferred = group != nullptr && group->preferred_version == list.group_version.version;
    for (const ApiResource& r : list.resources) {
      if (r.is_subresource()) continue;
      const auto [entry, first] = chosen.try_emplace(GroupResource{list.group_version.group, r.name}, list.group_version.version);
      if (!first && preferred) entry->second = list.group_version.version;
    }
  }
  std::vector<ApiResourceList> out;
  for (const ApiResourceList& list : lists) {
    ApiResourceList shown{list.group_version, {}};
    for (const ApiResource& r : list.resources) {
      if (r.is_subresource() || (keep && !keep(r))) continue;
      if (chosen[{list.group_version.group, r.name}] == list.group_version.version) shown.resources.push_back(r);
    }
    if (!shown.resources.empty()) out.push_back(std::move(shown));
  }
  return out;
}

std::optional<Error> ServerApis::error() const {
  if (failures.empty()) return std::nullopt;
  std::set<std::string> texts;
  for (const DiscoveryFailure& f : failures) texts.insert(f.group_version.ToString() + ": " + f.error.ToString());
  Error::Payload payload;
  payload.kind = ErrorKind::kApi;
  payload.http_code = 503;
  payload.reason = kGroupDiscoveryFailed;
  payload.message = "unable to retrieve the complete list of server APIs";
  std::string_view separator = ": ";
  for (const std::string& text : texts) payload.message.append(std::exchange(separator, ", ")).append(text);
  return Error(std::move(payload));
}

bool IsGroupDiscoveryFailed(const Error& e) { return e.kind() == ErrorKind::kApi && e.reason() == kGroupDiscoveryFailed; }

std::string DefaultDiscoveryCacheDir() {
  if (const char* dir = std::getenv("KUBECACHEDIR"); dir != nullptr && *dir != '\0') return std::string(dir) + "/discovery";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') return std::string(home) + "/.kube/cache/discovery";
  return "";
}

// ---- Requests ----

Discovery::Impl::Impl(Client client, DiscoveryOptions options)
    : client_(std::move(client)), options_(std::move(options)), files_(options_.cache_dir, client_.config().host, options_.ttl) {}

Result<HttpResponse> Discovery::Impl::Get(const Context& ctx, std::string target, std::string accept, const std::string& etag) const {
  HttpRequest request;
  request.target = std::move(target);
  request.verb = "get";
  request.url_template = request.target.substr(0, request.target.find('?'));
  request.headers.Set("Accept", std::move(accept));
  if (!etag.empty()) request.headers.Set("If-None-Match", etag);
  request.timeout = client_.config().timeout.count() > 0 ? client_.config().timeout : options_.timeout;
  request.limiter = client_.core().discovery_limiter;
  const HttpRequest asked{.method = request.method, .target = request.target, .verb = request.verb};
  Result<HttpResponse> response = client_.transport()->RoundTrip(ctx, std::move(request));
  const auto what = [&] { return asked.method + " " + asked.target.substr(0, asked.target.find('?')); };
  if (!response) return response.error().WithContext(what());
  if (response->code == 200 || (response->code == 304 && !etag.empty())) return response;
  return ErrorFromResponse(*response, asked).WithContext(what());
}

Result<Discovery::Impl::CachedRoot> Discovery::Impl::FetchRoot(const Context& ctx, bool core, const CachedRoot& before) const {
  const std::string target = core ? "/api" : "/apis";
  Result<HttpResponse> response = Get(ctx, target, internal::DiscoveryAccept(options_.legacy, options_.no_peer), before.etag);
  if (!response) {
    if (!core || !IsNotFound(response.error())) return response.error();
    // Aggregated API servers have no core group.
    auto none = std::make_shared<internal::DiscoveryRoot>();
    none->aggregated = true;
    return CachedRoot{"", std::move(none)};
  }
  if (response->code == 304) return before;
  const internal::DiscoveryForm form =
      options_.legacy ? internal::DiscoveryForm::kLegacy : internal::DiscoveryFormOf(response->headers.Get("Content-Type"));
  Result<internal::DiscoveryRoot> root = internal::ParseDiscoveryRoot(form, core, response->body);
  if (!root) return root.error().WithContext("read the answer of GET " + target);
  CachedRoot out;
  // In the other form, each server behind a load balancer may have a different ETag.
  if (root->aggregated) out.etag = response->headers.Get("ETag");
  out.root = std::make_shared<const internal::DiscoveryRoot>(*std::move(root));
  return out;
}

Result<ApiResourceList> Discovery::Impl::FetchList(const Context& ctx, const GroupVersion& group_version) const {
  std::string target = group_version.group.empty() ? "/api/" : "/apis/" + internal::EscapePathSegment(group_version.group.view()) + "/";
  target += internal::EscapePathSegment(group_version.version.view());
  Result<HttpResponse> response = Get(ctx, target, "application/json");
  if (!response) {
    if (group_version == GroupVersion{"", "v1"} && IsNotFound(response.error())) return ApiResourceList{group_version, {}};
    return response.error();
  }
  Result<ApiResourceList> list = internal::ParseApiResourceList(group_version, response->body);
  if (!list) return list.error().WithContext("read the answer of GET " + target);
  return list;
}

std::vector<DiscoveryFailure> Discovery::Impl::FetchLists(const Context& ctx, const std::vector<GroupVersion>& wanted, Lists& lists) const {
  std::vector<std::optional<Result<ApiResourceList>>> answers(wanted.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < wanted.size(); i = next++) answers[i] = FetchList(ctx, wanted[i]);
  };
  {
    std::vector<Thread> threads;
    const std::size_t count = std::min(std::max<std::size_t>(options_.parallel, 1), wanted.size());
    for (std::size_t i = 1; i < count; ++i) threads.emplace_back("kube-discovery", work);
    work();
  }
  std::vector<DiscoveryFailure> failures;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (*answers[i]) {
      lists.insert_or_assign(wanted[i], **std::move(answers[i]));
    } else {
      failures.push_back({wanted[i], answers[i]->error()});
    }
  }
  return failures;
}

// ---- Loading ----

std::vector<GroupVersion> Discovery::Impl::Missing(const std::vector<ApiGroup>& groups, const Lists& lists) const {
  std::vector<GroupVersion> missing;
  for (const ApiGroup& group : groups) {
    for (const String& version : group.versions) {
      GroupVersion group_version{group.name, version};
      if (lists.count(group_version) == 0) missing.push_back(std::move(group_version));
    }
  }
  return missing;
}

Discovery::Impl::Apis Discovery::Impl::Assemble(std::vector<ApiGroup> groups, Lists lists, std::vector<DiscoveryFailure> failures) {
  auto apis = std::make_shared<ServerApis>();
  for (const ApiGroup& group : groups) {
    for (const String& version : group.versions) {
      if (auto node = lists.extract(GroupVersion{group.name, version})) apis->lists.push_back(std::move(node.mapped()));
    }
  }
  apis->groups = std::move(groups);
  apis->failures = std::move(failures);
  return apis;
}

Result<Discovery::Impl::Loaded> Discovery::Impl::FromServer(const Context& ctx, Roots roots) {
  Loaded loaded;
  loaded.full = true;
  Lists lists;
  // Groups come and go while they are read: what failed is looked at once more, with a new list of groups.
  constexpr int kAttempts = 2;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    Result<CachedRoot> api = FetchRoot(ctx, true, roots.api);
    Result<CachedRoot> apis = api ? FetchRoot(ctx, false, roots.apis) : api;
    if (!apis) {
      if (loaded.apis != nullptr && !ctx.stopped()) break;  // a part is better than nothing
      return apis.error();
    }
    roots = {*api, *apis};
    std::vector<ApiGroup> groups = api->root->groups;
    groups.insert(groups.end(), apis->root->groups.begin(), apis->root->groups.end());
    std::vector<DiscoveryFailure> failures;
    for (const CachedRoot* root : {&*api, &*apis})
      failures.insert(failures.end(), root->root->failures.begin(), root->root->failures.end());
    if (api->root->aggregated && apis->root->aggregated) {
      lists.clear();
      for (const CachedRoot* root : {&*api, &*apis}) {
        for (const ApiResourceList& list : root->root->lists) lists.emplace(list.group_version, list);
      }
    } else {
      std::vector<DiscoveryFailure> failed = FetchLists(ctx, Missing(groups, lists), lists);
      if (std::optional<Error> stopped = ctx.Err()) return *std::move(stopped);
      failures.insert(failures.end(), failed.begin(), failed.end());
    }
    loaded.apis = Assemble(std::move(groups), lists, std::move(failures));
    loaded.roots = roots;
    if (loaded.apis->failures.empty()) break;
  }
  for (const DiscoveryFailure& f : loaded.apis->failures) {
    Log().V(1).Info("Could not read an API group-version", {{"groupVersion", f.group_version.ToString()}, {"err", f.error}});
  }
  files_.WriteAll(*loaded.apis);
  return loaded;
}

std::optional<Discovery::Impl::Loaded> Discovery::Impl::FromFiles(const Context& ctx) {
  const Clock::WallTime now = ctx.clock()->WallNow();
  std::optional<std::vector<ApiGroup>> groups = files_.ReadGroups(now);
  if (!groups) return std::nullopt;
  Lists lists;
  for (const GroupVersion& group_version : Missing(*groups, {})) {
    if (std::optional<ApiResourceList> list = files_.ReadResources(group_version, now)) lists.emplace(group_version, *std::move(list));
  }
  // Those that failed or were empty have no files. A few are asked for; more of them, and all is.
  constexpr std::size_t kFew = 3;
  const std::vector<GroupVersion> missing = Missing(*groups, lists);
  if (missing.size() > kFew) return std::nullopt;
  std::vector<DiscoveryFailure> failures = FetchLists(ctx, missing, lists);
  if (ctx.stopped()) return std::nullopt;
  Loaded loaded;
  loaded.fresh = false;
  loaded.apis = Assemble(*std::move(groups), std::move(lists), std::move(failures));
  return loaded;
}

Result<Discovery::Impl::Loaded> Discovery::Impl::LoadNow(const Context& ctx, bool force, bool files, const Apis& known, Roots roots) {
  if (!force && known != nullptr) {
    // Only what failed in passing.
    Lists lists;
    for (const ApiResourceList& list : known->lists) lists.emplace(list.group_version, list);
    std::vector<GroupVersion> again;
    std::vector<DiscoveryFailure> failures;
    for (const DiscoveryFailure& f : known->failures) {
      if (IsPassing(f.error)) {
        again.push_back(f.group_version);
      } else {
        failures.push_back(f);
      }
    }
    const std::vector<DiscoveryFailure> failed = FetchLists(ctx, again, lists);
    if (std::optional<Error> stopped = ctx.Err()) return *std::move(stopped);
    failures.insert(failures.end(), failed.begin(), failed.end());
    Loaded loaded;
    loaded.roots = std::move(roots);
    loaded.apis = Assemble(known->groups, std::move(lists), std::move(failures));
    return loaded;
  }
  if (!force && files) {
    if (std::optional<Loaded> loaded = FromFiles(ctx)) return *std::move(loaded);
  }
  return FromServer(ctx, std::move(roots));
}

Result<Discovery::Impl::Apis> Discovery::Impl::Load(const Context& ctx, bool force, const Apis& seen) {
  MutexLock lock(mu_);
  if (seen != nullptr && apis_ != nullptr && apis_ != seen) return apis_;
  // A load that another caller started also answers this call, unless it may have begun before the change that the caller wants to see.
  const std::uint64_t enough = loading_ && !force ? started_ : started_ + 1;
  for (;;) {
    if (!force && apis_ != nullptr && (finished_ >= enough || !HasPassingFailure(*apis_))) return apis_;
    if (finished_ >= enough && last_error_) return *last_error_;
    if (force && finished_full_ >= enough && apis_ != nullptr) return apis_;
    if (!loading_) break;
    const auto ended = [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return !loading_; };
    if (Result<void> waited = WaitUntil(ctx, mu_, done_, ended); !waited) return waited.error();
  }

  loading_ = true;
  ++started_;
  const std::uint64_t epoch = epoch_;
  const bool files = !invalidated_;
  const Apis known = apis_;
  const bool was_fresh = fresh_;
  Roots roots = roots_;
  lock.Unlock();
  Result<Loaded> loaded = LoadNow(ctx, force, files, known, std::move(roots));
  lock.Lock();
  loading_ = false;
  last_error_.reset();
  if (!loaded) {
    // A caller whose context has stopped does not fail the other waiters.
    if (ctx.stopped()) {
      --started_;
    } else {
      finished_ = started_;
      last_error_ = loaded.error();
    }
    done_.NotifyAll();
    return loaded.error();
  }
  finished_ = started_;
  if (loaded->full) finished_full_ = started_;
  Apis result = loaded->apis;
  if (epoch_ == epoch) {
    // Nothing new: callers need not rebuild what they derived from it.
    if (apis_ != nullptr && SameContent(*apis_, *result)) result = apis_;
    apis_ = result;
    fresh_ = loaded->fresh && (force || known == nullptr || was_fresh);
    if (loaded->fresh) roots_ = loaded->roots;
    if (force) openapi_paths_.reset();
  }
  done_.NotifyAll();
  return result;
}

void Discovery::Impl::Invalidate() {
  MutexLock lock(mu_);
  ++epoch_;
  apis_.reset();
  fresh_ = false;
  invalidated_ = true;
  last_error_.reset();
  openapi_paths_.reset();
}

bool Discovery::Impl::fresh() const {
  MutexLock lock(mu_);
  return apis_ != nullptr && fresh_;
}

// ---- The handle ----

Discovery::Discovery(Client client, DiscoveryOptions options) : impl_(std::make_shared<Impl>(std::move(client), std::move(options))) {}

Result<std::shared_ptr<const ServerApis>> Discovery::Apis(const Context& ctx) const { return impl_->Load(ctx, false, nullptr); }

Result<std::shared_ptr<const ServerApis>> Discovery::Refresh(const Context& ctx, const std::shared_ptr<const ServerApis>& seen) const {
  return impl_->Load(ctx, true, seen);
}

Result<std::vector<ApiGroup>> Discovery::Groups(const Context& ctx) const {
  Result<std::shared_ptr<const ServerApis>> apis = Apis(ctx);
  if (!apis) return apis.error();
  return (*apis)->groups;
}

Result<ApiResourceList> Discovery::Resources(const Context& ctx, const GroupVersion& group_version) const {
  Result<std::shared_ptr<const ServerApis>> apis = Apis(ctx);
  if (!apis) return apis.error();
  if (const ApiResourceList* list = (*apis)->Find(group_version)) return *list;
  for (const DiscoveryFailure& f : (*apis)->failures) {
    if (f.group_version == group_version) return f.error;
  }
  return NotServed(group_version);
}

Result<ServerVersion> Discovery::Version(const Context& ctx) const {
  Result<HttpResponse> response = impl_->Get(ctx, "/version", "application/json");
  if (!response) return response.error();
  Result<Value> v = ParseJson(response->body);
  if (v && !v->is_object()) v = Error::Decode("expected an object, got " + std::string(v->kind_name()));
  if (!v) return v.error().WithContext("read the answer of GET /version");
  const Value& info = *v;
  const auto text = [&](std::string_view key) { return info[key].string_value(); };
  return ServerVersion{text("major"),     text("minor"),     text("gitVersion"), text("gitCommit"), text("gitTreeState"),
                       text("buildDate"), text("goVersion"), text("compiler"),   text("platform")};
}

void Discovery::Invalidate() const { impl_->Invalidate(); }
bool Discovery::fresh() const { return impl_->fresh(); }
const Client& Discovery::client() const { return impl_->client(); }

Result<std::vector<OpenApiPath>> Discovery::OpenApiPaths(const Context& ctx) const { return impl_->OpenApiPaths(ctx, false); }

Result<std::shared_ptr<const std::string>> Discovery::OpenApi(const Context& ctx, const GroupVersion& group_version) const {
  return impl_->OpenApi(ctx, (group_version.group.empty() ? "api/" : "apis/") + group_version.ToString());
}

Result<std::shared_ptr<const std::string>> Discovery::OpenApi(const Context& ctx, std::string_view path) const {
  return impl_->OpenApi(ctx, path);
}

Result<std::string> Discovery::OpenApiV2(const Context& ctx, bool protobuf) const {
  constexpr std::string_view kProtobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
  Result<HttpResponse> response = impl_->Get(ctx, "/openapi/v2", std::string(protobuf ? kProtobuf : "application/json"));
  if (!response) return response.error();
  return std::move(response->body);
}

}  // namespace kube
