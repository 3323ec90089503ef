// The decorators that a client's transport is made of. Each one does one thing and has one source and one test.
//
//   std::shared_ptr<Transport> t = *MakeHttpTransport({.base_url = url, .tls = tls});
//   t = WithWritePermits(t);                      // inner: the last word before a write leaves
//   t = WithLogging(t, Logger("transport"));      // sees every attempt, with secrets masked
//   t = WithAuth(t, credentials);                 // Authorization; a 401 makes the credential a new one
//   t = WithUserAgent(t, DefaultUserAgent());
//   t = WithImpersonation(t, config.impersonate);
//   t = WithWarnings(t, LogWarnings());           // Warning headers
//   t = WithMetrics(t, sink, host);               // rest_client_*
//   t = WithRetry(t, {.limiter = limiter});       // outer: client-go's rules, and the rate limit before each attempt
//
// A header that the request has already is never overwritten. One that has nothing to do (no credentials, no agent, nobody to be, no
// handler, no sink) is no decorator at all: `next` comes back.
//
// Thread safety: what they give is a Transport: all functions from many threads at once, also handlers and sinks are called so.
// Lifetime: each holds what it was given. Blocking, errors: those of Transport, and what is said at each.
// Cost: a virtual call and a header or two for each request, and what is said at each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/base/export.h"
#include "kube/base/log.h"
#include "kube/base/metrics.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/config/client_config.h"
#include "kube/config/credentials.h"
#include "kube/transport/rate_limiter.h"
#include "kube/transport/transport.h"

namespace kube {

// A request that has an Authorization header is passed on as it is. After a 401 the credentials are told; that answer is given back.
// Errors: those of CredentialSource::Get (kAuth ...), and nothing was sent then.
KUBE_EXPORT std::shared_ptr<Transport> WithAuth(std::shared_ptr<Transport> next, std::shared_ptr<CredentialSource> credentials);

// Asks the WritePermit of the request's context, if it has one, before anything but a GET or HEAD is sent, before every upgrade (exec,
// attach, port-forward), and before each piece that is sent on an upgraded connection (write_permit.h).
KUBE_EXPORT std::shared_ptr<Transport> WithWritePermits(std::shared_ptr<Transport> next);

KUBE_EXPORT std::shared_ptr<Transport> WithUserAgent(std::shared_ptr<Transport> next, std::string user_agent);

// Impersonate-User, -Uid, -Group, -Extra-<key>. A request that has Impersonate-User is passed on as it is.
KUBE_EXPORT std::shared_ptr<Transport> WithImpersonation(std::shared_ptr<Transport> next, ImpersonationConfig who);
// The key of an extra as it stands in a header's name: bytes that a name cannot have, and '%', as %XX.
KUBE_EXPORT std::string EscapeHeaderKey(std::string_view key);

// ---- Warnings ----

// One Warning header of an answer (RFC 7234).
struct ApiWarning {
  int code = 0;
  std::string agent{};
  std::string text{};
};
// Called for every warning, from the thread that made the request. Must not throw.
using WarningHandler = std::function<void(const ApiWarning& warning)>;
// Several in one header are fine. Where a header cannot be read on, the rest of it is left out; those before and the other headers count.
KUBE_EXPORT std::vector<ApiWarning> ParseWarnings(const HttpHeaders& headers);
// Logs those of code 299, each text once in the life of the handler (or once again after a thousand others). Copies share what they know.
KUBE_EXPORT WarningHandler LogWarnings(Logger logger = Logger("transport.warnings"));
KUBE_EXPORT std::shared_ptr<Transport> WithWarnings(std::shared_ptr<Transport> next, WarningHandler handler);

// ---- Logging ----

// V(6) a line for each exchange, V(7) the request's headers, V(8) the answer's headers, and bodies cut at 1 KiB, V(9) cut at 10 KiB,
// V(10) whole. At every level: credentials in headers, cookies, and bodies of Secrets, token requests and token reviews are masked; of
// binary bodies the size is shown, and of streaming ones nothing.
// Cost: one check of a level for a request that is not logged.
KUBE_EXPORT std::shared_ptr<Transport> WithLogging(std::shared_ptr<Transport> next, Logger logger);

// ---- Metrics ----

// rest_client_requests_total {code,method,host}, with the code "<error>" where no answer came; rest_client_request_size_bytes and
// rest_client_response_size_bytes {verb,host}, but none of streaming requests. Sees every attempt. `verb` is the HTTP method, as in
// client-go.
KUBE_EXPORT std::shared_ptr<Transport> WithMetrics(std::shared_ptr<Transport> next, std::shared_ptr<MetricsSink> sink, std::string host);

// ---- Retries ----

// More patience with a server that is overloaded: after an answer of 429 or 5xx every request waits, first for `base`, then for twice as
// long each time, up to `max`. Any other answer, and a lapse of twice `max`, ends that. `max` of 0: off.
struct UrlBackoff {
  std::chrono::nanoseconds base{};
  std::chrono::nanoseconds max{};
};
// $KUBE_CLIENT_BACKOFF_BASE and $KUBE_CLIENT_BACKOFF_DURATION, in seconds; off unless both are numbers.
KUBE_EXPORT UrlBackoff UrlBackoffFromEnvironment();

struct RetryOptions {
  int max_retries = 10;
  std::chrono::nanoseconds connection_delay = std::chrono::seconds(1);
  std::shared_ptr<RateLimiter> limiter{};  // null: none
  UrlBackoff url_backoff{};                // for all requests of this transport: it has one host
  // rest_client_request_duration_seconds {verb,host}: all attempts and waits of a request, but none of streaming ones;
  // rest_client_request_retries_total {code,verb,host}, rest_client_rate_limiter_duration_seconds {verb,host}. Null: none.
  std::shared_ptr<MetricsSink> metrics{};
  std::string host{};  // for metrics
  Logger logger = Logger("transport.retry");
};
// client-go's rules:
//  - 429 and 5xx with an integer Retry-After: any verb, streaming or not, at most `max_retries` times, after that many seconds
//  - a broken connection (reset, early end, GOAWAY, lost): GET only, after `connection_delay`; logs and other streams never; a watch only
//    while it is being opened, and then also after a timeout of the connection; refused connections never
//  - the limiter is asked before every attempt, but not before the first one of a watch
//  - the last error or answer is given back, an error with the one before it in its context
// A watch is a streaming request with the verb "watch". HttpRequest::timeout starts to count after the first wait for the limiter.
// Upgrades are passed on: neither limited nor tried again.
// Blocking and cancellation: sleeps by the context's clock, and ends with the context.
// Cost: a copy of the request, body and all, for each attempt but the last one that is allowed.
KUBE_EXPORT std::shared_ptr<Transport> WithRetry(std::shared_ptr<Transport> next, RetryOptions options);

}  // namespace kube
