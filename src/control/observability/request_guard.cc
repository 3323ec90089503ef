#include "control/observability/request_guard.h"

#include <algorithm>
#include <utility>

#include "kube/api/authorization/v1.h"
#include "kube/base/log.h"
#include "kube/base/wait_until.h"
#include "kube/config/client_config.h"
#include "kube/transport/rate_limiter.h"
#include "transport/request_budget.h"

namespace kube::internal {
namespace {

using authentication::v1::TokenReview;
using authorization::v1::SubjectAccessReview;

Logger Log() { return Logger("control.metrics"); }

// Peers whose allowance is remembered. One that was forgotten has all of it again, so this is more than can be connected.
constexpr std::size_t kPeers = 4096;
constexpr std::size_t kConnections = 4096;
constexpr double kDefaultQps = 5;  // those of a client
constexpr int kDefaultBurst = 10;
// Refusals of longer tokens and paths are not remembered: otherwise the client that made them up would decide how much memory they take.
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

// Empty if there is none. The scheme's case does not matter.
std::string BearerToken(std::string_view authorization) {
  if (authorization.size() < 7 || Lower(std::string(authorization.substr(0, 7))) != "bearer ") return {};
  authorization.remove_prefix(7);
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  while (authorization.ends_with(' ')) authorization.remove_suffix(1);
  return std::string(authorization);
}

Clock::TimePoint::duration Steady(std::chrono::nanoseconds d) { return std::chrono::duration_cast<Clock::TimePoint::duration>(d); }

// A user as the server reports it: name, UID and groups. Lengths keep names apart that have separators in them.
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

// Anyone who reaches the port causes reviews: they have a bucket as large as the client's, and take nothing from that of controllers.
std::shared_ptr<RequestBudget> ReviewBudget(const ClientConfig& config, std::shared_ptr<Clock> clock) {
  if (config.qps < 0) return std::make_shared<RequestBudget>(RequestBudget{MakeUnlimited()});
  const double qps = config.qps == 0 ? kDefaultQps : config.qps;
  const int burst = config.burst <= 0 ? kDefaultBurst : config.burst;
  return std::make_shared<RequestBudget>(RequestBudget{MakeTokenBucket(qps, burst, std::move(clock))});
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
        stopping_ = ctx.WithValue(ReviewBudget(client_.config(), options_.clock));
        return std::move(cancel);
      }()),
      users_(options_.limits.remembered),
      powerless_(options_.limits.remembered_refusals),
      strangers_(options_.limits.remembered_refusals),
      allowed_(options_.limits.remembered),
      refused_(options_.limits.remembered_refusals),
      allowances_(kPeers),
      connections_(kConnections) {
  thread_ = Thread("kube-guard", [this] { Work(); });
}

RequestGuard::~RequestGuard() {
  stop_.Cancel();
  thread_.Join();
  MutexLock lock(mu_);
  while (const std::optional<Waiting> request = Next(true)) request->exchange->Reply(Say(503, "shutting down"));
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
    refusal = Enqueue({exchange, std::move(handler), std::move(token), request.peer_group, gone, request.peer}, allowed_before);
    ++arrivals_;
    changed_.NotifyAll();
  }
  if (refusal) exchange->Reply(*std::move(refusal));
}

RequestGuard::Allowance& RequestGuard::AllowanceOf(const std::string& peer) {
  const MetricsReviewLimits& limits = options_.limits;
  const Clock::TimePoint now = options_.clock->Now();
  Allowance* allowance = allowances_.Find(peer);
  if (allowance == nullptr) allowance = &allowances_.Insert(peer, {.left = limits.burst_per_peer, .since = now});
  const double seconds = std::chrono::duration<double>(now - allowance->since).count();
  allowance->left = std::min(limits.burst_per_peer, allowance->left + seconds * limits.per_second_per_peer);
  allowance->since = now;
  return *allowance;
}

