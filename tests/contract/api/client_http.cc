#include "client_http.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "kube/base/clock.h"
#include "kube/base/secret_string.h"
#include "kube/config/client_config.h"
#include "kube/transport/transport.h"

namespace kube::contract {
namespace {

using Clients = std::map<std::tuple<std::string, std::string, std::string, std::string, bool>, Client>;

Clients& AllClients() {
  static Clients clients;
  return clients;
}

// "https://127.0.0.1:1234/api/v1?x" -> "https://127.0.0.1:1234"
std::string BaseOf(const std::string& url) { return url.substr(0, url.find('/', url.find("://") + 3)); }

Result<Client> ClientFor(const HttpIdentity& identity, const HttpCall& call) {
  const std::string base = BaseOf(call.url);
  const auto key = std::make_tuple(base, identity.certificate_pem, identity.token, identity.ca_pem, call.http2);
  Clients& clients = AllClients();
  if (const auto found = clients.find(key); found != clients.end()) return found->second;
  ClientConfig config;
  config.host = base;
  config.tls.ca_data = identity.ca_pem;
  config.tls.certificate_data = identity.certificate_pem;
  config.tls.key_data = SecretString(identity.key_pem);
  config.token = SecretString(identity.token);
  config.qps = -1;
  config.disable_http2 = !call.http2;
  // Cases look at refusals with Retry-After themselves.
  Result<Client> client = Client::FromConfig(config, {.warning_handler = [](const ApiWarning&) {}, .max_retries = 0});
  if (client) clients.emplace(key, *client);
  return client;
}

HttpRequest RequestOf(const HttpCall& call, bool streaming) {
  HttpRequest request;
  request.method = call.method;
  request.target = call.url.substr(BaseOf(call.url).size());
  if (request.target.empty()) request.target = "/";
  for (const auto& [name, value] : call.headers) {
    if (!value.empty()) request.headers.Add(name, value);
  }
  request.body = call.body;
  request.streaming = streaming;
  return request;
}

HttpAnswer AnswerOf(HttpResponse& response) {
  HttpAnswer answer;
  answer.status = response.code;
  answer.http_major = response.http_major;
  for (const auto& [name, value] : response.headers) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    answer.headers.emplace_back(std::move(lower), value);
  }
  answer.body = std::move(response.body);
  return answer;
}

}  // namespace

Result<HttpAnswer> HttpCaller::Do(const HttpCall& call) {
  const Result<Client> client = ClientFor(identity_, call);
  if (!client) return client.error();
  Result<HttpResponse> response = client->transport()->RoundTrip(Context::Background().WithTimeout(call.timeout), RequestOf(call, false));
  if (!response) return response.error();
  return AnswerOf(*response);
}

Result<HttpAnswer> HttpStream::Head(TimePoint until) {
  if (head_) return *head_;
  const Result<Client> client = ClientFor(identity_, call_);
  if (!client) return client.error();
  Result<HttpResponse> response = client->transport()->RoundTrip(Context::Background().WithDeadline(until), RequestOf(call_, true));
  if (!response) return response.error();
  head_ = AnswerOf(*response);
  body_ = std::move(response->stream);
  return *head_;
}

Result<bool> HttpStream::Fill(TimePoint until) {
  if (Result<HttpAnswer> head = Head(until); !head) return head.error();
  char buffer[16 * 1024];
  const Result<std::size_t> got = body_->Read(Context::Background().WithDeadline(until), buffer, sizeof buffer);
  if (!got) return got.error();
  buffer_.append(buffer, *got);
  return *got > 0;
}

Result<std::optional<std::string>> HttpStream::NextLine(TimePoint until) {
  for (;;) {
    if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return std::optional<std::string>(std::move(line));
    }
    const Result<bool> more = Fill(until);
    if (!more) return more.error();
    if (!*more) {
      if (buffer_.empty()) return std::optional<std::string>();
      return std::optional<std::string>(std::exchange(buffer_, {}));
    }
  }
}

Result<std::optional<std::string>> HttpStream::NextBytes(std::size_t count, TimePoint until) {
  while (buffer_.size() < count) {
    const Result<bool> more = Fill(until);
    if (!more) return more.error();
    if (!*more) return std::optional<std::string>();
  }
  std::string bytes = buffer_.substr(0, count);
  buffer_.erase(0, count);
  return std::optional<std::string>(std::move(bytes));
}

void CloseClients() { AllClients().clear(); }

}  // namespace kube::contract
