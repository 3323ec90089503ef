#include "kube/testing/control_plane.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <utility>

#include "codec/base64.h"
#include "kube/base/mutex.h"
#include "kube/codec/json.h"
#include "kube/testing/kubeconfig.h"
#include "testing/assets.h"
#include "testing/control_plane_parts.h"
#include "testing/http.h"
#include "testing/temporary_directory.h"

namespace kube::testing {
namespace {

using internal::ControlPlaneProgram;
using internal::HttpAnswer;
using internal::HttpCaller;
using internal::HttpIdentity;
using std::chrono::milliseconds;
using Part = ControlPlane::Part;

constexpr milliseconds kStopPatience = std::chrono::seconds(10);
constexpr const char* kLoopback = "127.0.0.1";
constexpr const char* kIssuer = "https://kubernetes.default.svc.cluster.local";
constexpr Part kParts[] = {Part::kEtcd, Part::kApiServer, Part::kControllerManager};

std::size_t IndexOf(Part part) { return static_cast<std::size_t>(part); }

// A key pair that is read from the folder if it exists, and created and written otherwise.
Result<serve::KeyPair> KeepPair(const std::string& base, const std::function<Result<serve::KeyPair>()>& make) {
  if (std::filesystem::exists(base + ".crt") && std::filesystem::exists(base + ".key")) {
    Result<std::string> certificate = internal::ReadFile(base + ".crt");
    if (!certificate) return certificate.error();
    Result<std::string> key = internal::ReadFile(base + ".key");
    if (!key) return key.error();
    return serve::KeyPair{*certificate, *key};
  }
  Result<serve::KeyPair> made = make();
  if (!made) return made;
  if (auto r = internal::WriteFile(base + ".crt", made->certificate_pem); !r) return r.error();
  if (auto r = internal::WriteFile(base + ".key", made->key_pem); !r) return r.error();
  return made;
}

Result<serve::CertificateAuthority> KeepAuthority(const std::string& base, const std::string& name) {
  Result<serve::KeyPair> pair = KeepPair(base, [&]() -> Result<serve::KeyPair> {
    Result<serve::CertificateAuthority> ca = serve::CertificateAuthority::Create(name);
    if (!ca) return ca.error();
    return ca->key_pair();
  });
  if (!pair) return pair.error();
  return serve::CertificateAuthority::FromPem(*pair);
}

Result<void> KeepSigningKey(const std::string& base) {
  if (std::filesystem::exists(base + ".key") && std::filesystem::exists(base + ".pub")) return {};
  Result<serve::SigningKey> key = serve::CreateSigningKey();
  if (!key) return key.error();
  if (auto r = internal::WriteFile(base + ".key", key->private_pem); !r) return r;
  return internal::WriteFile(base + ".pub", key->public_pem);
}

Error ApiError(const HttpAnswer& answer, const std::string& what) {
  Error::Payload payload{.kind = ErrorKind::kApi, .http_code = answer.status, .message = answer.body};
  if (Result<Value> status = ParseJson(answer.body); status && (*status)["kind"].string_value() == "Status") {
    payload.reason = (*status)["reason"].string_value().str();
    payload.message = (*status)["message"].string_value().str();
  }
  return Error(std::move(payload)).WithContext(what);
}

// Flags that only some releases of etcd know.
std::vector<std::string> OptionalEtcdFlags(const std::string& program, const std::string& scratch) {
  const std::string file = scratch + "/etcd-help.txt";
  Result<std::unique_ptr<internal::Process>> help = internal::Process::Start({.argv = {program, "--help"}, .log_file = file});
  if (help) (*help)->Wait(std::chrono::steady_clock::now() + std::chrono::seconds(10));
  const std::string text = internal::TailOf(file, 100'000);
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  std::vector<std::string> flags;
  const auto knows = [&text](const char* flag) { return text.find(flag) != std::string::npos; };
  if (knows("--unsafe-no-fsync")) flags.emplace_back("--unsafe-no-fsync");
  // The API server's watch caches learn from these how far they are: bookmarks and consistent reads do not have to wait for a write.
  if (knows("--experimental-watch-progress-notify-interval")) {
    flags.emplace_back("--experimental-watch-progress-notify-interval=5s");
  } else if (knows("--watch-progress-notify-interval")) {
    flags.emplace_back("--watch-progress-notify-interval=5s");
  }
  return flags;
}

}  // namespace

std::string_view ToString(ControlPlane::Part part) {
  switch (part) {
    case Part::kEtcd:
      return "etcd";
    case Part::kApiServer:
      return "kube-apiserver";
    case Part::kControllerManager:
      return "kube-controller-manager";
  }
  return "?";
}

Result<std::string> FindControlPlaneAssets(const ControlPlaneOptions& options) {
  std::string folder = options.assets;
  if (folder.empty() && options.version.empty()) folder = internal::Environment("KUBEBUILDER_ASSETS");
  bool built = false;
  if (folder.empty()) {
    folder = internal::ControlPlaneCache() + "/" + (options.version.empty() ? "newest" : options.version);
    built = true;
  }
  for (Part part : kParts) {
    if (part == Part::kControllerManager && !options.controller_manager) continue;
    if (internal::IsProgram(folder + "/" + std::string(ToString(part)))) continue;
    return Error(ErrorKind::kConfig, std::string(ToString(part)) + " is not in " + folder +
                                         (built ? " (`make control-plane` builds it; or set KUBEBUILDER_ASSETS)" : ""));
  }
  return folder;
}

class ControlPlane::Impl {
 public:
  explicit Impl(ControlPlaneOptions options) : options_(std::move(options)) {}
  ~Impl();

