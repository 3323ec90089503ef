#include "kube/apiserver/api_server.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "apiserver/bootstrap.h"
#include "apiserver/core.h"
#include "apiserver/crd.h"
#include "apiserver/errors.h"
#include "apiserver/faults.h"
#include "apiserver/identity.h"
#include "apiserver/lifecycle.h"
#include "apiserver/object_meta.h"
#include "apiserver/pod_endpoints.h"
#include "apiserver/router.h"
#include "apiserver/tokens.h"
#include "kube/codec/json.h"
#include "kube/codec/yaml.h"
#include "kube/serve/http_server.h"

namespace kube::apiserver {
namespace {

// What every cluster has.
constexpr std::string_view kInitialObjects = R"(
{apiVersion: v1, kind: Namespace, metadata: {name: default}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: kube-system}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: kube-public}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: kube-node-lease}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: system-cluster-critical}
value: 2000000000
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: system-node-critical}
value: 2000001000
)";
// The server recreates it.
constexpr std::string_view kServerService = R"(
apiVersion: v1
kind: Service
metadata: {name: kubernetes, namespace: default, labels: {component: apiserver, provider: kubernetes}}
spec:
  type: ClusterIP
  clusterIP: 10.0.0.1
  ports: [{name: https, port: 443, protocol: TCP, targetPort: 6443}]
)";

std::string Base64(std::string_view bytes) {
  std::string out = Base64UrlEncode(bytes);
  for (char& c : out) c = c == '-' ? '+' : c == '_' ? '/' : c;
  while (out.size() % 4 != 0) out += '=';
  return out;
}

}  // namespace

class ApiServer::Impl {
 public:
  Impl(ApiServerOptions options, Identity kept)
      : kept_(std::move(kept)),
        options_(std::move(options)),
        core_(options_.clock ? options_.clock : Clock::Real(), options_.all_versions, options_.max_watch_backlog,
              options_.webhook_services),
        crds_(core_),
        lifecycle_(core_),
        bootstrap_(core_),
        pods_(core_),
        router_(core_, tokens_, faults_, pods_,
                {.compact = [this] { core_.store().Compact(); },
                 .restart = [this](bool keep) { RestartSoon(keep); },
                 .set_skew = [this](std::chrono::seconds skew) { core_.SetSkew(skew); },
                 .wait_idle = [this] { return lifecycle_.WaitIdle(std::chrono::seconds(10)); }},
                options_.http) {
    core_.OnRemoved([this](const ServedResource& resource, const StoredObject& object) {
      if (resource.storage == "/services" && object.ns == "default" && object.name == "kubernetes") (void)Load(kServerService, false);
    });
    if (options_.admin_token.empty()) options_.admin_token = Tokens::Random();
    tokens_.Add(options_.admin_token, {.name = "kubernetes-admin", .uid = "", .groups = {"system:masters", "system:authenticated"}});
  }

  ~Impl() {
    Timer last;
    {
      // Cancelling waits for a callback that runs, which takes the lock: so not under it.
      MutexLock lock(mu_);
      stopping_ = true;
      last = std::move(bookmark_timer_);
    }
    last.Cancel();
    restart_thread_.reset();
    core_.workers().Stop();
    server_.reset();
    core_.gate()->Close();
    router_.CancelDelayed();
    pods_.Stop();
    lifecycle_.Stop();
  }

