#include "config/oidc_source.h"

#include <utility>

#include "codec/base64.h"
#include "config/exec_credential.h"
#include "config/files.h"
#include "config/pem.h"
#include "config/text.h"
#include "kube/base/log.h"
#include "kube/base/wait_until.h"
#include "kube/codec/json.h"

namespace kube::internal {
namespace {

constexpr const char* kIssuer = "idp-issuer-url";
constexpr const char* kClientId = "client-id";
constexpr const char* kClientSecret = "client-secret";
constexpr const char* kCaFile = "idp-certificate-authority";
constexpr const char* kCaData = "idp-certificate-authority-data";
constexpr const char* kIdToken = "id-token";
constexpr const char* kRefreshToken = "refresh-token";
constexpr std::chrono::minutes kRefreshTimeLimit{1};

std::string Setting(const std::map<std::string, std::string>& settings, const char* name) {
  const auto found = settings.find(name);
  return found == settings.end() ? std::string() : found->second;
}

bool IsHttps(std::string_view url) { return url.substr(0, 8) == "https://" && url.size() > 8; }

class Sources {
 public:
  static Sources& Instance() {
    static auto* const instance = new Sources();
    return *instance;
  }
  std::shared_ptr<OidcSource> Get(const std::vector<std::string>& key, const std::function<std::shared_ptr<OidcSource>()>& make) {
    MutexLock lock(mu_);
    std::shared_ptr<OidcSource> source = sources_[key].lock();
    if (source != nullptr) return source;
    std::erase_if(sources_, [&key](const auto& entry) { return entry.second.expired() && entry.first != key; });
    source = make();
    sources_[key] = source;
    return source;
  }

 private:
  Mutex mu_;
  std::map<std::vector<std::string>, std::weak_ptr<OidcSource>> sources_ KUBE_GUARDED_BY(mu_);
};

}  // namespace

Result<std::int64_t> IdTokenExpiry(std::string_view token) {
  const auto bad = [] { return Error(ErrorKind::kAuth, "id-token is not a JSON Web Token"); };
  if (!IsHeaderToken(token)) return bad();
  const std::size_t first = token.find('.');
  const std::size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos) return bad();
  std::string payload(token.substr(first + 1, second - first - 1));
  for (char& c : payload) {
    if (c == '+' || c == '/' || c == '=' || c == '\n' || c == '\r') return bad();
    c = c == '-' ? '+' : c == '_' ? '/' : c;
  }
  payload.append((4 - payload.size() % 4) % 4, '=');
  std::string text;
  if (!DecodeBase64(payload, text)) return bad();
  const Result<Value> claims = ParseJson(text);
  if (!claims || !claims->is_object()) return bad();
  const Value& expiry = (*claims)["exp"];
  if (expiry.is_null()) return std::int64_t{0};
  if (!expiry.is_number()) return bad();
  return expiry.int_value();
}

