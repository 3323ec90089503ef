// Webhooks for the contract suite: one HTTPS server in this process, with answers by path, and the frame of the cases about it.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "contract.h"
#include "kube/base/mutex.h"
#include "kube/serve/certificate.h"
#include "kube/serve/http_server.h"
#include "kube/value/value.h"

namespace kube::contract {

struct HookAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  bool hangs = false;  // never answers
  std::string location = {};
};

// Thread safety: all functions may be called from any thread.
class HookServer {
 public:
  // Gets the review, or null if the body is no JSON. Runs on a thread that does I/O.
  using Script = std::function<HookAnswer(const Value& review)>;

  // Started at the first call, for all cases.
  static HookServer& Get();

  const std::string& url() const { return url_; }  // "https://127.0.0.1:41234"
  std::string CaBundle() const;                    // base64
  std::string OtherCaBundle() const;               // of a CA that signed nothing
  void On(const std::string& path, Script script);
  // The paths that begin so, with their reviews; one of them goes on to answer. Ends what hangs.
  void Forget(const std::string& prefix, const std::string& but);
  std::vector<Value> ReviewsOf(const std::string& path) const;

 private:
  HookServer();
  void Handle(const std::shared_ptr<serve::HttpExchange>& exchange);

  std::string url_, ca_, other_ca_;
  mutable Mutex mu_;
  std::map<std::string, Script> scripts_ KUBE_GUARDED_BY(mu_);
  std::map<std::string, std::vector<Value>> reviews_ KUBE_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<serve::HttpExchange>> hanging_ KUBE_GUARDED_BY(mu_);
  std::unique_ptr<serve::HttpServer> server_;
};

// ---- Answers ----
HookAnswer Json(const Value& body);
// `more` is YAML of the response's other members.
HookAnswer Respond(const Value& review, std::string_view more);
inline HookAnswer Allow(const Value& review) { return Respond(review, "allowed: true"); }
// `operations` is YAML.
HookAnswer PatchWith(const Value& review, std::string_view operations);

class HookTest : public ContractTest {
 protected:
  void TearDown() override;
  HookServer& hooks() { return HookServer::Get(); }

  // Sets what a path of this case's own answers.
  void On(const std::string& path, HookServer::Script script) { hooks().On(PathOf(path), std::move(script)); }
  std::vector<Value> ReviewsOf(const std::string& path) { return hooks().ReviewsOf(PathOf(path)); }
  std::string PathOf(const std::string& path) { return "/" + id() + path; }
  std::string UrlOf(const std::string& path) { return hooks().url() + PathOf(path); }

  // An entry of a configuration: for the creation of configmaps in this case's namespace. Change what you need.
  Value Entry(const std::string& name, const std::string& path);
  // One rule, as YAML: "{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [pods]}".
  static Value Rules(std::string_view yaml);
  // Creates a configuration and waits until the server heeds it. `name` is put behind the case's own.
  void Install(bool mutating, std::vector<Value> entries, const std::string& name = "");
  void InstallValidating(std::vector<Value> entries) { Install(false, std::move(entries)); }
  void InstallMutating(std::vector<Value> entries) { Install(true, std::move(entries)); }

  // The answer without the port of the webhooks.
  Answer Plain(Answer answer);
  // A review without its uid and user.
  Value PlainReview(const Value& review);
};

}  // namespace kube::contract
