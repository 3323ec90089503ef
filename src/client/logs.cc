#include "kube/client/logs.h"

#include <algorithm>
#include <utility>

#include "client/client_core.h"
#include "client/pod_request.h"
#include "kube/transport/transport_errors.h"

namespace kube {
namespace {

constexpr std::size_t kReadSize = std::size_t{32} << 10;

Result<internal::Query> ToQuery(const LogOptions& options) {
  if (options.since_seconds && options.since_time) return Error::Invalid("logs: set only one of since_seconds and since_time");
  internal::Query query;
  const auto add = [&query](const char* name, std::string value) { query.emplace(name, std::move(value)); };
  if (!options.container.empty()) add("container", options.container);
  if (options.follow) add("follow", "true");
  if (options.previous) add("previous", "true");
  if (options.timestamps) add("timestamps", "true");
  if (options.since_seconds) add("sinceSeconds", std::to_string(*options.since_seconds));
  if (options.since_time) add("sinceTime", options.since_time->ToString());
  if (options.tail_lines) add("tailLines", std::to_string(*options.tail_lines));
  if (options.limit_bytes) add("limitBytes", std::to_string(*options.limit_bytes));
  if (!options.stream.empty()) add("stream", options.stream);
  if (options.insecure_skip_tls_verify_backend) add("insecureSkipTLSVerifyBackend", "true");
  return query;
}

}  // namespace

LogStream::LogStream(std::unique_ptr<BodyStream> body, std::size_t max_line_bytes)
    : body_(std::move(body)), max_line_(std::max<std::size_t>(max_line_bytes, 1)) {}
LogStream::LogStream(LogStream&&) noexcept = default;
LogStream& LogStream::operator=(LogStream&&) noexcept = default;
LogStream::~LogStream() = default;

Result<std::size_t> LogStream::Read(const Context& ctx, char* buffer, std::size_t size) {
  if (taken_ == buffer_.size()) {
    if (ended_) return std::size_t{0};
    return body_->Read(ctx, buffer, size);
  }
  const std::size_t got = buffer_.copy(buffer, size, taken_);
  taken_ += got;
  scanned_ = std::max(scanned_, taken_);
  return got;
}

Result<std::optional<std::string>> LogStream::NextLine(const Context& ctx) {
  while (true) {
    const std::size_t end = buffer_.find('\n', scanned_);
    const std::size_t size = std::min(end, buffer_.size()) - taken_;
    if (end != std::string::npos && size <= max_line_) {
      std::string line = buffer_.substr(taken_, size);
      taken_ = end + 1;
      scanned_ = taken_;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return std::optional<std::string>(std::move(line));
    }
    if (size > max_line_ || (ended_ && size > 0)) {
      std::string piece = buffer_.substr(taken_, max_line_);
      taken_ += piece.size();
      scanned_ = taken_;
      return std::optional<std::string>(std::move(piece));
    }
    if (ended_) return std::optional<std::string>();
    buffer_.erase(0, taken_);
    taken_ = 0;
    scanned_ = buffer_.size();
    buffer_.resize(scanned_ + kReadSize);
    const Result<std::size_t> got = body_->Read(ctx, buffer_.data() + scanned_, kReadSize);
    buffer_.resize(scanned_ + (got ? *got : 0));
    if (!got) return got.error();
    if (*got == 0) ended_ = true;
  }
}

void LogStream::Close() { body_->Close(); }

Result<LogStream> StreamLogs(const Context& ctx, const Client& client, const ObjectKey& pod, const LogOptions& options) {
  const Result<internal::Query> query = ToQuery(options);
  if (!query) return query.error();
  Result<HttpRequest> request = internal::PodRequest(pod, "log", *query);
  if (!request) return request.error();
  request->headers.Add("Accept", "application/json, */*");
  // A stream is retried only if the server asks for it.
  request->streaming = true;
  Result<HttpResponse> response = client.core().Send(ctx, *std::move(request), "get " + internal::DescribePod(pod, "log"));
  if (!response) return response.error();
  if (response->stream == nullptr) response->stream = MakeBodyStream(std::move(response->body));
  return LogStream(std::move(response->stream), options.max_line_bytes);
}

Result<std::string> GetLogs(const Context& ctx, const Client& client, const ObjectKey& pod, const LogOptions& options) {
  if (options.follow) return Error::Invalid("followed logs have no end: use StreamLogs");
  Result<LogStream> stream = StreamLogs(ctx, client, pod, options);
  if (!stream) return stream.error();
  const std::string what = "get " + internal::DescribePod(pod, "log");
  std::string text;
  std::string buffer(kReadSize, '\0');
  while (true) {
    const Result<std::size_t> got = stream->Read(ctx, buffer.data(), buffer.size());
    if (!got) return got.error().WithContext(what);
    if (*got == 0) return text;
    if (*got > options.max_total_bytes - text.size()) {
      return Error({.kind = ErrorKind::kTransport,
                    .reason = std::string(transport_reason::kTooLarge),
                    .message = "the log is longer than " + std::to_string(options.max_total_bytes) +
                               " bytes: ask for less (tail_lines, limit_bytes, since_time), raise max_total_bytes, or use StreamLogs"})
          .WithContext(what);
    }
    text.append(buffer, 0, *got);
  }
}

}  // namespace kube
