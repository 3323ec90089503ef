#include "kube/config/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/process_log_test_util.h"
#include "config/kubeconfig_test_util.h"
#include "kube/serve/certificate.h"

namespace kube {
namespace {

using internal::ErrorOf;
using internal::OptionsWith;
using internal::ProcessLog;
using internal::TestFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kConfig = R"(
clusters:
- {name: c, cluster: {server: "https://c:6443", tls-server-name: kube, certificate-authority-data: Q0E=, proxy-url: "http://p:1"}}
- {name: d, cluster: {server: "https://d:6443"}}
- {name: plain, cluster: {server: "http://plain:8080", certificate-authority-data: Q0E=}}
users:
- {name: u, user: {token: secret}}
- {name: v, user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ, as: alice, as-groups: [g]}}
contexts:
- {name: c, context: {cluster: c, user: u, namespace: team}}
- {name: d, context: {cluster: d, user: v}}
- {name: plain, context: {cluster: plain, user: v}}
current-context: c
)";

Kubeconfig Parsed(std::string_view text) { return Kubeconfig::Parse(text).value(); }

ClientConfig Converted(const LoadOptions& options, std::string_view text = kConfig) {
  Result<ClientConfig> config = ToClientConfig(Parsed(text), options);
  if (!config) {
    ADD_FAILURE() << config.error().ToString();
    return {};
  }
  return *config;
}

std::string ConvertError(const LoadOptions& options, std::string_view text = kConfig) {
  return ErrorOf(ToClientConfig(Parsed(text), options));
}

// ---- Which files ----

TEST(Contract11ConfigSources, ExplicitFileGoesBeforeKubeconfigBeforeHome) {
  LoadOptions options = OptionsWith({{"KUBECONFIG", "/a:/b"}, {"HOME", "/home/me"}});
  EXPECT_THAT(KubeconfigFiles(options), ElementsAre("/a", "/b"));
  options.kubeconfig = "/x";
  EXPECT_THAT(KubeconfigFiles(options), ElementsAre("/x"));
  EXPECT_THAT(KubeconfigFiles(OptionsWith({{"HOME", "/home/me"}})), ElementsAre("/home/me/.kube/config"));
  EXPECT_THAT(KubeconfigFiles(OptionsWith({{"HOME", "/"}, {"KUBECONFIG", ""}})), ElementsAre("/.kube/config"));
  EXPECT_THAT(KubeconfigFiles(OptionsWith({})), IsEmpty());
}

TEST(Contract11ConfigSources, KubeconfigListIsDeduplicatedAndHolesAreSkipped) {
  EXPECT_THAT(KubeconfigFiles(OptionsWith({{"KUBECONFIG", ":/a:/b::/a:/c:"}})), ElementsAre("/a", "/b", "/c"));
  EXPECT_THAT(KubeconfigFiles(OptionsWith({{"KUBECONFIG", ":"}, {"HOME", "/h"}})), IsEmpty());
}

TEST(Contract11ConfigSources, FilesOfKubeconfigAreMerged) {
  TestFolder folder;
  const std::string a = folder.Write("a", "current-context: d\nusers: [{name: v, user: {token: mine}}]");
  const std::string b = folder.Write("b", kConfig);
  const ClientConfig config = LoadConfig(OptionsWith({{"KUBECONFIG", folder.At("none") + ":" + a + ":" + b}})).value();
  EXPECT_EQ(config.host, "https://d:6443");
  EXPECT_EQ(config.token.reveal(), "mine");
  EXPECT_EQ(config.ns, "default");
}

TEST(Contract11ConfigSources, HomeIsTheLastPlace) {
  TestFolder folder;
  folder.Write(".kube/config", kConfig);
  EXPECT_EQ(LoadConfig(OptionsWith({{"HOME", folder.path()}}))->host, "https://c:6443");
}