std::optional<serve::HttpResponse> RequestGuard::Enqueue(Waiting request, bool was_known) {
  const MetricsReviewLimits& limits = options_.limits;
  const auto too_many = [] {
    serve::HttpResponse response = Say(429, "too many requests of this client wait for the API server");
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
  std::deque<Waiting>* mine = nullptr;
  if (const auto found = waiting_.find(request.peer); found != waiting_.end()) {
    mine = &found->second;
    // Requests whose client has left make room.
    waiting_count_ -= std::erase_if(*mine, [](const Waiting& one) { return one.gone->load(); });
  }
  const std::size_t mine_waiting = mine == nullptr ? 0 : mine->size();
  if (const Record* const record = connections_.Find(request.connection); record == nullptr || !record->allowed) {
    const std::size_t refusals = record == nullptr ? 0 : record->refusals;
    if (refusals > limits.refusals_per_connection && AllowanceOf(request.peer).left < static_cast<double>(mine_waiting) + 1)
      return too_many();
    request.rank = 1 + refusals;
    if (mine != nullptr) {
      request.rank += static_cast<std::size_t>(
          std::count_if(mine->begin(), mine->end(), [&](const Waiting& one) { return one.connection == request.connection; }));
    }
  }
  if (mine_waiting >= limits.max_waiting_per_peer) {
    if (mine == nullptr || mine->empty() || mine->back().rank <= request.rank) return too_many();
    // Replying does not block, and calls no code of this class.
    mine->back().exchange->Reply(too_many());
    mine->pop_back();
    --waiting_count_;
  }
  if (waiting_count_ >= limits.max_waiting) {
    const auto most =
        std::max_element(waiting_.begin(), waiting_.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    if (most == waiting_.end() || most->second.size() <= mine_waiting + 1) return Say(503, "too many requests wait for the API server");
    most->second.back().exchange->Reply(Say(503, "too many requests wait for the API server"));
    most->second.pop_back();
    --waiting_count_;
  }
  std::deque<Waiting>& queue = waiting_[request.peer];
  const auto before =
      std::upper_bound(queue.begin(), queue.end(), request.rank, [](std::size_t rank, const Waiting& one) { return rank < one.rank; });
  queue.insert(before, std::move(request));
  ++waiting_count_;
  return std::nullopt;
}

std::chrono::nanoseconds RequestGuard::UntilNext() {
  // Peers without a waiting request do not matter, and a new request wakes the thread.
  double seconds = 3600;
  for (const auto& [peer, queue] : waiting_) {
    const double missing = std::max(0.0, 1 - AllowanceOf(peer).left);
    seconds = std::min(seconds, missing / std::max(options_.limits.per_second_per_peer, 1e-3));
  }
  // Rounding must not make it a loop without a pause.
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds)) + std::chrono::milliseconds(1);
}

std::optional<RequestGuard::Waiting> RequestGuard::Next(bool all) {
  std::optional<Waiting> next;
  if (!first_.empty()) {
    next = std::move(first_.front());
    first_.pop_front();
  } else if (!waiting_.empty()) {
    // Peers take turns.
    auto turn = waiting_.upper_bound(last_peer_);
    for (std::size_t i = 0; i < waiting_.size() && !next; ++i, ++turn) {
      if (turn == waiting_.end()) turn = waiting_.begin();
      std::deque<Waiting>& queue = turn->second;
      if (!all) waiting_count_ -= std::erase_if(queue, [](const Waiting& one) { return one.gone->load(); });
      Allowance& allowance = AllowanceOf(turn->first);
      if (queue.empty() || (allowance.left < 1 && !all)) continue;
      allowance.left -= 1;
      last_peer_ = turn->first;
      next = std::move(queue.front());
      next->charged = true;
      queue.pop_front();
    }
    std::erase_if(waiting_, [](const auto& entry) { return entry.second.empty(); });
  }
  if (next) --waiting_count_;
  return next;
}

void RequestGuard::Work() {
  for (;;) {
    std::optional<Waiting> request;
    {
      MutexLock lock(mu_);
      while (!(request = Next())) {
        if (stopping_.stopped()) return;
        const std::uint64_t seen = arrivals_;
        // The time is taken first: if it moves on meanwhile, the pause is shorter.
        const Clock::TimePoint now = options_.clock->Now();
        const Context pause = waiting_count_ > 0 ? stopping_.WithDeadline(now + Steady(UntilNext())) : stopping_;
        (void)WaitUntil(pause, mu_, changed_, [this, seen]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return arrivals_ != seen; });
      }
    }
    if (stopping_.stopped()) return request->exchange->Reply(Say(503, "shutting down"));
    if (!*request->gone) Decide(*request);
  }
}

std::size_t RequestGuard::waiting() {
  MutexLock lock(mu_);
  return waiting_count_;
}

void RequestGuard::Reviewed(const Waiting& request, bool allowed) {
  MutexLock lock(mu_);
  Record* record = connections_.Find(request.connection);
  if (record == nullptr) record = &connections_.Insert(request.connection, {});
  record->allowed = allowed;
  record->refusals = allowed ? 0 : record->refusals + 1;
  // Only refusals cost something.
  if (!allowed || !request.charged) return;
  Allowance& allowance = AllowanceOf(request.peer);
  allowance.left = std::min(options_.limits.burst_per_peer, allowance.left + 1);
}

void RequestGuard::Decide(const Waiting& waiting) {
  const Context ctx = stopping_.WithTimeout(options_.timeout);
  serve::HttpExchange& exchange = *waiting.exchange;
  // An earlier request may have asked the same.
  std::optional<User> user = RememberedUser(waiting.token);
  if (!user) {
    Result<User> asked = AskUser(ctx, waiting.token);
    if (!asked) {
      Log().Error(asked.error(), "Authentication failed");
      return exchange.Reply(Say(500, "Authentication failed"));
    }
    user = *std::move(asked);
  }
  if (!user->known) {
    Reviewed(waiting, false);
    return exchange.Reply(Say(401, "Unauthorized"));
  }
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
  Reviewed(waiting, *allowed);
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
