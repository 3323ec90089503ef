#include "transport/curl/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

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

// Called for every TLS connection that libcurl makes, also to a proxy.
CURLcode OnTlsContext(CURL* /*easy*/, void* context, void* rules) {
  return ApplyTlsRules(static_cast<SSL_CTX*>(rules), static_cast<SSL_CTX*>(context)) ? CURLE_OK : CURLE_OUT_OF_MEMORY;
}

FailureKind KindOf(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return FailureKind::kNone;
    case CURLE_COULDNT_RESOLVE_HOST:
      return FailureKind::kUnknownHost;
    case CURLE_COULDNT_RESOLVE_PROXY:
      return FailureKind::kUnknownProxy;
    case CURLE_COULDNT_CONNECT:
      return FailureKind::kConnect;
    case CURLE_PROXY:
      return FailureKind::kProxy;
    case CURLE_OPERATION_TIMEDOUT:
      return FailureKind::kTimeout;
    case CURLE_PEER_FAILED_VERIFICATION:
      return FailureKind::kCertificate;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
      return FailureKind::kTls;
    case CURLE_SSL_CERTPROBLEM:
      return FailureKind::kClientCertificate;
    case CURLE_SSL_CACERT_BADFILE:
      return FailureKind::kCa;
    case CURLE_GOT_NOTHING:
      return FailureKind::kNoAnswer;
    case CURLE_PARTIAL_FILE:
      return FailureKind::kPartialAnswer;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
      return FailureKind::kConnection;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
      return FailureKind::kNotHttp;
    case CURLE_BAD_CONTENT_ENCODING:
      return FailureKind::kNotCompressed;
    case CURLE_OUT_OF_MEMORY:
    case CURLE_FILESIZE_EXCEEDED:
      return FailureKind::kTooLarge;
    default:
      return FailureKind::kOther;
  }
}

}  // namespace

bool Append(Slist& list, const std::string& line) {
  curl_slist* longer = Curl().slist_append(list.get(), line.c_str());
  if (longer == nullptr) return false;
  (void)list.release();
  list.reset(longer);
  return true;
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

  // The decision is made: libcurl must not read the environment.
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

Failure ReadFailure(CURL* easy, CURLcode code, const char* detail) {
  Failure failure;
  failure.kind = KindOf(code);
  failure.detail = detail != nullptr && *detail != '\0' ? detail : Curl().easy_strerror(code);
  Curl().easy_getinfo(easy, CURLINFO_OS_ERRNO, &failure.os_error);
  Curl().easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &failure.verify_result);
  Curl().easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &failure.connect_code);
  return failure;
}

}  // namespace kube::internal