  Result<void> Start(const Context& ctx);
  Result<void> UseExisting(const Context& ctx);

  Result<ControlPlaneProgram*> Find(Part part) const;
  Result<HttpAnswer> Call(const Context& ctx, const std::string& method, const std::string& path, const std::string& body = "") const;

  ControlPlaneOptions options_;
  bool existing_ = false;
  std::string existing_kubeconfig_;
  std::string url_;
  std::string version_;
  std::string directory_;
  HttpIdentity admin_;
  HttpIdentity etcd_client_;
  std::optional<serve::CertificateAuthority> ca_;
  std::array<std::unique_ptr<ControlPlaneProgram>, std::size(kParts)> programs_;
  mutable Mutex operations_;  // starting and ending, one after another

 private:
  Result<void> MakeDirectory();
  Result<void> MakeCertificates();
  void DescribeEtcd(const std::string& assets);
  void DescribeApiServer(const std::string& assets);
  void DescribeControllerManager(const std::string& assets);
  Result<void> StartPart(const Context& ctx, Part part);
  // What exists a moment after the server reports that it is ready.
  Result<void> WaitForObject(const Context& ctx, const std::string& path) const;
  Result<void> ReadVersion(const Context& ctx);
  std::string Pki(const std::string& file) const { return directory_ + "/pki/" + file; }
  std::string LogFile(Part part) const { return log_directory_ + "/" + std::string(ToString(part)) + ".log"; }

