#include "transport/request/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

namespace kube::internal {
namespace {

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

}  // namespace

Result<std::shared_ptr<const Settings>> MakeSettings(HttpTransportOptions options) {
  Result<Endpoint> endpoint = ParseBaseUrl(options.base_url);
  if (!endpoint) return endpoint.error();
  auto settings = std::make_shared<Settings>();
  settings->endpoint = *std::move(endpoint);
  settings->authority = settings->endpoint.Authority();
  if (!options.proxy_url.empty()) {
    Result<Proxy> proxy = ParseProxyUrl(options.proxy_url);
    if (!proxy) return proxy.error();
    settings->proxy = *std::move(proxy);
  } else {
    Result<std::optional<Proxy>> proxy = EnvironmentProxy(settings->endpoint, [](const std::string& name) -> std::optional<std::string> {
      const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): the environment does not change meanwhile
      if (value == nullptr) return std::nullopt;
      return std::string(value);
    });
    if (!proxy) return proxy.error();
    settings->proxy = *std::move(proxy);
  }
  options.stream_buffer = std::max<std::size_t>(options.stream_buffer, 16 * 1024);
  settings->options = std::move(options);
  return std::shared_ptr<const Settings>(std::move(settings));
}

std::optional<Error> CheckRequest(const HttpRequest& request) {
  if (!IsToken(request.method)) return Error::Invalid("the method of a request has to be a word, as GET");
  if (request.target.empty() || request.target.front() != '/') {
    return Error::Invalid(fmt::format("the target of a request has to begin with '/': \"{}\"", request.target));
  }
  for (const char c : request.target) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7F || c == '#') {
      return Error::Invalid("the target of a request has blanks, control characters or '#': they have to be escaped");
    }
  }
  for (const auto& [name, value] : request.headers) {
    if (!IsToken(name)) return Error::Invalid("the name of a header is empty or has characters that no name may have");
    if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
      return Error::Invalid(fmt::format("the value of header {} has a line break or a zero byte", name));
    }
  }
  return std::nullopt;
}

}  // namespace kube::internal
