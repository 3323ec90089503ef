// What kubectl makes of the same files.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/process.h"
#include "config/kubeconfig_test_util.h"
#include "kube/codec/json.h"
#include "kube/codec/yaml.h"
#include "kube/config/kubeconfig.h"
#include "kube/testing/control_plane.h"

namespace kube {
namespace {

using internal::TestFolder;

constexpr const char* kFirst = R"(apiVersion: v1
kind: Config
current-context: dev
clusters:
- name: dev
  cluster:
    server: https://dev:6443
    certificate-authority: pki/ca.crt
    tls-server-name: kube
    extensions:
    - {name: client.authentication.k8s.io/exec, extension: {audience: x, list: [1, 2.5, null]}}
- name: shared
  cluster: {server: https://first, proxy-url: "socks5://proxy:1080"}
users:
- name: dev
  user: {client-certificate: pki/cert.pem, client-key: pki/key.pem}
- name: red
  user: {token: first, as: alice, as-uid: "7", as-groups: [a, b], as-user-extra: {k: [v, w]}}
contexts:
- name: dev
  context: {cluster: dev, user: dev, namespace: team}
)";

constexpr const char* kSecond = R"({
  "apiVersion": "v1", "kind": "Config", "current-context": "prod", "preferences": {"colors": true},
  "clusters": [
    {"name": "shared", "cluster": {"server": "https://second", "insecure-skip-tls-verify": true}},
    {"name": "prod", "cluster": {"server": "https://prod", "certificate-authority-data": "Q0E=", "disable-compression": true}}
  ],
  "users": [
    {"name": "red", "user": {"username": "second", "password": "x"}},
    {"name": "exec", "user": {"exec": {"command": "login", "args": ["a"], "env": [{"name": "A", "value": "B"}],
      "apiVersion": "client.authentication.k8s.io/v1beta1", "installHint": "get it"}}},
    {"name": "bare", "user": {"exec": {"command": "login", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}}},
    {"name": "oidc", "user": {"auth-provider": {"name": "oidc", "config": {"client-id": "me"}}}},
    {"name": "basic", "user": {"username": "u", "password": "p"}},
    {"name": "none"}
  ],
  "contexts": [
    {"name": "prod", "context": {"cluster": "prod", "user": "exec"}},
    {"name": "dev", "context": {"cluster": "prod", "user": "red"}}
  ],
  "extensions": [{"name": "top", "extension": {"a": "b"}}]
})";

class Contract11Kubectl : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<std::string> assets = testing::FindControlPlaneAssets({.version = "newest"});
    if (!assets) GTEST_SKIP() << assets.error().ToString();
    kubectl_ = *assets + "/kubectl";
    if (!std::filesystem::exists(kubectl_)) GTEST_SKIP() << kubectl_ << " does not exist";
    folder_.Write("one/pki/ca.crt", "the CA");
    folder_.Write("one/pki/cert.pem", "the certificate");
    folder_.Write("one/pki/key.pem", "the key");
    files_ = {folder_.Write("one/config", kFirst), folder_.At("none"), folder_.Write("two/config", kSecond)};
  }

  // The output of `kubectl config view` with these flags.
  std::string View(std::vector<std::string> flags) {
    std::vector<std::string> argv = {kubectl_, "config", "view"};
    argv.insert(argv.end(), flags.begin(), flags.end());
    const std::string name = "output-" + std::to_string(++outputs_);
    Result<std::unique_ptr<internal::Process>> process =
        internal::Process::Start({.argv = argv,
                                  .environment = {"KUBECONFIG=" + files_[0] + ":" + files_[1] + ":" + files_[2], "HOME=" + folder_.path()},
                                  .log_file = folder_.At(name)});
    if (!process) {
      ADD_FAILURE() << process.error().ToString();
      return "";
    }
    const auto end = (*process)->Wait(std::chrono::steady_clock::now() + std::chrono::minutes(2));
    EXPECT_TRUE(end && end->code == 0 && end->signal == 0) << folder_.Read(name);
    return folder_.Read(name);
  }

  static Value Written(const Kubeconfig& kubeconfig) { return ParseYaml(kubeconfig.ToYaml().value())->at(0); }
  static Value Json(const std::string& text) {
    Result<Value> value = ParseJson(text);
    if (!value) ADD_FAILURE() << value.error().ToString() << "\n" << text;
    return value ? *value : Value();
  }

  TestFolder folder_;
  std::string kubectl_;
  std::vector<std::string> files_;
  int outputs_ = 0;
};

TEST_F(Contract11Kubectl, MergesAndFlattensTheSame) {
  const Kubeconfig merged = Kubeconfig::LoadMerged(files_).value();
  EXPECT_EQ(Written(merged.Flatten().value()), Json(View({"--flatten", "-o", "json"})));
}

TEST_F(Contract11Kubectl, WritesTheSameBytes) {
  const Kubeconfig merged = Kubeconfig::LoadMerged(files_).value();
  EXPECT_EQ(merged.Flatten()->ToYaml().value(), View({"--flatten"}));
}

TEST_F(Contract11Kubectl, MinifiesTheSame) {
  const Kubeconfig merged = Kubeconfig::LoadMerged(files_).value();
  EXPECT_EQ(Written(merged.Minify()->Flatten().value()), Json(View({"--minify", "--flatten", "-o", "json"})));
  EXPECT_EQ(Written(merged.Minify("prod").value()), Json(View({"--minify", "--raw", "--context=prod", "-o", "json"})));
}

TEST_F(Contract11Kubectl, HidesWhatKubectlHides) {
  // We hide more than kubectl does: plugins' variables and providers' tokens. There are none in this context.
  const Kubeconfig flat = Kubeconfig::LoadMerged(files_)->Flatten().value();
  files_ = {folder_.Write("flat", flat.ToYaml().value()), "", ""};
  for (const char* user : {"dev", "red", "basic"}) {
    Kubeconfig one = flat;
    one.contexts["dev"].user = user;
    folder_.Write("flat", one.ToYaml().value());
    EXPECT_EQ(Written(one.Minify()->Redacted()), Json(View({"--minify", "-o", "json"}))) << user;
  }
}

TEST_F(Contract11Kubectl, ReadsWhatWeWriteAndSeesItsChanges) {
  ASSERT_TRUE(ModifyKubeconfig(Context::Background(), files_, [](Kubeconfig& k) {
    k.current_context = "prod";
    k.clusters.at("prod").server = "https://changed";
    k.users["new"].token = SecretString("new");
    k.contexts.at("prod").user = "new";
  }));
  const Value view = Json(View({"--minify", "--raw", "-o", "json"}));
  EXPECT_EQ(view["current-context"], Value("prod"));
  EXPECT_EQ(view["clusters"].list()[0]["cluster"]["server"], Value("https://changed"));
  EXPECT_EQ(view["users"].list()[0]["user"]["token"], Value("new"));
}

}  // namespace
}  // namespace kube
