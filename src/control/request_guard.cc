#include "control/request_guard.h"

#include <algorithm>
#include <utility>

#include "kube/api/authorization/v1.h"
#include "kube/base/log.h"

namespace kube::internal {
namespace {

using authentication::v1::TokenReview;
using authorization::v1::SubjectAccessReview;

Logger Log() { return Logger("control.metrics"); }

serve::HttpResponse Say(int status, std::string text) {
  serve::HttpResponse response{.status = status,
                               .headers = {{"content-type", "text/plain; charset=utf-8"}, {"x-content-type-options", "nosniff"}},
                               .body = std::move(text) + "\n"};
  if (status == 401) response.headers.Add("www-authenticate", "Bearer");
  return response;
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

// Empty where there is none. The scheme's case does not matter.
std::string BearerToken(std::string_view authorization) {
  if (authorization.size() < 7 || Lower(std::string(authorization.substr(0, 7))) != "bearer ") return {};
  authorization.remove_prefix(7);
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  while (authorization.ends_with(' ')) authorization.remove_suffix(1);
  return std::string(authorization);
}

Clock::TimePoint::duration Steady(std::chrono::nanoseconds d) { return std::chrono::duration_cast<Clock::TimePoint::duration>(d); }

// A user is who the server says: name, UID and groups. Lengths keep names apart that have separators in them.
std::string AccessKey(const authentication::v1::UserInfo& user, const serve::HttpRequest& request) {
  std::string key;
  const auto add = [&key](std::string_view text) { key += std::to_string(text.size()) + ":" + std::string(text); };
  add(Lower(request.method));
  add(request.path);
  add(user.username.view());
  add(user.uid.view());
  for (const String& group : user.groups) add(group.view());
  for (const auto& [name, values] : user.extra) {
    add(name.view());
    for (const String& value : values) add(value.view());
  }
  return key;
}

template <typename V>
void Replace(LruMap<V>& map, const std::string& key, V value) {
  map.Remove(key);
  map.Insert(key, std::move(value));
}

}  // namespace

RequestGuard::RequestGuard(Client client, RequestGuardOptions options)
    : client_(std::move(client)),
      options_(std::move(options)),
      stopping_(Context::Background(options_.clock)),
      stop_([this] {
        auto [ctx, cancel] = stopping_.WithCancel();
        stopping_ = ctx;
        return std::move(cancel);
      }()),
      users_(options_.cache_size),
      accesses_(options_.cache_size) {
  thread_ = Thread("kube-guard", [this] { Work(); });
}

RequestGuard::~RequestGuard() {
  stop_.Cancel();
  thread_.Join();
  MutexLock lock(mu_);
  for (const Waiting& request : waiting_) request.exchange->Reply(Say(503, "shutting down"));
}

std::optional<RequestGuard::User> RequestGuard::RememberedUser(const std::string& token) {
  MutexLock lock(mu_);
  const User* const user = users_.Find(token);
  if (user == nullptr || user->until <= options_.clock->Now()) return std::nullopt;
  return *user;
}

std::optional<bool> RequestGuard::RememberedAccess(const std::string& what) {
  MutexLock lock(mu_);
  const Access* const access = accesses_.Find(what);
  if (access == nullptr || access->until <= options_.clock->Now()) return std::nullopt;
  return access->allowed;
}

void RequestGuard::Serve(const std::shared_ptr<serve::HttpExchange>& exchange, Handler handler) {
  const serve::HttpRequest& request = exchange->request();
  std::string token = BearerToken(request.headers.Get("authorization"));
  if (token.empty()) return exchange->Reply(Say(401, "Unauthorized"));
  if (const std::optional<User> user = RememberedUser(token)) {
    if (!user->known) return exchange->Reply(Say(401, "Unauthorized"));
    const std::optional<bool> allowed = RememberedAccess(AccessKey(user->info, request));
    if (allowed && *allowed) return handler(exchange);
    if (allowed) return exchange->Reply(Say(403, "Authorization denied for user " + user->info.username.str()));
  }
  MutexLock lock(mu_);
  if (waiting_.size() >= options_.most_waiting) return exchange->Reply(Say(503, "too many requests wait for the API server"));
  waiting_.push_back({exchange, std::move(handler), std::move(token)});
  changed_.NotifyAll();
}

void RequestGuard::Work() {
  for (;;) {
    Waiting request;
    {
      MutexLock lock(mu_);
      if (!WaitUntil(stopping_, mu_, changed_, [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return !waiting_.empty(); })) return;
      if (stopping_.stopped()) return;
      request = std::move(waiting_.front());
      waiting_.pop_front();
    }
    Decide(request);
  }
}

void RequestGuard::Decide(const Waiting& waiting) {
  const Context ctx = stopping_.WithTimeout(options_.timeout);
  serve::HttpExchange& exchange = *waiting.exchange;
  // Somebody before may have asked the same.
  std::optional<User> user = RememberedUser(waiting.token);
  if (!user) {
    Result<User> asked = AskUser(ctx, waiting.token);
    if (!asked) {
      Log().Error(asked.error(), "Authentication failed");
      return exchange.Reply(Say(500, "Authentication failed"));
    }
    user = *std::move(asked);
  }
  if (!user->known) return exchange.Reply(Say(401, "Unauthorized"));
  const std::string what = AccessKey(user->info, exchange.request());
  std::optional<bool> allowed = RememberedAccess(what);
  if (!allowed) {
    const Result<bool> asked = AskAccess(ctx, *user, exchange.request(), what);
    if (!asked) {
      const std::string text = "Authorization for user " + user->info.username.str() + " failed";
      Log().Error(asked.error(), text);
      return exchange.Reply(Say(500, text));
    }
    allowed = *asked;
  }
  if (!*allowed) return exchange.Reply(Say(403, "Authorization denied for user " + user->info.username.str()));
  waiting.handler(waiting.exchange);
}

Result<RequestGuard::User> RequestGuard::AskUser(const Context& ctx, const std::string& token) {
  TokenReview review;
  review.spec.token = token;
  const Result<TokenReview> answer = client_.Create(ctx, review);
  if (!answer) return answer.error();
  const bool known = answer->status.authenticated;
  if (!known) Log().V(4).Info("Authentication failed", {{"reason", answer->status.error.view()}});
  User user{.known = known, .info = answer->status.user};
  user.until = options_.clock->Now() + Steady(known ? options_.known_token : options_.unknown_token);
  MutexLock lock(mu_);
  Replace(users_, token, user);
  return user;
}

Result<bool> RequestGuard::AskAccess(const Context& ctx, const User& user, const serve::HttpRequest& request, const std::string& what) {
  SubjectAccessReview review;
  review.spec.non_resource_attributes = authorization::v1::NonResourceAttributes{.path = request.path, .verb = Lower(request.method)};
  review.spec.user = user.info.username;
  review.spec.uid = user.info.uid;
  review.spec.groups = user.info.groups;
  review.spec.extra = user.info.extra;
  const Result<SubjectAccessReview> answer = client_.Create(ctx, review);
  if (!answer) return answer.error();
  const bool allowed = answer->status.allowed && !answer->status.denied;
  if (!allowed) {
    Log().V(4).Info("Authorization denied",
                    {{"user", user.info.username.view()}, {"path", request.path}, {"reason", answer->status.reason.view()}});
  }
  Access access{.allowed = allowed, .until = options_.clock->Now() + Steady(allowed ? options_.allowed : options_.refused)};
  MutexLock lock(mu_);
  Replace(accesses_, what, access);
  return allowed;
}

}  // namespace kube::internal