TEST(Contract11ConfigSources, ExplicitFileIsNotMergedAndMustExist) {
  TestFolder folder;
  LoadOptions options = OptionsWith({{"KUBECONFIG", folder.Write("env", kConfig)}});
  options.kubeconfig = folder.Write(
      "mine", "clusters: [{name: c, cluster: {server: 'https://mine'}}]\ncontexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x");
  EXPECT_EQ(LoadConfig(options)->host, "https://mine");
  options.context = "d";
  EXPECT_EQ(ErrorOf(LoadConfig(options)), "kubeconfig " + options.kubeconfig + ": there is no context \"d\"; there are \"x\"");
  options.kubeconfig = folder.At("none");
  EXPECT_EQ(ErrorOf(LoadConfig(options)), options.kubeconfig + ": cannot read the kubeconfig: No such file or directory");
}

TEST(Contract11ConfigSources, AllFilesMissingIsLoggedAndSaid) {
  const ProcessLog log;
  Result<ClientConfig> config = LoadConfig(OptionsWith({{"KUBECONFIG", "/nonexistent/a:/nonexistent/b"}}));
  EXPECT_EQ(
      ErrorOf(config),
      "no configuration: /nonexistent/a, /nonexistent/b do not exist, and this is not a pod with a service account; set KUBECONFIG, or "
      "pass --kubeconfig or --master");
  EXPECT_TRUE(IsEmptyConfig(config.error()));
  EXPECT_THAT(log.lines(), ElementsAre(HasSubstr("None of the files of KUBECONFIG exists")));
}

TEST(Contract11ConfigSources, MissingHomeFileIsSaidButNotLogged) {
  const ProcessLog log;
  LoadOptions options = OptionsWith({{"HOME", "/nonexistent"}});
  options.allow_in_cluster = false;
  EXPECT_EQ(ErrorOf(LoadConfig(options)),
            "no configuration: /nonexistent/.kube/config does not exist; set KUBECONFIG, or pass --kubeconfig or --master");
  EXPECT_EQ(
      ErrorOf(LoadConfig(OptionsWith({}))),
      "no configuration: there is no KUBECONFIG and no HOME to look in, and this is not a pod with a service account; set KUBECONFIG, or "
      "pass --kubeconfig or --master");
  EXPECT_THAT(log.lines(), IsEmpty());
}

TEST(Contract11ConfigSources, MasterAloneIsEnough) {
  LoadOptions options = OptionsWith({});
  options.master = "http://localhost:8001";
  EXPECT_EQ(LoadConfig(options)->host, "http://localhost:8001");
  options.master = "ftp://x";
  EXPECT_EQ(ErrorOf(LoadConfig(options)), "config: cluster \"\": server \"ftp://x\": the scheme has to be http or https");
}

TEST(Contract0Environment, KubernetesMasterStandsInForAServer) {
  EXPECT_EQ(LoadConfig(OptionsWith({{"KUBERNETES_MASTER", "http://m:8080"}}))->host, "http://m:8080");
  TestFolder folder;
  const std::string file = folder.Write("config", kConfig);
  EXPECT_EQ(LoadConfig(OptionsWith({{"KUBECONFIG", file}, {"KUBERNETES_MASTER", "http://m:8080"}}))->host, "https://c:6443");
}

// ---- What becomes of it ----

TEST(Contract11ToClientConfig, CurrentContextIsUsed) {
  const ClientConfig config = Converted({});
  EXPECT_EQ(config.host, "https://c:6443");
  EXPECT_EQ(config.ns, "team");
  EXPECT_EQ(config.token.reveal(), "secret");
  EXPECT_EQ(config.tls.ca_data, "CA");
  EXPECT_EQ(config.tls.server_name, "kube");
  EXPECT_EQ(config.proxy_url, "http://p:1");
  EXPECT_TRUE(config.impersonate.empty());
}

TEST(Contract11ToClientConfig, CertificateAndImpersonation) {
  const ClientConfig config = Converted({.context = "d"});
  EXPECT_EQ(config.tls.certificate_data, "CERT");
  EXPECT_EQ(config.tls.key_data.reveal(), "KEY");
  EXPECT_EQ(config.impersonate.user, "alice");
  EXPECT_THAT(config.impersonate.groups, ElementsAre("g"));
  EXPECT_EQ(config.ns, "default");
  EXPECT_TRUE(config.Validate());
}

