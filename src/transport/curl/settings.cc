#include "transport/curl/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "transport/tls/tls_socket.h"

namespace kube::internal {
namespace {

void SetBlob(CURL* easy, CURLoption option, const std::string& pem) {
  curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_NOCOPY};
  Curl().easy_setopt(easy, option, &blob);
}

std::string BracketedName(const std::string& host) { return host.find(':') == std::string::npos ? host : "[" + host + "]"; }

void SetTls(CURL* easy, const TlsMaterial& material, bool https_proxy) {
  const bool verify = !material.insecure;
  Curl().easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, verify ? 1L : 0L);
  Curl().easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, verify ? 2L : 0L);
  if (https_proxy) {
    Curl().easy_setopt(easy, CURLOPT_PROXY_SSL_VERIFYPEER, verify ? 1L : 0L);
    Curl().easy_setopt(easy, CURLOPT_PROXY_SSL_VERIFYHOST, verify ? 2L : 0L);
  }
  if (material.certificate != nullptr) {
    SetBlob(easy, CURLOPT_SSLCERT_BLOB, material.certificate->certificate_pem);
    SetBlob(easy, CURLOPT_SSLKEY_BLOB, material.certificate->key_pem.reveal());
  }
}

// Of every TLS connection that libcurl makes, to a proxy too.
CURLcode OnTlsContext(CURL* /*easy*/, void* context, void* rules) {
  return ApplyTlsRules(static_cast<SSL_CTX*>(rules), static_cast<SSL_CTX*>(context)) ? CURLE_OK : CURLE_OUT_OF_MEMORY;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

}  // namespace

bool Append(Slist& list, const std::string& line) {
  curl_slist* longer = Curl().slist_append(list.get(), line.c_str());
  if (longer == nullptr) return false;
  (void)list.release();
  list.reset(longer);
  return true;
}

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
      const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): nobody changes the environment meanwhile
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

std::string ConnectUrl(const Settings& settings, const TlsMaterial* material) {
  const Endpoint& endpoint = settings.endpoint;
  const bool renamed = endpoint.tls && material != nullptr && !material->server_name.empty();
  return fmt::format("{}://{}:{}/", endpoint.tls ? "https" : "http", BracketedName(renamed ? material->server_name : endpoint.host),
                     endpoint.port);
}

Result<void> SetConnectionOptions(CURL* easy, const Settings& settings, const TlsMaterial* material, SSL_CTX* rules, Slist& connect_to) {
  const HttpTransportOptions& options = settings.options;
  Curl().easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  Curl().easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  Curl().easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  Curl().easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  Curl().easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  Curl().easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::max<std::int64_t>(options.connect_timeout.count(), 1)));
  Curl().easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  Curl().easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  Curl().easy_setopt(easy, CURLOPT_URL, ConnectUrl(settings, material).c_str());

  // The decision is made: libcurl shall not look at the environment.
  Curl().easy_setopt(easy, CURLOPT_NOPROXY, "");
  if (settings.proxy) {
    Curl().easy_setopt(easy, CURLOPT_PROXY, settings.proxy->Url().c_str());
    if (!settings.proxy->user.empty() || !settings.proxy->password.empty()) {
      Curl().easy_setopt(easy, CURLOPT_PROXYUSERNAME, settings.proxy->user.c_str());
      Curl().easy_setopt(easy, CURLOPT_PROXYPASSWORD, settings.proxy->password.c_str());
    }
    Curl().easy_setopt(easy, CURLOPT_PROXY_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  } else {
    Curl().easy_setopt(easy, CURLOPT_PROXY, "");
  }

  const bool https_proxy = settings.proxy && settings.proxy->kind == Proxy::Kind::kHttps;
  if (settings.uses_tls()) {
    // What is trusted is put into the context (ApplyTlsRules): libcurl has no roots of its own.
    for (const CURLoption roots : {CURLOPT_CAINFO, CURLOPT_CAPATH, CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAPATH}) {
      Curl().easy_setopt(easy, roots, nullptr);
    }
    if (Curl().easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, &OnTlsContext) != CURLE_OK ||
        Curl().easy_setopt(easy, CURLOPT_SSL_CTX_DATA, rules) != CURLE_OK) {
      return Error(ErrorKind::kConfig,
                   "libcurl was not built with OpenSSL, which kubexx needs it to be: install one that was "
                   "(Debian: libcurl4)");
    }
  }
  if (!settings.endpoint.tls || material == nullptr) return {};
  SetTls(easy, *material, https_proxy);
  if (!material->server_name.empty()) {
    // The URL has the name to be verified and sent as SNI; this has the place to connect to.
    const std::string port = std::to_string(settings.endpoint.port);
    if (Append(connect_to,
               fmt::format("{}:{}:{}:{}", BracketedName(material->server_name), port, BracketedName(settings.endpoint.host), port))) {
      Curl().easy_setopt(easy, CURLOPT_CONNECT_TO, connect_to.get());
    }
  }
  return {};
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
