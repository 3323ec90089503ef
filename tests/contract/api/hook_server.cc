#include "hook_server.h"

#include <utility>

#include "codec/base64.h"
#include "kube/codec/json.h"
#include "kube/codec/yaml.h"

namespace kube::contract {
namespace {

std::string Base64(std::string_view bytes) {
  std::string out;
  kube::internal::AppendBase64(bytes, out);
  return out;
}

Value Yaml(std::string_view yaml) {
  Result<std::vector<Value>> documents = ParseYaml(yaml);
  EXPECT_TRUE(documents.ok() && documents->size() == 1) << yaml;
  return documents.ok() && !documents->empty() ? documents->front() : Value();
}

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
}

}  // namespace

HookServer& HookServer::Get() {
  static HookServer* const server = new HookServer();
  return *server;
}

HookServer::HookServer() {
  Result<serve::CertificateAuthority> ca = serve::CertificateAuthority::Create("webhooks");
  Result<serve::CertificateAuthority> other = serve::CertificateAuthority::Create("somebody else");
  Result<serve::KeyPair> pair =
      ca->Issue({.common_name = "hook", .dns_names = {"hook.default.svc"}, .addresses = {"127.0.0.1"}, .server = true});
  ca_ = ca->certificate_pem();
  other_ca_ = other->certificate_pem();
  Result<std::unique_ptr<serve::HttpServer>> server = serve::HttpServer::Start(
      {.tls = serve::HttpTlsOptions{pair->certificate_pem, pair->key_pem, ""}, .limits = serve::HttpLimits::ForApi()},
      [this](const std::shared_ptr<serve::HttpExchange>& exchange) { Handle(exchange); });
  if (!server) throw std::runtime_error("webhooks: " + server.error().ToString());
  server_ = *std::move(server);
  url_ = "https://127.0.0.1:" + std::to_string(server_->port());
}

std::string HookServer::CaBundle() const { return Base64(ca_); }
std::string HookServer::OtherCaBundle() const { return Base64(other_ca_); }

void HookServer::On(const std::string& path, Script script) {
  MutexLock lock(mu_);
  scripts_[path] = std::move(script);
}

void HookServer::Forget(const std::string& prefix, const std::string& but) {
  std::vector<std::shared_ptr<serve::HttpExchange>> hanging;
  MutexLock lock(mu_);
  std::erase_if(scripts_, [&](const auto& entry) { return entry.first.starts_with(prefix) && entry.first != but; });
  std::erase_if(reviews_, [&](const auto& entry) { return entry.first.starts_with(prefix); });
  hanging.swap(hanging_);
}

std::vector<Value> HookServer::ReviewsOf(const std::string& path) const {
  MutexLock lock(mu_);
  auto found = reviews_.find(path);
  return found == reviews_.end() ? std::vector<Value>() : found->second;
}

void HookServer::Handle(const std::shared_ptr<serve::HttpExchange>& exchange) {
  const std::string& path = exchange->request().path;
  Value review = ParseJson(exchange->request().body).value_or(Value());
  Script script;
  {
    MutexLock lock(mu_);
    if (auto found = scripts_.find(path); found != scripts_.end()) script = found->second;
    reviews_[path].push_back(review);
  }
  if (!script) {
    exchange->Reply({.status = 404, .headers = {{"content-type", "text/plain"}}, .body = "404 page not found\n"});
    return;
  }
  HookAnswer answer = script(review);
  if (answer.hangs) {
    MutexLock lock(mu_);
    hanging_.push_back(exchange);
    return;
  }
  serve::HttpResponse response{.status = answer.status, .headers = {}, .body = std::move(answer.body)};
  if (!answer.content_type.empty()) response.headers.Add("content-type", answer.content_type);
  if (!answer.location.empty()) response.headers.Add("location", answer.location);
  exchange->Reply(std::move(response));
}

HookAnswer Json(const Value& body) { return {.body = ToJson(body)}; }

HookAnswer Respond(const Value& review, std::string_view more) {
  Value response = Yaml(more);
  response["uid"] = review["request"]["uid"];
  return Json(Value::Object({{"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"response", std::move(response)}}));
}

HookAnswer PatchWith(const Value& review, std::string_view operations) {
  return Respond(review, "{allowed: true, patchType: JSONPatch, patch: " + Base64(ToJson(Yaml(operations))) + "}");
}

void HookTest::TearDown() {
  const std::string prefix = PathOf("/");
  ContractTest::TearDown();
  hooks().Forget(prefix, PathOf("/convert"));
}

Value HookTest::Rules(std::string_view yaml) { return Value::Array({Yaml(yaml)}); }

Value HookTest::Entry(const std::string& name, const std::string& path) {
  Value out = Value::Object({{"name", name + "." + id() + ".example.com"}, {"sideEffects", "None"}});
  out["admissionReviewVersions"] = Value::Array({"v1"});
  out["clientConfig"] = Value::Object({{"url", UrlOf(path)}, {"caBundle", hooks().CaBundle()}});
  out["rules"] = Rules("{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [configmaps]}");
  out["namespaceSelector"] = Yaml("{matchLabels: {kubernetes.io/metadata.name: '" + ns() + "'}}");
  return out;
}

void HookTest::Install(bool mutating, std::vector<Value> entries, const std::string& name) {
  const std::string full = id() + name;
  const std::string ready = std::string(mutating ? "m" : "v") + "-" + full;
  // Refuses service accounts with a label, so that the case can see when the server has read the configuration.
  Value first = Entry("ready", "/ready");
  first["rules"] = Rules("{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [serviceaccounts]}");
  first["objectSelector"] = Yaml("{matchLabels: {hooks-ready: " + ready + "}}");
  On("/ready", [](const Value& review) { return Respond(review, "{allowed: false, status: {message: ready}}"); });
  Value webhooks = Value::Array({std::move(first)});
  for (Value& entry : entries) webhooks.MutableList().push_back(std::move(entry));
  const std::string kind = mutating ? "MutatingWebhookConfiguration" : "ValidatingWebhookConfiguration";
  const std::string path = std::string("/apis/admissionregistration.k8s.io/v1/") +
                           (mutating ? "mutatingwebhookconfigurations" : "validatingwebhookconfigurations");
  const Value configuration = Value::Object({{"apiVersion", "admissionregistration.k8s.io/v1"},
                                             {"kind", kind},
                                             {"metadata", Value::Object({{"name", full}})},
                                             {"webhooks", std::move(webhooks)}});
  Answer made = Post(path, ToJson(configuration));
  ASSERT_EQ(made.code, 201) << made.raw.body;
  Cleanup(path + "/" + full);
  const Context ctx = Context::Background().WithTimeout(std::chrono::seconds(30));
  const std::string marker = R"({"metadata":{"name":"marker","labels":{"hooks-ready":")" + ready + R"("}}})";
  while (Post("/api/v1/namespaces/{ns}/serviceaccounts?dryRun=All", marker).code == 201) {
    ASSERT_TRUE(ctx.SleepFor(std::chrono::milliseconds(20)).ok()) << "the server does not heed " << full;
  }
}

Answer HookTest::Plain(Answer answer) {
  std::string text = answer.raw.body;
  ReplaceAll(text, hooks().url(), "https://HOOKS");
  if (Result<Value> body = ParseJson(text)) answer.body = *std::move(body);
  return answer;
}

Value HookTest::PlainReview(const Value& review) {
  Value out = review;
  out["request"].MutableObject().Erase("uid");
  out["request"].MutableObject().Erase("userInfo");
  return out;
}

}  // namespace kube::contract