  std::string log_directory_;
  std::unique_ptr<internal::TemporaryDirectory> temporary_;
  int lock_fd_ = -1;
};

ControlPlane::Impl::~Impl() {
  // Users first. What is temporary need not end in good order; etcd's data that is to be kept is closed properly.
  for (Part part : {Part::kControllerManager, Part::kApiServer}) {
    if (programs_[IndexOf(part)] != nullptr) programs_[IndexOf(part)]->Kill();
  }
  if (auto& etcd = programs_[IndexOf(Part::kEtcd)]) etcd->Stop(temporary_ != nullptr ? milliseconds(0) : kStopPatience);
  if (lock_fd_ >= 0) close(lock_fd_);
}

Result<void> ControlPlane::Impl::UseExisting(const Context& ctx) {
  Result<internal::ExistingCluster> cluster = internal::FindExistingCluster();
  if (!cluster) return cluster.error();
  existing_ = true;
  existing_kubeconfig_ = cluster->kubeconfig;
  url_ = cluster->url;
  admin_ = cluster->identity;
  return ReadVersion(ctx);
}

Result<void> ControlPlane::Impl::Start(const Context& ctx) {
  Result<std::string> assets = FindControlPlaneAssets(options_);
  if (!assets) return assets.error();
  const Context soon = ctx.WithTimeout(options_.start_timeout);
  if (auto r = MakeDirectory(); !r) return r;
  if (auto r = MakeCertificates(); !r) return r;
  DescribeEtcd(*assets);
  if (auto r = StartPart(soon, Part::kEtcd); !r) return r;
  DescribeApiServer(*assets);
  if (auto r = StartPart(soon, Part::kApiServer); !r) return r;
  url_ = programs_[IndexOf(Part::kApiServer)]->url();
  if (auto r = ReadVersion(soon); !r) return r;
  if (auto r = WaitForObject(soon, "/api/v1/namespaces/default"); !r) return r;
  if (!options_.controller_manager) return {};
  DescribeControllerManager(*assets);
  if (auto r = StartPart(soon, Part::kControllerManager); !r) return r;
  if (!options_.service_account_admission.value_or(true)) return {};
  return WaitForObject(soon, "/api/v1/namespaces/default/serviceaccounts/default");
}

Result<void> ControlPlane::Impl::MakeDirectory() {
  std::error_code failed;
  if (options_.data_dir.empty()) {
    Result<std::unique_ptr<internal::TemporaryDirectory>> made = internal::TemporaryDirectory::Create("kubexx-control-plane");
    if (!made) return made.error();
    temporary_ = std::move(*made);
    directory_ = temporary_->path();
  } else {
    std::filesystem::create_directories(options_.data_dir, failed);
    directory_ = std::filesystem::absolute(options_.data_dir).string();
    lock_fd_ = open((directory_ + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock_fd_ < 0) return Error(ErrorKind::kConfig, directory_ + ": " + std::strerror(errno));
    if (flock(lock_fd_, LOCK_EX | LOCK_NB) != 0) return Error(ErrorKind::kConfig, directory_ + " is in use by another control plane");
  }
  log_directory_ = options_.log_dir.empty() ? directory_ + "/logs" : std::filesystem::absolute(options_.log_dir).string();
  for (const std::string& folder : {directory_ + "/pki", directory_ + "/etcd", log_directory_}) {
    std::filesystem::create_directories(folder, failed);
    if (failed) return Error(ErrorKind::kConfig, folder + ": " + failed.message());
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, failed);  // etcd insists, and keys are secrets
  }
  return {};
}

Result<void> ControlPlane::Impl::MakeCertificates() {
  // etcd has a CA of its own: a client of the API server must not have access to etcd.
  Result<serve::CertificateAuthority> etcd_ca = KeepAuthority(Pki("etcd-ca"), "kubexx etcd CA");
  if (!etcd_ca) return etcd_ca.error();
  Result<serve::CertificateAuthority> ca = KeepAuthority(Pki("ca"), "kubexx cluster CA");
  if (!ca) return ca.error();
  struct Wanted {
    const char* file;
    const serve::CertificateAuthority* by;
    serve::CertificateRequest request;
  };
  const Wanted wanted[] = {
      // etcd's own gateway is a client of etcd.
      {"etcd", &*etcd_ca, {.common_name = "etcd", .dns_names = {"localhost"}, .addresses = {kLoopback}, .server = true, .client = true}},
      {"etcd-client", &*etcd_ca, {.common_name = "kube-apiserver", .client = true}},
      {"apiserver",
       &*ca,
       {.common_name = "kube-apiserver",
        .dns_names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
        .addresses = {kLoopback, "10.0.0.1"},
        .server = true}},
      {"admin", &*ca, {.common_name = "kubernetes-admin", .organizations = {"system:masters"}, .client = true}},
      {"controller-manager", &*ca, {.common_name = "system:kube-controller-manager", .client = true}},
      {"controller-manager-server",
       &*ca,
       {.common_name = "kube-controller-manager", .dns_names = {"localhost"}, .addresses = {kLoopback}, .server = true}},
  };
  for (const Wanted& one : wanted) {
    Result<serve::KeyPair> pair = KeepPair(Pki(one.file), [&] { return one.by->Issue(one.request); });
    if (!pair) return pair.error();
    if (std::string_view(one.file) == "admin") admin_ = {ca->certificate_pem(), pair->certificate_pem, pair->key_pem, ""};
    if (std::string_view(one.file) == "etcd-client") etcd_client_ = {etcd_ca->certificate_pem(), pair->certificate_pem, pair->key_pem, ""};
  }
  ca_ = std::move(*ca);
  return KeepSigningKey(Pki("service-accounts"));
}

void ControlPlane::Impl::DescribeEtcd(const std::string& assets) {
  const std::string program = assets + "/etcd";
  std::vector<std::string> optional = OptionalEtcdFlags(program, directory_);
  programs_[IndexOf(Part::kEtcd)] = std::make_unique<ControlPlaneProgram>(ControlPlaneProgram::Options{
      .name = "etcd",
      .program = program,
      .directory = directory_,
      .log_file = LogFile(Part::kEtcd),
      .host_url = std::string("https://") + kLoopback,
      .ready_path = "/health",
      .identity = etcd_client_,
      .flags =
          [this, optional](std::uint16_t port) {
            const std::string url = std::string("https://") + kLoopback + ":" + std::to_string(port);
            std::vector<std::string> flags = {
                "--name=kubexx",
                "--data-dir=" + directory_ + "/etcd",
                "--listen-client-urls=" + url,
                "--advertise-client-urls=" + url,
                // There are no other members: any port will do, and what is announced is never used.
                std::string("--listen-peer-urls=http://") + kLoopback + ":0",
                "--initial-cluster=kubexx=http://localhost:2380",
                "--cert-file=" + Pki("etcd.crt"),
                "--key-file=" + Pki("etcd.key"),
                "--trusted-ca-file=" + Pki("etcd-ca.crt"),
                "--client-cert-auth=true",
                "--snapshot-count=10000",
                "--quota-backend-bytes=8589934592",
                "--logger=zap",
            };
            flags.insert(flags.end(), optional.begin(), optional.end());
            flags.insert(flags.end(), options_.etcd_flags.begin(), options_.etcd_flags.end());
            return flags;
          },
      .progress = options_.progress,
  });
}

void ControlPlane::Impl::DescribeApiServer(const std::string& assets) {
  programs_[IndexOf(Part::kApiServer)] = std::make_unique<ControlPlaneProgram>(ControlPlaneProgram::Options{
      .name = "kube-apiserver",
      .program = assets + "/kube-apiserver",
      .directory = directory_,
      .log_file = LogFile(Part::kApiServer),
      .host_url = std::string("https://") + kLoopback,
      .ready_path = "/readyz",
      .identity = admin_,
      .flags =
          [this](std::uint16_t port) {
            std::vector<std::string> flags = {
                "--etcd-servers=" + programs_[IndexOf(Part::kEtcd)]->url(),
                "--etcd-cafile=" + Pki("etcd-ca.crt"),
                "--etcd-certfile=" + Pki("etcd-client.crt"),
                "--etcd-keyfile=" + Pki("etcd-client.key"),
                std::string("--bind-address=") + kLoopback,
                std::string("--advertise-address=") + kLoopback,
                "--endpoint-reconciler-type=none",  // endpoints may not be loopback addresses, and are not needed
                "--secure-port=" + std::to_string(port),
                "--cert-dir=" + directory_ + "/pki",
                "--tls-cert-file=" + Pki("apiserver.crt"),
                "--tls-private-key-file=" + Pki("apiserver.key"),
                "--client-ca-file=" + Pki("ca.crt"),
                "--authorization-mode=Node,RBAC",
                std::string("--service-account-issuer=") + kIssuer,
                "--service-account-key-file=" + Pki("service-accounts.pub"),
                "--service-account-signing-key-file=" + Pki("service-accounts.key"),
                "--service-cluster-ip-range=10.0.0.0/16",
                "--allow-privileged=true",
                "--profiling=false",
            };
            if (!options_.service_account_admission.value_or(options_.controller_manager)) {
              flags.emplace_back("--disable-admission-plugins=ServiceAccount");
            }
            flags.insert(flags.end(), options_.apiserver_flags.begin(), options_.apiserver_flags.end());
            return flags;
          },
      .progress = options_.progress,
  });
}

void ControlPlane::Impl::DescribeControllerManager(const std::string& assets) {
  const std::string kubeconfig = directory_ + "/controller-manager.kubeconfig";
  programs_[IndexOf(Part::kControllerManager)] = std::make_unique<ControlPlaneProgram>(ControlPlaneProgram::Options{
      .name = "kube-controller-manager",
      .program = assets + "/kube-controller-manager",
      .directory = directory_,
      .log_file = LogFile(Part::kControllerManager),
      .host_url = std::string("https://") + kLoopback,
      .ready_path = "/healthz",
      .identity = admin_,
      .flags =
          [this, kubeconfig](std::uint16_t port) {
            Result<std::string> certificate = internal::ReadFile(Pki("controller-manager.crt"));
            Result<std::string> key = internal::ReadFile(Pki("controller-manager.key"));
            const std::string text = MakeKubeconfig({.server = url_,
                                                     .ca_pem = ca_->certificate_pem(),
                                                     .certificate_pem = certificate.value_or(""),
                                                     .key_pem = key.value_or("")});
            // If it cannot be written, the program says so itself.
            static_cast<void>(internal::WriteFile(kubeconfig, text));
            std::vector<std::string> flags = {
                "--kubeconfig=" + kubeconfig,
                "--authentication-kubeconfig=" + kubeconfig,
                "--authorization-kubeconfig=" + kubeconfig,
                std::string("--bind-address=") + kLoopback,
                "--secure-port=" + std::to_string(port),
                "--tls-cert-file=" + Pki("controller-manager-server.crt"),
                "--tls-private-key-file=" + Pki("controller-manager-server.key"),
                "--leader-elect=false",
                "--use-service-account-credentials=true",
                "--service-account-private-key-file=" + Pki("service-accounts.key"),
                "--root-ca-file=" + Pki("ca.crt"),
                "--cluster-signing-cert-file=" + Pki("ca.crt"),
                "--cluster-signing-key-file=" + Pki("ca.key"),
                "--profiling=false",
            };
            flags.insert(flags.end(), options_.controller_manager_flags.begin(), options_.controller_manager_flags.end());
            return flags;
          },
      .progress = options_.progress,
  });
}

Result<void> ControlPlane::Impl::StartPart(const Context& ctx, Part part) { return programs_[IndexOf(part)]->Start(ctx); }

Result<HttpAnswer> ControlPlane::Impl::Call(const Context& ctx, const std::string& method, const std::string& path,
                                            const std::string& body) const {
  if (auto r = ctx.Check(); !r) return r.error();
  milliseconds timeout = std::chrono::seconds(30);
  if (const auto left = ctx.remaining()) timeout = std::min(timeout, std::chrono::duration_cast<milliseconds>(*left) + milliseconds(1));
  HttpCaller caller(admin_);
  internal::HttpCall call{
      .method = method, .url = url_ + path, .headers = {{"Accept", "application/json"}}, .body = body, .timeout = timeout};
  if (!body.empty()) call.headers.emplace_back("Content-Type", "application/json");
  return caller.Do(call);
}

Result<void> ControlPlane::Impl::WaitForObject(const Context& ctx, const std::string& path) const {
  while (true) {
    Result<HttpAnswer> answer = Call(ctx, "GET", path);
    if (answer && answer->status == 200) return {};
    if (auto r = ctx.SleepFor(milliseconds(50)); !r) {
      return Error(r.error().kind(), path + " does not appear: " + (answer ? answer->body : answer.error().message()));
    }
  }
}

Result<void> ControlPlane::Impl::ReadVersion(const Context& ctx) {
  Result<HttpAnswer> answer = Call(ctx, "GET", "/version");
  if (!answer) return answer.error();
  if (answer->status != 200) return ApiError(*answer, "GET /version");
  Result<Value> version = ParseJson(answer->body);
  if (!version) return version.error();
  version_ = (*version)["gitVersion"].string_value().str();
  return {};
}

Result<ControlPlaneProgram*> ControlPlane::Impl::Find(Part part) const {
  if (existing_) return Error::Invalid("the cluster was there before: its parts are not ours to stop or start");
  ControlPlaneProgram* program = programs_[IndexOf(part)].get();
  if (program == nullptr) return Error::Invalid(std::string(ToString(part)) + " was not asked for");
  return program;
}

ControlPlane::ControlPlane(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ControlPlane::~ControlPlane() = default;

Result<std::unique_ptr<ControlPlane>> ControlPlane::Start(const Context& ctx, ControlPlaneOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  const std::string existing = internal::Environment("USE_EXISTING_CLUSTER");
  Result<void> started =
      existing == "true" || existing == "True" || existing == "TRUE" || existing == "1" ? impl->UseExisting(ctx) : impl->Start(ctx);
  if (!started) return started.error().WithContext("start a control plane");
  return std::unique_ptr<ControlPlane>(new ControlPlane(std::move(impl)));
}

bool ControlPlane::existing() const { return impl_->existing_; }
const std::string& ControlPlane::url() const { return impl_->url_; }
const std::string& ControlPlane::ca_pem() const { return impl_->admin_.ca_pem; }
const std::string& ControlPlane::version() const { return impl_->version_; }
const std::string& ControlPlane::directory() const { return impl_->directory_; }

std::string ControlPlane::AdminKubeconfig() const {
  if (existing()) return impl_->existing_kubeconfig_;
  return MakeKubeconfig(
      {.server = url(), .ca_pem = ca_pem(), .certificate_pem = impl_->admin_.certificate_pem, .key_pem = impl_->admin_.key_pem});
}

Result<serve::KeyPair> ControlPlane::AdminCertificate() const {
  if (impl_->admin_.certificate_pem.empty()) return Error::Invalid("the existing cluster's kubeconfig has no client certificate");
  return serve::KeyPair{impl_->admin_.certificate_pem, impl_->admin_.key_pem};
}

Result<serve::KeyPair> ControlPlane::UserCertificate(const std::string& user, const std::vector<std::string>& groups) const {
  if (existing()) return Error::Invalid("the cluster was there before: it does not know certificates of ours");
  return impl_->ca_->Issue({.common_name = user, .organizations = groups, .client = true});
}

Result<std::string> ControlPlane::UserKubeconfig(const std::string& user, const std::vector<std::string>& groups) const {
  Result<serve::KeyPair> pair = UserCertificate(user, groups);
  if (!pair) return pair.error();
  return MakeKubeconfig(
      {.server = url(), .ca_pem = ca_pem(), .certificate_pem = pair->certificate_pem, .key_pem = pair->key_pem, .name = user});
}

Result<std::string> ControlPlane::ServiceAccountToken(const Context& ctx, const std::string& namespace_, const std::string& name,
                                                      std::chrono::seconds lifetime) const {
  const std::string accounts = "/api/v1/namespaces/" + namespace_ + "/serviceaccounts";
  const std::string account =
      ToJson(Value::Object({{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", Value::Object({{"name", name}})}}));
  Result<HttpAnswer> made = impl_->Call(ctx, "POST", accounts, account);
  if (!made) return made.error();
  if (made->status != 201 && made->status != 409) return ApiError(*made, "create service account " + namespace_ + "/" + name);
  const std::string request = ToJson(Value::Object({{"apiVersion", "authentication.k8s.io/v1"},
                                                    {"kind", "TokenRequest"},
                                                    {"spec", Value::Object({{"expirationSeconds", std::int64_t{lifetime.count()}}})}}));
  Result<HttpAnswer> answer = impl_->Call(ctx, "POST", accounts + "/" + name + "/token", request);
  if (!answer) return answer.error();
  if (answer->status != 201) return ApiError(*answer, "request a token for " + namespace_ + "/" + name);
  Result<Value> token = ParseJson(answer->body);
  if (!token) return token.error();
  return (*token)["status"]["token"].string_value().str();
}

Result<std::string> ControlPlane::ServiceAccountKubeconfig(const Context& ctx, const std::string& namespace_,
                                                           const std::string& name) const {
  Result<std::string> token = ServiceAccountToken(ctx, namespace_, name);
  if (!token) return token;
  return MakeKubeconfig({.server = url(), .ca_pem = ca_pem(), .token = *token, .namespace_ = namespace_, .name = name});
}

Result<void> ControlPlane::Stop(Part part) {
  Result<ControlPlaneProgram*> program = impl_->Find(part);
  if (!program) return program.error();
  MutexLock lock(impl_->operations_);
  (*program)->Stop(kStopPatience);
  return {};
}

Result<void> ControlPlane::Kill(Part part) {
  Result<ControlPlaneProgram*> program = impl_->Find(part);
  if (!program) return program.error();
  MutexLock lock(impl_->operations_);
  (*program)->Kill();
  return {};
}

Result<void> ControlPlane::Pause(Part part) {
  Result<ControlPlaneProgram*> program = impl_->Find(part);
  return program ? (*program)->Signal(SIGSTOP) : program.error();
}

Result<void> ControlPlane::Resume(Part part) {
  Result<ControlPlaneProgram*> program = impl_->Find(part);
  return program ? (*program)->Signal(SIGCONT) : program.error();
}

Result<void> ControlPlane::Restart(const Context& ctx, Part part) {
  Result<ControlPlaneProgram*> program = impl_->Find(part);
  if (!program) return program.error();
  MutexLock lock(impl_->operations_);
  (*program)->Stop(kStopPatience);
  return (*program)->Start(ctx.WithTimeout(impl_->options_.start_timeout));
}

Result<void> ControlPlane::WaitReady(const Context& ctx) const {
  if (existing()) return {};
  for (const auto& program : impl_->programs_) {
    if (program == nullptr || !program->running()) continue;
    if (auto r = program->WaitReady(ctx); !r) return r;
  }
  return {};
}

bool ControlPlane::running(Part part) const {
  Result<ControlPlaneProgram*> program = impl_->Find(part);
  return program && (*program)->running();
}

int ControlPlane::pid(Part part) const {
  Result<ControlPlaneProgram*> program = impl_->Find(part);
  return program ? (*program)->pid() : 0;
}

Result<void> ControlPlane::CompactStorage(const Context& ctx) const {
  Result<ControlPlaneProgram*> etcd = impl_->Find(Part::kEtcd);
  if (!etcd) return etcd.error();
  if (auto r = ctx.Check(); !r) return r;
  HttpCaller caller(impl_->etcd_client_);
  const auto ask = [&](const std::string& path, const std::string& body) -> Result<Value> {
    Result<HttpAnswer> answer =
        caller.Do({.method = "POST", .url = (*etcd)->url() + path, .headers = {{"Content-Type", "application/json"}}, .body = body});
    if (!answer) return answer.error();
    if (answer->status != 200) return Error::Internal("etcd " + path + ": " + answer->body);
    return ParseJson(answer->body);
  };
  Result<Value> range = ask("/v3/kv/range", R"({"key":"AA=="})");
  if (!range) return range.error();
  const std::string revision = (*range)["header"]["revision"].string_value().str();
  Result<Value> done = ask("/v3/kv/compaction", R"({"revision":")" + revision + R"(","physical":true})");
  if (!done) return done.error();
  return {};
}

std::string ControlPlane::Log(Part part, int lines) const {
  Result<ControlPlaneProgram*> program = impl_->Find(part);
  return program ? (*program)->Log(lines) : "";
}

std::string ControlPlane::Logs(int lines) const {
  std::string out;
  for (const auto& program : impl_->programs_) {
    if (program != nullptr) out += "==== the end of the log of " + program->name() + " ====\n" + program->Log(lines);
  }
  return out;
}

}  // namespace kube::testing