  Result<void> Start() {
    serve::HttpServerOptions http{.port = options_.port, .tls_policy = options_.tls, .limits = serve::HttpLimits::ForApi()};
    if (!options_.http) {
      Result<serve::CertificateAuthority> ca = kept_.ca.key_pem.empty() ? serve::CertificateAuthority::Create("kubexx embedded API server")
                                                                        : serve::CertificateAuthority::FromPem(kept_.ca);
      if (!ca) return ca.error().WithContext("the certificate authority");
      Result<serve::KeyPair> pair = ca->Issue({.common_name = "kube-apiserver",
                                               .dns_names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
                                               .addresses = {"127.0.0.1", "::1", "10.0.0.1"},
                                               .server = true});
      if (!pair) return pair.error();
      ca_pem_ = ca->certificate_pem();
      http.tls = serve::HttpTlsOptions{pair->certificate_pem, pair->key_pem, ca_pem_};
      ca_.emplace(*std::move(ca));
    }
    // Clients remember versions of the server before: no version may be used twice, and older ones must be 410 for them. A server makes
    // less than a million changes in a second, on average.
    if (!options_.data_dir.empty()) {
      const auto now = std::chrono::system_clock::now().time_since_epoch();
      core_.store().StartAt(static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count()));
    }
    for (std::string_view objects : {kInitialObjects, kServerService}) {
      if (auto ok = Load(objects, false); !ok) return ok.error().WithContext("create the initial objects");
    }
    for (const std::string& manifest : options_.manifests) {
      if (auto ok = Load(manifest); !ok) return ok;
    }
    if (options_.lifecycle) lifecycle_.Start();
    Result<std::unique_ptr<serve::HttpServer>> server = serve::HttpServer::Start(
        std::move(http), [this](const std::shared_ptr<serve::HttpExchange>& exchange) { router_.Handle(exchange); });
    if (!server) {
      const bool kept = options_.port != 0 && options_.port == kept_.port;
      return kept ? server.error().WithContext("the port that " + options_.data_dir + " keeps") : server.error();
    }
    server_ = *std::move(server);
    ArmBookmarks();
    return KeepIdentity();
  }

  // `admit`: webhooks are called.
  Result<void> Load(std::string_view manifest, bool admit = true) {
    Result<std::vector<YamlDocument>> documents = ReadYaml(manifest);
    if (!documents) return documents.error();
    for (const YamlDocument& document : *documents) {
      if (auto ok = LoadObject(document.value, admit); !ok) {
        const Value& v = document.value;
        return ok.error().WithContext(fmt::format("line {}: {} {}", document.line, v["kind"].string_value().view(), NameOf(v)));
      }
    }
    return {};
  }

  Result<void> Restart(bool keep_state) {
    MutexLock lock(restart_mu_);
    server_->StopListening();
    server_->CloseConnections();
    if (!keep_state) {
      crds_.Forget();
      core_.store().Clear();
      core_.hooks().Reload();
      core_.services().Clear();
      lifecycle_.Forget();
      for (std::string_view objects : {kInitialObjects, kServerService}) {
        if (auto ok = Load(objects, false); !ok) return ok;
      }
    } else {
      // What a real server's watch cache loses when its process ends: history.
      core_.store().Compact();
    }
    bootstrap_.Reconcile();
    return server_->Listen();
  }

  Identity kept_;  // by options_.data_dir
  ApiServerOptions options_;
  std::optional<serve::CertificateAuthority> ca_;
  std::string ca_pem_;
  Tokens tokens_;
  Faults faults_;
  ApiCore core_;
  CrdController crds_;
  Lifecycle lifecycle_;
  Bootstrap bootstrap_;
  PodEndpoints pods_;
  Router router_;
  std::unique_ptr<serve::HttpServer> server_;

 private:
  Result<void> KeepIdentity() {
    if (options_.data_dir.empty()) return {};
    const bool same_ca = !ca_ || ca_->key_pair().key_pem == kept_.ca.key_pem;
    if (kept_.port == server_->port() && kept_.admin_token == options_.admin_token && same_ca) return {};
    kept_ = {.port = server_->port(), .admin_token = options_.admin_token, .ca = ca_ ? ca_->key_pair() : kept_.ca};
    return WriteIdentity(options_.data_dir, kept_);
  }

  Result<void> LoadObject(const Value& object, bool admit) {
    if (object["kind"].string_value() == "List") {
      for (const Value& item : object["items"].list()) {
        if (auto ok = LoadObject(item, admit); !ok) return ok;
      }
      return {};
    }
    std::shared_ptr<const Resources> resources = core_.registry().current();
    Result<Gvk> gvk = Gvk::Parse(object["apiVersion"].string_value(), object["kind"].string_value());
    if (!gvk) return gvk.error();
    ResourcePtr resource = resources->FindKind(gvk->group, gvk->version, gvk->kind);
    if (!resource) {
      return Error::Invalid(
          fmt::format("no matches for kind \"{}\" in version \"{}\"", gvk->kind.view(), object["apiVersion"].string_value().view()));
    }
    core_.Use(*resource);
    std::string body = ToJson(object);
    Call call{.resources = resources,
              .resource = resource,
              .query = {},
              .user = {.name = "kubernetes-admin", .uid = "", .groups = {"system:masters", "system:authenticated"}},
              .user_agent = "kube-apiserver",
              .body = body};
    call.ctx = core_.workers().context();
    call.admit = admit;
    if (resource->namespaced) call.ns = NamespaceOf(object).empty() ? "default" : std::string(NamespaceOf(object));
    Result<Answer> answer = core_.Create(call);
    if (!answer) return answer.error();
    return {};
  }

  void ArmBookmarks() {
    MutexLock lock(mu_);
    if (stopping_) return;
    bookmark_timer_ = core_.clock()->AddTimerAfter(options_.bookmark_interval, [this] {
      core_.store().SendProgress();
      ArmBookmarks();
    });
  }

  // For the admin endpoint, whose own connection is among those that are cut.
  void RestartSoon(bool keep_state) {
    MutexLock lock(mu_);
    if (stopping_) return;
    restart_thread_.emplace("kube-restart", [this, keep_state] { (void)Restart(keep_state); });
  }

  Mutex restart_mu_;  // one restart at a time
  Mutex mu_;
  bool stopping_ KUBE_GUARDED_BY(mu_) = false;
  Timer bookmark_timer_ KUBE_GUARDED_BY(mu_);
  std::optional<Thread> restart_thread_;
};

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ApiServer::~ApiServer() = default;