TEST(Contract11ToClientConfig, CredentialsAreForHttpsOnlyButImpersonationIsAlways) {
  const ClientConfig config = Converted({.context = "plain"});
  EXPECT_EQ(config.host, "http://plain:8080");
  EXPECT_FALSE(config.tls.has_certificate());
  EXPECT_TRUE(config.tls.key_data.empty());
  EXPECT_FALSE(config.tls.has_ca());
  EXPECT_EQ(config.impersonate.user, "alice");
  // A server without a scheme is not an https one, whatever else is configured.
  EXPECT_TRUE(Converted({.master = "c:6443"}).token.empty());
}

TEST(Contract11ToClientConfig, PathIsKeptQueryAndFragmentAreNot) {
  EXPECT_EQ(Converted({.master = "https://x:1/prefix?a=b#c"}).host, "https://x:1/prefix");
}

TEST(Contract11ToClientConfig, TokenFileIsRead) {
  TestFolder folder;
  const std::string token = folder.Write("token", " from-file\n");
  const std::string text =
      "clusters: [{name: c, cluster: {server: 'https://c'}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
      "current-context: x\nusers: [{name: u, user: {tokenFile: " +
      token;
  const ClientConfig config = Converted({}, text + "}}]");
  EXPECT_EQ(config.token.reveal(), "from-file");
  EXPECT_EQ(config.token_file, token);
  // With both, the token stays in the config; the file is what is sent.
  const ClientConfig both = Converted({}, text + ", token: inline}}]");
  EXPECT_EQ(both.token.reveal(), "inline");
  EXPECT_EQ(both.token_file, token);
  folder.Write("token", "\n");
  EXPECT_EQ(ConvertError({}, text + "}}]"), "user \"u\": tokenFile: " + token + " is empty");
}

TEST(Contract11ToClientConfig, ExecGetsTheClustersExtensionAndACleanHint) {
  const ClientConfig config = Converted({}, R"(
clusters: [{name: c, cluster: {server: 'https://c', extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: x}}]}}]
users: [{name: u, user: {exec: {command: c, apiVersion: client.authentication.k8s.io/v1beta1, installHint: "get\n\e[1mit"}}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
)");
  ASSERT_NE(config.exec, nullptr);
  EXPECT_EQ(config.exec->cluster_extension, Value::Object({{"audience", "x"}}));
  EXPECT_EQ(config.exec->install_hint, "get\nU+001B[1mit");
}