std::string FormEncode(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

std::string FormEncode(const std::map<std::string, std::string>& fields) {
  std::string out;
  for (const auto& [name, value] : fields) {
    if (!out.empty()) out += '&';
    out += FormEncode(name) + '=' + FormEncode(value);
  }
  return out;
}

OidcSource::OidcSource(AuthProviderConfig config, std::string ca_pem, std::shared_ptr<Clock> clock, OidcHttp http)
    : provider_(std::move(config)),
      issuer_(Setting(provider_.config, kIssuer)),
      ca_pem_(std::move(ca_pem)),
      clock_(std::move(clock)),
      http_(std::move(http)),
      settings_(provider_.config),
      obtained_at_(clock_->Now()) {}

Error OidcSource::Failed(const std::string& what) const {
  return Error(ErrorKind::kAuth, "OIDC issuer " + Quoted(WithoutUserInfo(issuer_)) + ": " + what);
}

Result<bool> OidcSource::Valid(const std::string& id_token) const {
  if (id_token.empty()) return false;
  const Result<std::int64_t> expiry = IdTokenExpiry(id_token);
  if (!expiry) return Failed(expiry.error().message() + "; log in again");
  const auto now = std::chrono::duration_cast<std::chrono::seconds>((clock_->WallNow() + kIdTokenLeeway).time_since_epoch()).count();
  return now < *expiry;
}

Result<std::string> OidcSource::TokenEndpoint(const Context& ctx) const {
  std::string url = issuer_;
  if (url.back() == '/') url.pop_back();
  const Result<OidcResponse> answer = http_(ctx, {.url = url + "/.well-known/openid-configuration", .ca_pem = ca_pem_});
  if (!answer) return answer.error();
  if (answer->code != 200)
    return Failed("the discovery document was answered with HTTP " + std::to_string(answer->code) + "; check idp-issuer-url");
  const Result<Value> document = ParseJson(answer->body);
  if (!document || !document->is_object()) return Failed("the discovery document is not a JSON object; check idp-issuer-url");
  std::string endpoint = (*document)["token_endpoint"].string_value().str();
  if (endpoint.empty()) return Failed("the discovery document names no token_endpoint; check idp-issuer-url");
  if (!IsHttps(endpoint)) return Failed("its token_endpoint is not an https URL");
  return endpoint;
}

Result<OidcSource::Tokens> OidcSource::Refresh(const Context& ctx, const std::string& refresh_token) const {
  if (refresh_token.empty()) return Failed("id-token has expired, and there is no refresh-token; log in again");
  if (!http_) return Failed("id-token has expired, and this program cannot ask for a new one: MakeCredentials was given no oidc_http");
  const Context limited = ctx.WithTimeout(kRefreshTimeLimit);
  const Result<std::string> endpoint = TokenEndpoint(limited);
  if (!endpoint) return endpoint.error();

  const std::string client = Setting(provider_.config, kClientId);
  const std::string secret = Setting(provider_.config, kClientSecret);
  std::map<std::string, std::string> form = {{"grant_type", "refresh_token"}, {"refresh_token", refresh_token}};
  OidcRequest request{.url = *endpoint, .ca_pem = ca_pem_};
  // Issuers differ in how a client has to name itself. As OAuth has it first (RFC 6749, 2.3.1), then the other way.
  std::string basic;
  AppendBase64(FormEncode(client) + ':' + FormEncode(secret), basic);
  request.authorization = SecretString("Basic " + basic);
  request.form = SecretString(FormEncode(form));
  Result<OidcResponse> answer = http_(limited, request);
  if (answer && answer->code >= 400 && answer->code < 500) {
    form["client_id"] = client;
    if (!secret.empty()) form["client_secret"] = secret;
    request.authorization = SecretString();
    request.form = SecretString(FormEncode(form));
    answer = http_(limited, request);
  }
  if (!answer) return answer.error();
  const Result<Value> parsed = ParseJson(answer->body);
  const Value body = parsed && parsed->is_object() ? *parsed : Value();
  if (answer->code < 200 || answer->code > 299) {
    const Value& reason = body["error"];
    return Failed("it refused the refresh-token with HTTP " + std::to_string(answer->code) +
                  (reason.is_string() ? " (" + Quoted(reason.string_value()) + ")" : "") + "; log in again");
  }
  if (body.is_null()) return Failed("its answer to the refresh-token is not a JSON object");
  Tokens tokens{.id = body["id_token"].string_value().str(), .refresh = body["refresh_token"].string_value().str()};
  if (tokens.id.empty()) {
    return Failed(
        "its answer to the refresh-token has no id_token: either the login did not ask for the scope openid, or it does not give "
        "new ID tokens for refresh tokens");
  }
  if (const Result<std::int64_t> expiry = IdTokenExpiry(tokens.id); !expiry)
    return Failed("the id_token that it gave is not a JSON Web Token");
  return tokens;
}

Result<Authorization> OidcSource::Get(const Context& ctx) {
  static const Logger log("config.oidc");
  MutexLock lock(mu_);
  for (;;) {
    const std::string id = Setting(settings_, kIdToken);
    const Result<bool> valid = Valid(id);
    if (!valid) return valid.error();
    if (*valid) return Authorization{.header = SecretString("Bearer " + id), .obtained_at = obtained_at_, .serial = serial_};
    if (!running_) break;
    const Result<void> waited = WaitUntil(ctx, mu_, changed_, [this] {
      mu_.AssertHeld();
      return !running_;
    });
    if (!waited) return waited.error().WithContext("refresh the ID token");
  }
  running_ = true;
  std::map<std::string, std::string> settings = settings_;
  lock.Unlock();
  Result<Tokens> tokens = Refresh(ctx, Setting(settings, kRefreshToken));
  Result<void> kept;
  if (tokens) {
    settings[kIdToken] = tokens->id;
    if (!tokens->refresh.empty()) settings[kRefreshToken] = tokens->refresh;
    if (provider_.persist) kept = provider_.persist(settings);
  }
  lock.Lock();
  running_ = false;
  changed_.NotifyAll();
  if (!tokens) {
    const bool stopped = tokens.error().kind() == ErrorKind::kCancelled || tokens.error().kind() == ErrorKind::kTimeout;
    if (stopped || tokens.error().kind() == ErrorKind::kAuth) return tokens.error().WithContext("refresh the ID token");
    return Failed("cannot refresh the ID token: " + tokens.error().ToString());
  }
  // Kept even if they cannot be written: they are good, and the old refresh token may be used up.
  settings_ = std::move(settings);
  obtained_at_ = clock_->Now();
  ++serial_;
  if (!kept)
    log.Error(kept.error(), "Failed to write new OIDC tokens back; the next program may have to log in again", {{"issuer", issuer_}});
  return Authorization{.header = SecretString("Bearer " + tokens->id), .obtained_at = obtained_at_, .serial = serial_};
}

Result<std::shared_ptr<CredentialSource>> MakeOidcSource(const ClientConfig& config, const std::shared_ptr<Clock>& clock,
                                                         const OidcHttp& http) {
  const AuthProviderConfig& provider = *config.auth_provider;
  const auto wrong = [](std::string message) { return Error(ErrorKind::kConfig, "auth provider oidc: " + std::move(message)); };
  const std::string issuer = Setting(provider.config, kIssuer);
  if (issuer.empty()) return wrong("idp-issuer-url is missing");
  if (!IsHttps(issuer)) return wrong("idp-issuer-url has to be an https URL, as tokens are sent there");
  if (Setting(provider.config, kClientId).empty()) return wrong("client-id is missing");
  std::string ca;
  std::string where = kCaData;
  if (const std::string data = Setting(provider.config, kCaData); !data.empty()) {
    if (!DecodeBase64(data, ca)) return wrong("idp-certificate-authority-data is not base64");
  } else if (const std::string file = Setting(provider.config, kCaFile); !file.empty()) {
    FileText text = ReadFile(file);
    if (!text.ok()) return wrong("cannot read idp-certificate-authority " + Quoted(file) + ": " + text.problem());
    ca = std::move(text.text);
    where = "the file " + Quoted(file);
  }
  if (where != kCaData || !ca.empty()) {
    if (const Result<void> checked = CheckCaBundle(ca, where); !checked) return wrong(checked.error().message());
  }
  const std::string refresh = Setting(provider.config, kRefreshToken);
  const std::vector<std::string> key = {config.host,
                                        issuer,
                                        Setting(provider.config, kClientId),
                                        Setting(provider.config, kClientSecret),
                                        refresh,
                                        refresh.empty() ? Setting(provider.config, kIdToken) : std::string(),
                                        std::to_string(reinterpret_cast<std::uintptr_t>(clock.get()))};
  return std::shared_ptr<CredentialSource>(
      Sources::Instance().Get(key, [&] { return std::make_shared<OidcSource>(provider, std::move(ca), clock, http); }));
}

}  // namespace kube::internal