Result<std::unique_ptr<ApiServer>> ApiServer::Start(ApiServerOptions options) {
  Identity kept;
  if (!options.data_dir.empty()) {
    Result<Identity> found = ReadIdentity(options.data_dir);
    if (!found) return found.error();
    kept = *std::move(found);
    if (options.port == 0) options.port = kept.port;
    if (options.admin_token.empty()) options.admin_token = kept.admin_token;
  }
  auto impl = std::make_unique<Impl>(std::move(options), std::move(kept));
  if (auto ok = impl->Start(); !ok) return ok.error();
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
}

std::uint16_t ApiServer::port() const { return impl_->server_->port(); }
std::string ApiServer::url() const { return fmt::format("{}://127.0.0.1:{}", impl_->options_.http ? "http" : "https", port()); }
const std::string& ApiServer::ca_pem() const { return impl_->ca_pem_; }
const std::string& ApiServer::admin_token() const { return impl_->options_.admin_token; }
std::string ApiServer::Kubeconfig() const { return KubeconfigFor("kubernetes-admin", admin_token()); }

std::string ApiServer::KubeconfigFor(std::string_view user, std::string_view token) const {
  Value cluster = Value::Object({{"server", url()}});
  if (!ca_pem().empty()) cluster["certificate-authority-data"] = Base64(ca_pem());
  Value config = Value::Object({{"apiVersion", "v1"}, {"kind", "Config"}, {"current-context", "kubexx"}});
  config["clusters"] = Value::Array({Value::Object({{"name", "kubexx"}, {"cluster", cluster}})});
  config["users"] = Value::Array({Value::Object({{"name", user}, {"user", Value::Object({{"token", token}})}})});
  config["contexts"] =
      Value::Array({Value::Object({{"name", "kubexx"}, {"context", Value::Object({{"cluster", "kubexx"}, {"user", user}})}})});
  return ToYaml(config);
}

std::string ApiServer::AddUser(std::string name, std::vector<std::string> groups) {
  std::string token = Tokens::Random();
  groups.push_back("system:authenticated");
  impl_->tokens_.Add(token, {.name = std::move(name), .uid = "", .groups = std::move(groups)});
  return token;
}

Result<serve::KeyPair> ApiServer::IssueClientCertificate(const std::string& name, std::vector<std::string> groups) const {
  if (!impl_->ca_) return Error::Invalid("a server with plain HTTP has no client certificates");
  return impl_->ca_->Issue({.common_name = name, .organizations = std::move(groups), .client = true});
}

Result<void> ApiServer::Load(std::string_view manifest) { return impl_->Load(manifest); }
std::uint64_t ApiServer::resource_version() const { return impl_->core_.store().version(); }
std::size_t ApiServer::object_count() const { return impl_->core_.store().size(); }
bool ApiServer::WaitIdle(std::chrono::milliseconds limit) const { return !impl_->options_.lifecycle || impl_->lifecycle_.WaitIdle(limit); }
void ApiServer::MapService(std::string service, std::string address) {
  impl_->core_.webhooks().SetService(std::move(service), std::move(address));
}
void ApiServer::SetPodHandlers(PodHandlers handlers) { impl_->pods_.SetHandlers(std::move(handlers)); }
int ApiServer::AddFault(Fault fault) { return impl_->faults_.Add(std::move(fault)); }
bool ApiServer::RemoveFault(int id) { return impl_->faults_.Remove(id); }
void ApiServer::ClearFaults() { impl_->faults_.Clear(); }
void ApiServer::Refuse() { impl_->server_->StopListening(); }
Result<void> ApiServer::Accept() { return impl_->server_->Listen(); }
void ApiServer::CloseConnections() { impl_->server_->CloseConnections(); }
std::size_t ApiServer::connections() const { return impl_->server_->connections(); }
void ApiServer::Compact() { impl_->core_.store().Compact(); }
Result<void> ApiServer::Restart(bool keep_state) { return impl_->Restart(keep_state); }
void ApiServer::SetClockSkew(std::chrono::seconds skew) { impl_->core_.SetSkew(skew); }

}  // namespace kube::apiserver