TEST(Contract11ToClientConfig, RefreshedProviderSettingsAreWrittenBack) {
  TestFolder folder;
  const std::string file = folder.Write("config", R"(
clusters: [{name: c, cluster: {server: 'https://c'}}]
users: [{name: u, user: {auth-provider: {name: oidc, config: {id-token: old, client-id: me}}}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
)");
  const ClientConfig config = LoadConfig(OptionsWith({{"KUBECONFIG", file}})).value();
  ASSERT_NE(config.auth_provider, nullptr);
  ASSERT_TRUE(config.auth_provider->persist);
  ASSERT_TRUE(config.auth_provider->persist({{"id-token", "new"}, {"client-id", "me"}}));
  const Kubeconfig written = Kubeconfig::Load(file).value();
  EXPECT_EQ(written.users.at("u").auth_provider->config.at("id-token"), "new");
  EXPECT_EQ(written.clusters.at("c").server, "https://c");
}

TEST(Contract11ToClientConfig, UnknownContextNamesThoseThatAreThere) {
  Result<ClientConfig> config = ToClientConfig(Parsed(kConfig), {.context = "prod"});
  EXPECT_EQ(ErrorOf(config), "there is no context \"prod\"; there are \"c\", \"d\", \"plain\"");
  EXPECT_TRUE(IsContextNotFound(config.error()));
  EXPECT_FALSE(IsEmptyConfig(config.error()));
  EXPECT_EQ(config.error().kind(), ErrorKind::kConfig);
  EXPECT_EQ(ConvertError({}, "current-context: gone"), "current-context is \"gone\", but there is no such context; there is none at all");
}

TEST(Contract11ToClientConfig, MissingReferencesAreErrors) {
  EXPECT_EQ(ConvertError({.cluster = "x"}), "there is no cluster \"x\"");
  EXPECT_EQ(ConvertError({.user = "x"}), "there is no user \"x\"");
  EXPECT_EQ(ConvertError({}, "contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x"),
            "context \"x\" names the cluster \"c\", which does not exist");
  EXPECT_EQ(ConvertError({.master = "https://c"}, "contexts: [{name: x, context: {user: u}}]\ncurrent-context: x"),
            "context \"x\" names the user \"u\", which does not exist");
}

TEST(Contract11ToClientConfig, NothingChosenIsAnEmptyConfig) {
  Result<ClientConfig> none = ToClientConfig(Kubeconfig());
  EXPECT_EQ(ErrorOf(none), "no configuration: there is no context, and no server is named");
  EXPECT_TRUE(IsEmptyConfig(none.error()));
  EXPECT_EQ(ConvertError({}, "contexts: [{name: b}, {name: a}]"), "no current-context is set; choose one of \"a\", \"b\" with --context");
  EXPECT_EQ(ConvertError({.context = "a"}, "contexts: [{name: a}]"), "context \"a\" names no cluster, or one without a server");
}

TEST(Contract11ToClientConfig, EveryProblemIsNamed) {
  EXPECT_EQ(
      ConvertError({}, R"(
clusters: [{name: c, cluster: {certificate-authority: /nonexistent/ca}}]
users: [{name: u, user: {client-certificate: /nonexistent/cert, client-key: /nonexistent/key}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
)"),
      "user \"u\": client-certificate: cannot read /nonexistent/cert: No such file or directory; user \"u\": client-key: cannot read "
      "/nonexistent/key: No such file or directory; cluster \"c\": server is missing; cluster \"c\": certificate-authority: cannot read "
      "/nonexistent/ca: No such file or directory");
  EXPECT_THAT(ConvertError({.ns = "No_Name"}), HasSubstr("namespace \"No_Name\" is not the name of one: "));
}

// ---- Overrides ----

TEST(Contract11Overrides, ContextClusterUserAndNamespace) {
  const ClientConfig config = Converted({.context = "d", .cluster = "c", .user = "u", .ns = "mine"});
  EXPECT_EQ(config.host, "https://c:6443");
  EXPECT_EQ(config.token.reveal(), "secret");
  EXPECT_FALSE(config.tls.has_certificate());
  EXPECT_EQ(config.ns, "mine");
}

TEST(Contract11Overrides, InsecureOverridesTheCa) {
  const ClientConfig config = Converted({.insecure = true});
  EXPECT_TRUE(config.tls.insecure);
  EXPECT_FALSE(config.tls.has_ca());
  EXPECT_EQ(config.tls.server_name, "kube");
}

TEST(Contract11Overrides, CaFileOverridesDataAndInsecure) {
  TestFolder folder;
  const std::string ca = folder.Write("ca", "x");
  const ClientConfig config = Converted({.ca_file = ca});
  EXPECT_EQ(config.tls.ca_file, ca);
  EXPECT_EQ(config.tls.ca_data, "");
  const std::string insecure =
      "clusters: [{name: c, cluster: {server: 'https://c', insecure-skip-tls-verify: true}}]\n"
      "contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x";
  EXPECT_TRUE(Converted({}, insecure).tls.insecure);
  EXPECT_FALSE(Converted({.ca_file = ca}, insecure).tls.insecure);
  EXPECT_FALSE(Converted({.insecure = false}, insecure).tls.insecure);
  EXPECT_EQ(ConvertError({.ca_file = ca, .insecure = true}),
            "cluster \"c\": insecure-skip-tls-verify together with a certificate authority; keep one");
}

TEST(Contract11Overrides, ServerClearsTheTlsServerNameUnlessGiven) {
  EXPECT_EQ(Converted({.master = "https://x"}).tls.server_name, "");
  EXPECT_EQ(Converted({.master = "https://x", .tls_server_name = "y"}).tls.server_name, "y");
  EXPECT_EQ(Converted({.tls_server_name = "y"}).tls.server_name, "y");
  EXPECT_EQ(Converted({.tls_server_name = "y"}).host, "https://c:6443");
}

TEST(Contract11Overrides, CertificateAndKeyReplaceFileAndData) {
  TestFolder folder;
  const std::string cert = folder.Write("cert", "x");
  const std::string key = folder.Write("key", "x");
  ClientConfig config = Converted({.context = "d", .certificate_file = cert, .key_file = key});
  EXPECT_EQ(config.tls.certificate_file, cert);
  EXPECT_EQ(config.tls.certificate_data, "");
  EXPECT_EQ(config.tls.key_file, key);
  EXPECT_TRUE(config.tls.key_data.empty());
  config = Converted({.context = "d", .key_file = key});
  EXPECT_EQ(config.tls.certificate_data, "CERT");
  EXPECT_EQ(config.tls.key_file, key);
}

TEST(Contract11Overrides, TokenReplacesTokenAndFile) {
  TestFolder folder;
  const std::string file = folder.Write("token", "from-file");
  ClientConfig config = Converted({.token = "mine"});
  EXPECT_EQ(config.token.reveal(), "mine");
  EXPECT_EQ(config.token_file, "");
  config = Converted({.token_file = file});
  EXPECT_EQ(config.token.reveal(), "from-file");
  EXPECT_EQ(config.token_file, file);
}

TEST(Contract11Overrides, BasicAuthBesidesATokenIsAnError) {
  EXPECT_EQ(ConvertError({.username = "bob", .password = "hunter2"}), "user \"u\": both a token and a username or password; keep one");
  const ClientConfig config = Converted({.context = "d", .username = "bob", .password = "hunter2"});
  EXPECT_EQ(config.username, "bob");
  EXPECT_EQ(config.password.reveal(), "hunter2");
}

TEST(Contract11Overrides, ProxyCompressionAndTimeout) {
  const ClientConfig config = Converted({.proxy_url = "socks5://q:1", .disable_compression = true, .timeout = std::chrono::seconds(5)});
  EXPECT_EQ(config.proxy_url, "socks5://q:1");
  EXPECT_TRUE(config.disable_compression);
  EXPECT_EQ(config.timeout, std::chrono::seconds(5));
  EXPECT_EQ(ConvertError({.proxy_url = "ftp://u:hunter2@q"}),
            "cluster \"c\": proxy-url \"ftp://[redacted]@q\": a scheme that is not known; use http, https or socks5");
}

TEST(Contract11Overrides, Impersonation) {
  const ClientConfig config = Converted({.context = "d", .impersonate = {.user = "carol", .uid = "1", .extra = {{"k", {"v"}}}}});
  EXPECT_EQ(config.impersonate.user, "carol");
  EXPECT_EQ(config.impersonate.uid, "1");
  EXPECT_THAT(config.impersonate.groups, ElementsAre("g"));
  EXPECT_THAT(config.impersonate.extra.at("k"), ElementsAre("v"));
  EXPECT_EQ(ConvertError({.impersonate = {.groups = {"g"}}}),
            "user \"u\": as-uid, as-groups or as-user-extra without as; name the user to impersonate");
}

// ---- In a pod ----

class Contract11InCluster : public ::testing::Test {
 protected:
  Contract11InCluster() {
    folder_.Write("sa/token", "pod-token\n");
    folder_.Write("sa/namespace", "pod-namespace\n");
    Result<serve::CertificateAuthority> ca = serve::CertificateAuthority::Create("test");
    if (!ca) ADD_FAILURE() << ca.error().ToString();
    if (ca) folder_.Write("sa/ca.crt", ca->certificate_pem());
  }
  LoadOptions Options(std::map<std::string, std::string> more = {}) const {
    more.insert({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"KUBERNETES_SERVICE_PORT", "443"}});
    LoadOptions options = OptionsWith(std::move(more));
    options.service_account_dir = folder_.At("sa");
    return options;
  }
  TestFolder folder_;
};

TEST_F(Contract11InCluster, UsesTheServiceAccount) {
  const ClientConfig config = InClusterConfig(Options()).value();
  EXPECT_EQ(config.host, "https://10.96.0.1:443");
  EXPECT_EQ(config.token.reveal(), "pod-token");
  EXPECT_EQ(config.token_file, folder_.At("sa/token"));
  EXPECT_EQ(config.tls.ca_file, folder_.At("sa/ca.crt"));
  EXPECT_EQ(config.ns, "pod-namespace");
}

TEST_F(Contract11InCluster, Ipv6GetsBrackets) {
  EXPECT_EQ(InClusterConfig(Options({{"KUBERNETES_SERVICE_HOST", "fd00::1"}}))->host, "https://[fd00::1]:443");
}

TEST_F(Contract11InCluster, NeedsBothVariables) {
  for (LoadOptions options :
       {OptionsWith({{"KUBERNETES_SERVICE_HOST", "x"}}), OptionsWith({{"KUBERNETES_SERVICE_PORT", "1"}}), OptionsWith({})}) {
    options.service_account_dir = folder_.At("sa");
    Result<ClientConfig> config = InClusterConfig(options);
    EXPECT_EQ(ErrorOf(config), "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set");
    EXPECT_TRUE(IsNotInCluster(config.error()));
  }
}

TEST_F(Contract11InCluster, TokenMustBeReadable) {
  folder_.Write("sa/token", " \n");
  Result<ClientConfig> config = InClusterConfig(Options());
  EXPECT_EQ(ErrorOf(config), "in-cluster config: " + folder_.At("sa/token") + " is empty");
  EXPECT_FALSE(IsNotInCluster(config.error()));
  std::filesystem::remove(folder_.At("sa/token"));
  EXPECT_EQ(ErrorOf(InClusterConfig(Options())), "in-cluster config: cannot read " + folder_.At("sa/token") +
                                                     ": No such file or directory; does the pod have automountServiceAccountToken: false?");
}

// client-go logs it and continues with the system's roots, any of which could then vouch for an API server that is none.
TEST_F(Contract11InCluster, AnUnusableCaIsAnError) {
  const std::string file = folder_.At("sa/ca.crt");
  const auto problem = [&] {
    const Result<ClientConfig> config = InClusterConfig(Options());
    EXPECT_FALSE(config);
    return ErrorOf(config);
  };
  folder_.Write("sa/ca.crt", "rubbish");
  EXPECT_EQ(problem(),
            "in-cluster config: cannot use the cluster's CA: " + file + " holds no PEM certificate (-----BEGIN CERTIFICATE-----)");
  folder_.Write("sa/ca.crt", "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n");
  EXPECT_THAT(problem(), HasSubstr(file + " holds a PEM certificate that cannot be read"));
  folder_.Write("sa/ca.crt", "");
  EXPECT_THAT(problem(), HasSubstr(file + " is empty"));
  std::filesystem::remove(file);
  EXPECT_EQ(problem(), "in-cluster config: cannot read the cluster's CA " + file + ": No such file or directory");
  EXPECT_FALSE(LoadConfig(Options()));  // nor does it look elsewhere

  LoadOptions options = Options();
  options.ca_file = "/other/ca.crt";
  EXPECT_EQ(InClusterConfig(options)->tls.ca_file, "/other/ca.crt");
  options = Options();
  options.insecure = true;
  EXPECT_TRUE(InClusterConfig(options)->tls.insecure);
}

TEST_F(Contract11InCluster, NamespaceIsTheVariablesThenTheFilesThenDefault) {
  EXPECT_EQ(InClusterConfig(Options({{"POD_NAMESPACE", "env"}}))->ns, "env");
  LoadOptions options = Options({{"POD_NAMESPACE", "env"}});
  options.ns = "flag";
  EXPECT_EQ(InClusterConfig(options)->ns, "flag");
  folder_.Write("sa/namespace", "\n");
  EXPECT_EQ(InClusterConfig(Options())->ns, "default");
}

TEST_F(Contract11InCluster, OverridesReplaceHostTokenAndCa) {
  LoadOptions options = Options();
  options.token = "mine";
  options.ca_file = "/other/ca.crt";
  options.impersonate.user = "alice";
  options.context = "ignored";
  ClientConfig config = InClusterConfig(options).value();
  EXPECT_EQ(config.token.reveal(), "mine");
  EXPECT_EQ(config.token_file, "");
  EXPECT_EQ(config.tls.ca_file, "/other/ca.crt");
  EXPECT_EQ(config.impersonate.user, "alice");
  options = Options();
  options.master = "https://elsewhere";
  options.token_file = "/other/token";
  config = InClusterConfig(options).value();
  EXPECT_EQ(config.host, "https://elsewhere");
  EXPECT_TRUE(config.token.empty());
  EXPECT_EQ(config.token_file, "/other/token");
}

TEST_F(Contract11InCluster, IsAskedOnlyWhereTheFilesGiveNothing) {
  EXPECT_EQ(LoadConfig(Options())->host, "https://10.96.0.1:443");
  EXPECT_EQ(LoadConfig(Options({{"HOME", folder_.path()}}))->host, "https://10.96.0.1:443");
  EXPECT_EQ(LoadConfig(Options({{"KUBECONFIG", folder_.Write("config", kConfig)}}))->host, "https://c:6443");
  EXPECT_EQ(LoadConfig(Options({{"KUBECONFIG", folder_.Write("empty", "")}}))->host, "https://10.96.0.1:443");
  EXPECT_EQ(LoadConfig(Options({{"KUBERNETES_MASTER", "http://m"}}))->host, "https://10.96.0.1:443") << "a default is no configuration";
  LoadOptions options = Options();
  options.master = "http://mine";
  EXPECT_EQ(LoadConfig(options)->host, "http://mine");
  EXPECT_TRUE(LoadConfig(options)->token.empty()) << "the pod's token is not sent to a server of the caller's";
  options = Options();
  options.allow_in_cluster = false;
  EXPECT_TRUE(IsEmptyConfig(LoadConfig(options).error()));
}

TEST_F(Contract11InCluster, IsNotAskedWhereAKubeconfigIsWrong) {
  EXPECT_EQ(ErrorOf(LoadConfig(Options({{"KUBECONFIG", folder_.Write("bad", "current-context: gone")}}))),
            "kubeconfig " + folder_.At("bad") + ": current-context is \"gone\", but there is no such context; there is none at all");
  EXPECT_EQ(ErrorOf(LoadConfig(Options({{"KUBECONFIG", folder_.Write("bad", "[")}}))),
            folder_.At("bad") + ": line 2, column 1: did not find expected node content (while parsing a flow node from line 2, column 1)");
}

TEST_F(Contract11InCluster, NamespaceOfThePodFillsInForAKubeconfigWithoutOne) {
  const std::string file = folder_.Write("config", kConfig);
  LoadOptions options = Options({{"KUBECONFIG", file}});
  EXPECT_EQ(LoadConfig(options)->ns, "team");
  options.context = "d";
  EXPECT_EQ(LoadConfig(options)->ns, "pod-namespace");
  options.ns = "flag";
  EXPECT_EQ(LoadConfig(options)->ns, "flag");
}

// ---- The process's own environment ----

TEST(LoadConfigTest, ReadsTheProcesssEnvironmentByDefault) {
  TestFolder folder;
  const std::string file = folder.Write("config", kConfig);
  setenv("KUBECONFIG", file.c_str(), 1);
  Result<ClientConfig> config = LoadConfig();
  unsetenv("KUBECONFIG");
  ASSERT_TRUE(config) << config.error().ToString();
  EXPECT_EQ(config->host, "https://c:6443");
}

}  // namespace
}  // namespace kube
