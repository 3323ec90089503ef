// The decorators around a client's network transport. Each one does one thing.
//
//   std::shared_ptr<Transport> t = *MakeHttpTransport({.base_url = url, .tls = tls});
//   t = WithWritePermits(t);                      // innermost: the last check before a write is sent
//   t = WithLogging(t, Logger("transport"));      // sees every attempt; secrets are masked
//   t = WithAuth(t, credentials);                 // Authorization; a 401 renews the credential
//   t = WithUserAgent(t, DefaultUserAgent());
//   t = WithImpersonation(t, config.impersonate);
//   t = WithWarnings(t, LogWarnings());           // Warning headers
//   t = WithMetrics(t, sink, host);               // rest_client_*
//   t = WithRetry(t, {.limiter = limiter});       // outermost: client-go's rules, and the rate limit before each attempt
//
// A header that the request already has is never overwritten. A decorator with nothing to do (no credentials, no user agent, no
// impersonation, no handler, no sink) returns `next` unchanged.
//
// Thread safety: the decorators are Transports, so all functions may be called from many threads at once. Handlers and sinks are called
//   from many threads, too.
// Lifetime: each decorator holds its arguments.
// Blocking, errors: those of Transport, plus what each decorator states.
// Cost: a virtual call and one or two headers per request, plus what each decorator states.
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

// Adds the Authorization header, unless the request has one. After a 401 it notifies the credentials and returns that response.
// Errors: those of CredentialSource::Get (kAuth ...), in which case nothing is sent.
KUBE_EXPORT std::shared_ptr<Transport> WithAuth(std::shared_ptr<Transport> next, std::shared_ptr<CredentialSource> credentials);

// Checks the WritePermit of the request's context, if it has one, before sending any request except GET and HEAD, before every upgrade
// (exec, attach, port-forward), and before each write on an upgraded connection (write_permit.h).
KUBE_EXPORT std::shared_ptr<Transport> WithWritePermits(std::shared_ptr<Transport> next);

// Adds the User-Agent header.
KUBE_EXPORT std::shared_ptr<Transport> WithUserAgent(std::shared_ptr<Transport> next, std::string user_agent);

// Adds Impersonate-User, -Uid, -Group and -Extra-<key>, unless the request has Impersonate-User.
KUBE_EXPORT std::shared_ptr<Transport> WithImpersonation(std::shared_ptr<Transport> next, ImpersonationConfig who);
// Escapes the key of an extra for a header name: '%' and bytes that are invalid in a name become %XX.
KUBE_EXPORT std::string EscapeHeaderKey(std::string_view key);

// ---- Warnings ----

// One Warning header of a response (RFC 7234).
struct ApiWarning {
  int code = 0;
  // The sender of the warning.
  std::string agent{};
  std::string text{};
};
// Called for every warning on the thread that made the request. Must not throw.
using WarningHandler = std::function<void(const ApiWarning& warning)>;
// Parses all Warning headers; one header may hold several warnings. If a header is malformed, the rest of it is skipped; earlier warnings
// and other headers are still returned.
KUBE_EXPORT std::vector<ApiWarning> ParseWarnings(const HttpHeaders& headers);
// Returns a handler that logs warnings of code 299. It logs each distinct text once (again after a thousand others). Copies share that
// memory.
KUBE_EXPORT WarningHandler LogWarnings(Logger logger = Logger("transport.warnings"));
// Passes the warnings of each response to `handler`.
KUBE_EXPORT std::shared_ptr<Transport> WithWarnings(std::shared_ptr<Transport> next, WarningHandler handler);

// ---- Logging ----

// Logs each exchange. V(6): one line; V(7): request headers; V(8): response headers, and bodies cut at 1 KiB; V(9): bodies cut at 10 KiB;
// V(10): whole bodies. At every level it masks credentials in headers, cookies, and the bodies of Secrets, token requests and token
// reviews. For a binary body it logs only the size, for a streaming body nothing.
// Cost: one level check for a request that is not logged.
KUBE_EXPORT std::shared_ptr<Transport> WithLogging(std::shared_ptr<Transport> next, Logger logger);

// ---- Metrics ----

// Reports rest_client_requests_total {code,method,host}, with code "<error>" if there was no response; rest_client_request_size_bytes and
// rest_client_response_size_bytes {verb,host}, except for streaming requests. Sees every attempt. `verb` is the HTTP method, as in
// client-go.
KUBE_EXPORT std::shared_ptr<Transport> WithMetrics(std::shared_ptr<Transport> next, std::shared_ptr<MetricsSink> sink, std::string host);

// ---- Retries ----

// Extra delays for an overloaded server. After a response of 429 or 5xx, every request waits: first for `base`, then twice as long each
// time, up to `max`. Any other response, or a pause of twice `max`, resets the delay. `max` of 0: off.
struct UrlBackoff {
  std::chrono::nanoseconds base{};
  std::chrono::nanoseconds max{};
};
// Reads $KUBE_CLIENT_BACKOFF_BASE and $KUBE_CLIENT_BACKOFF_DURATION, in seconds. Off unless both are numbers.
KUBE_EXPORT UrlBackoff UrlBackoffFromEnvironment();

// Options of WithRetry.
struct RetryOptions {
  int max_retries = 10;
  std::chrono::nanoseconds connection_delay = std::chrono::seconds(1);  // pause after a broken connection
  std::shared_ptr<RateLimiter> limiter{};                               // null: no limit
  UrlBackoff url_backoff{};                                             // shared by all requests of this transport, which has one host
  // Receives rest_client_request_duration_seconds {verb,host}, which covers all attempts and waits of a request, except streaming ones;
  // rest_client_request_retries_total {code,verb,host}; rest_client_rate_limiter_duration_seconds {verb,host}. Null: no metrics.
  std::shared_ptr<MetricsSink> metrics{};
  std::string host{};  // label of the metrics
  Logger logger = Logger("transport.retry");
};
// Retries by client-go's rules:
//  - 429 and 5xx with an integer Retry-After: any verb, streaming or not, at most `max_retries` times, after that many seconds
//  - a broken connection (reset, early end, GOAWAY, lost): GET only, after `connection_delay`; never for logs and other streams; for
//    a watch only while it is being opened, and then also after a connection timeout; never for refused connections
//  - the rate limiter applies to every attempt, except the first one of a watch
//  - the last error or response is returned; an error carries the previous one in its context
// A watch is a streaming request with the verb "watch". HttpRequest::timeout starts after the first wait for the limiter. Upgrades are
// passed through without limits and retries.
// Blocking and cancellation: sleeps by the context's clock and stops with the context.
// Cost: a copy of the request and its body for each attempt except the last allowed one.
KUBE_EXPORT std::shared_ptr<Transport> WithRetry(std::shared_ptr<Transport> next, RetryOptions options);

}  // namespace kube
