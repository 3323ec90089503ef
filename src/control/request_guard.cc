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

// Peers whose allowance is remembered. One that was forgotten has all of it again, so this is more than can be connected.
constexpr std::size_t kPeers = 4096;
// Refusals of longer tokens and paths are not remembered: whoever made them up would decide how much memory they take.
constexpr std::size_t kMaxRefusedKey = std::size_t{4} << 10;

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
      users_(options_.limits.remembered),
      powerless_(options_.limits.remembered_refusals),
      strangers_(options_.limits.remembered_refusals),
      allowed_(options_.limits.remembered),
      refused_(options_.limits.remembered_refusals),
      allowances_(kPeers) {
  thread_ = Thread("kube-guard", [this] { Work(); });
}

RequestGuard::~RequestGuard() {
  stop_.Cancel();
  thread_.Join();
  MutexLock lock(mu_);
  while (const std::optional<Waiting> request = Next()) request->exchange->Reply(Say(503, "shutting down"));
}

std::optional<RequestGuard::User> RequestGuard::RememberedUser(const std::string& token) {
  MutexLock lock(mu_);
  const Clock::TimePoint now = options_.clock->Now();
  if (const User* const user = users_.Find(token); user != nullptr && user->until > now) return *user;
  if (const User* const user = powerless_.Find(token); user != nullptr && user->until > now) return *user;
  if (const User* const stranger = strangers_.Find(token); stranger != nullptr && stranger->until > now) return *stranger;
  return std::nullopt;
}

void RequestGuard::Promote(const std::string& token, const User& user) {
  MutexLock lock(mu_);
  if (!powerless_.Remove(token)) return;
  Replace(users_, token, user);
}

std::optional<bool> RequestGuard::RememberedAccess(const std::string& what) {
  MutexLock lock(mu_);
  const Clock::TimePoint now = options_.clock->Now();
  if (const Access* const access = allowed_.Find(what); access != nullptr && access->until > now) return true;
  if (const Access* const access = refused_.Find(what); access != nullptr && access->until > now) return false;
  return std::nullopt;
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
  const auto gone = std::make_shared<std::atomic<bool>>(false);
  exchange->OnClose([gone] { *gone = true; });
  std::optional<serve::HttpResponse> refusal;
  {
    MutexLock lock(mu_);
    bool allowed_before = false;
    if (const User* const user = users_.Find(token); user != nullptr)
      allowed_before = allowed_.Find(AccessKey(user->info, request)) != nullptr;
    refusal = Enqueue({exchange, std::move(handler), std::move(token), request.peer_group, gone}, allowed_before);
    changed_.NotifyAll();
  }
  if (refusal) exchange->Reply(*std::move(refusal));
}

bool RequestGuard::SpendReview(const std::string& peer) {
  const MetricsReviewLimits& limits = options_.limits;
  const Clock::TimePoint now = options_.clock->Now();
  Allowance* allowance = allowances_.Find(peer);
  if (allowance == nullptr) allowance = &allowances_.Insert(peer, {.left = limits.burst_per_peer, .since = now});
  const double seconds = std::chrono::duration<double>(now - allowance->since).count();
  allowance->left = std::min(limits.burst_per_peer, allowance->left + seconds * limits.per_second_per_peer);
  allowance->since = now;
  if (allowance->left < 1) return false;
  allowance->left -= 1;
  return true;
}

std::optional<serve::HttpResponse> RequestGuard::Enqueue(Waiting request, bool was_known) {
  const MetricsReviewLimits& limits = options_.limits;
  const auto too_many = [] {
    serve::HttpResponse response = Say(429, "too many requests of this client need the API server");
    response.headers.Add("retry-after", "1");
    return response;
  };
  if (was_known) {
    // Bounded by the tokens that are remembered, and by connections.
    if (first_.size() >= limits.max_waiting) return Say(503, "too many requests wait for the API server");
    first_.push_back(std::move(request));
    ++waiting_count_;
    return std::nullopt;
  }
  const auto mine = waiting_.find(request.peer);
  const std::size_t mine_waiting = mine == waiting_.end() ? 0 : mine->second.size();
  if (mine_waiting >= limits.max_waiting_per_peer || !SpendReview(request.peer)) return too_many();
  if (waiting_count_ >= limits.max_waiting) {
    const auto most =
        std::max_element(waiting_.begin(), waiting_.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    if (most == waiting_.end() || most->second.size() <= mine_waiting + 1) return Say(503, "too many requests wait for the API server");
    // Replying does not block, and calls nobody here.
    most->second.back().exchange->Reply(Say(503, "too many requests wait for the API server"));
    most->second.pop_back();
    --waiting_count_;
  }
  waiting_[request.peer].push_back(std::move(request));
  ++waiting_count_;
  return std::nullopt;
}

std::optional<RequestGuard::Waiting> RequestGuard::Next() {
  std::optional<Waiting> next;
  if (!first_.empty()) {
    next = std::move(first_.front());
    first_.pop_front();
  } else if (!waiting_.empty()) {
    // Peers take turns.
    auto turn = waiting_.upper_bound(last_peer_);
    if (turn == waiting_.end()) turn = waiting_.begin();
    last_peer_ = turn->first;
    next = std::move(turn->second.front());
    turn->second.pop_front();
    if (turn->second.empty()) waiting_.erase(turn);
  }
  if (next) --waiting_count_;
  return next;
}

void RequestGuard::Work() {
  for (;;) {
    std::optional<Waiting> request;
    {
      MutexLock lock(mu_);
      if (!WaitUntil(stopping_, mu_, changed_, [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return waiting_count_ > 0; })) return;
      if (stopping_.stopped()) return;
      request = Next();
    }
    if (request && !*request->gone) Decide(*request);
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
  Promote(waiting.token, *user);
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
  if (known) {
    Replace(users_.Find(token) != nullptr ? users_ : powerless_, token, user);
  } else {
    users_.Remove(token);  // not good any more
    powerless_.Remove(token);
    if (token.size() <= kMaxRefusedKey) Replace(strangers_, token, user);
  }
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
  if (allowed) {
    Replace(allowed_, what, access);
  } else {
    allowed_.Remove(what);
    if (what.size() <= kMaxRefusedKey) Replace(refused_, what, access);
  }
  return allowed;
}

}  // namespace kube::internal
