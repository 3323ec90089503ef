#include "kube/config/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "codec/base64.h"
#include "config/kubeconfig_test_util.h"
#include "kube/codec/yaml.h"

namespace kube {
namespace {

using internal::ErrorOf;
using internal::TestFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kFull = R"(apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority: ca.crt
    disable-compression: true
    extensions:
    - extension:
        audience: x
      name: client.authentication.k8s.io/exec
    proxy-url: socks5://proxy:1080
    server: https://10.0.0.1:6443
    tls-server-name: kube
  name: prod
- cluster:
    certificate-authority-data: Q0E=
    insecure-skip-tls-verify: true
    server: https://[fd00::1]:6443
  name: other
contexts:
- context:
    cluster: prod
    namespace: team
    user: bob
  name: prod
current-context: prod
extensions:
- extension: 1
  name: top
preferences:
  colors: true
users:
- name: bob
  user:
    as: alice
    as-groups:
    - dev
    - ops
    as-uid: "7"
    as-user-extra:
      scope:
      - a
    client-certificate-data: Q0VSVA==
    client-key-data: S0VZ
    token: secret-token
    tokenFile: token
- name: login
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      args:
      - --quiet
      command: ./login
      env:
      - name: A
        value: B
      installHint: get it
      interactiveMode: Never
      provideClusterInfo: true
- name: oidc
  user:
    auth-provider:
      config:
        client-id: me
        id-token: secret-id
      name: oidc
- name: old
  user:
    password: secret-password
    username: old
)";

Kubeconfig Parsed(std::string_view text) {
  Result<Kubeconfig> kubeconfig = Kubeconfig::Parse(text);
  if (!kubeconfig) {
    ADD_FAILURE() << kubeconfig.error().ToString();
    return {};
  }
  return *kubeconfig;
}

std::string ParseError(std::string_view text, const std::string& location = "config.yaml") {
  return ErrorOf(Kubeconfig::Parse(text, location));
}

TEST(Contract11Kubeconfig, ReadsEveryMember) {
  const Kubeconfig k = Parsed(kFull);
  EXPECT_EQ(k.current_context, "prod");
  const KubeconfigCluster& prod = k.clusters.at("prod");
  EXPECT_EQ(prod.server, "https://10.0.0.1:6443");
  EXPECT_EQ(prod.tls_server_name, "kube");
  EXPECT_EQ(prod.certificate_authority, "ca.crt");
  EXPECT_EQ(prod.proxy_url, "socks5://proxy:1080");
  EXPECT_TRUE(prod.disable_compression);
  EXPECT_FALSE(prod.insecure_skip_tls_verify);
  EXPECT_EQ(prod.extensions.at("client.authentication.k8s.io/exec"), Value::Object({{"audience", "x"}}));
  EXPECT_EQ(k.clusters.at("other").certificate_authority_data, "CA");
  EXPECT_TRUE(k.clusters.at("other").insecure_skip_tls_verify);
  const KubeconfigUser& bob = k.users.at("bob");
  EXPECT_EQ(bob.client_certificate_data, "CERT");
  EXPECT_EQ(bob.client_key_data.reveal(), "KEY");
  EXPECT_EQ(bob.token.reveal(), "secret-token");
  EXPECT_EQ(bob.token_file, "token");
  EXPECT_EQ(bob.impersonate.user, "alice");
  EXPECT_EQ(bob.impersonate.uid, "7");
  EXPECT_THAT(bob.impersonate.groups, ElementsAre("dev", "ops"));
  EXPECT_THAT(bob.impersonate.extra.at("scope"), ElementsAre("a"));
  const ExecConfig& exec = k.users.at("login").exec.value();
  EXPECT_EQ(exec.command, "./login");
  EXPECT_THAT(exec.args, ElementsAre("--quiet"));
  EXPECT_THAT(exec.env, ElementsAre(std::pair<std::string, std::string>("A", "B")));
  EXPECT_EQ(exec.api_version, "client.authentication.k8s.io/v1");
  EXPECT_EQ(exec.install_hint, "get it");
  EXPECT_EQ(exec.interactive_mode, ExecConfig::InteractiveMode::kNever);
  EXPECT_TRUE(exec.provide_cluster_info);
  EXPECT_EQ(k.users.at("oidc").auth_provider->name, "oidc");
  EXPECT_EQ(k.users.at("oidc").auth_provider->config.at("client-id"), "me");
  EXPECT_EQ(k.users.at("old").username, "old");
  EXPECT_EQ(k.users.at("old").password.reveal(), "secret-password");
  EXPECT_EQ(k.contexts.at("prod").ns, "team");
  EXPECT_EQ(k.extensions.at("top"), Value(1));
  EXPECT_EQ(k.preferences, Value::Object({{"colors", true}}));
}

TEST(Contract11Kubeconfig, WritesSortedYamlThatReadsBackTheSame) {
  const Kubeconfig k = Parsed(kFull);
  const std::string text = k.ToYaml().value();
  // Our sample lacks nothing but the order of the clusters.
  EXPECT_LT(text.find("name: other"), text.find("name: prod"));
  EXPECT_EQ(Parsed(text).ToYaml().value(), text);
  EXPECT_EQ(ParseYaml(text)->front()["users"], ParseYaml(kFull)->front()["users"]);
}

TEST(Contract11Kubeconfig, EmptyTextIsAnEmptyConfig) {
  for (const char* text : {"", "\n", "# nothing\n", "---\n", "null", "{}", "apiVersion: v1\nkind: Config\nclusters: null\nusers: []\n"}) {
    EXPECT_TRUE(Parsed(text).empty()) << text;
  }
  EXPECT_EQ(Kubeconfig().ToYaml().value(),
            "apiVersion: v1\nclusters: null\ncontexts: null\ncurrent-context: \"\"\nkind: Config\nusers: null\n");
}

TEST(Contract11Kubeconfig, JsonIsReadToo) {
  const Kubeconfig k = Parsed(R"({"clusters":[{"name":"c","cluster":{"server":"https://x"}}],"current-context":"c"})");
  EXPECT_EQ(k.clusters.at("c").server, "https://x");
  EXPECT_EQ(k.current_context, "c");
}

TEST(Contract11Kubeconfig, UnknownMembersSurviveAWrite) {
  const std::string text = R"(apiVersion: v1
clusters:
- cluster:
    future: [1, 2]
    server: https://x
  name: c
  note: beside
contexts:
- context:
    cluster: c
    color: red
    user: u
  name: x
current-context: x
kind: Config
metadata:
  owner: me
users:
- name: u
  user:
    auth-provider:
      config: null
      name: oidc
      scopes: all
    exec:
      apiVersion: client.authentication.k8s.io/v1
      args: null
      command: c
      env: null
      interactiveMode: Sometimes
      provideClusterInfo: false
      timeout: 5s
    fingerprint: ab
)";
  EXPECT_EQ(ParseYaml(Parsed(text).ToYaml().value())->front(), ParseYaml(text)->front());
}

TEST(Contract11Kubeconfig, DuplicateNamesAreAnError) {
  EXPECT_EQ(ParseError("clusters: [{name: a, cluster: {server: x}}, {name: a}]"),
            "config.yaml: two clusters are named \"a\"; rename or remove one");
  EXPECT_EQ(ParseError("users: [{name: a}, {name: b}, {name: a}]"), "config.yaml: two users are named \"a\"; rename or remove one");
  EXPECT_EQ(ParseError("contexts: [{name: a}, {name: a}]"), "config.yaml: two contexts are named \"a\"; rename or remove one");
  EXPECT_EQ(ParseError("extensions: [{name: e}, {name: e}]"), "config.yaml: two extensions are named \"e\"; remove one");
  EXPECT_EQ(ParseError("clusters: [{name: a, cluster: {extensions: [{name: e}, {name: e}]}}]"),
            "config.yaml: cluster \"a\": two extensions are named \"e\"; remove one");
}

TEST(Contract11Kubeconfig, ExecModeDefaultsOnlyForOldVersions) {
  const auto mode = [](const std::string& exec) {
    return Parsed("users: [{name: u, user: {exec: " + exec + "}}]").users.at("u").exec->interactive_mode;
  };
  using Mode = ExecConfig::InteractiveMode;
  EXPECT_EQ(mode("{apiVersion: client.authentication.k8s.io/v1beta1}"), Mode::kIfAvailable);
  EXPECT_EQ(mode("{apiVersion: client.authentication.k8s.io/v1alpha1}"), Mode::kIfAvailable);
  EXPECT_EQ(mode("{apiVersion: client.authentication.k8s.io/v1}"), Mode::kUnset);
  EXPECT_EQ(mode("{apiVersion: client.authentication.k8s.io/v1beta1, interactiveMode: Always}"), Mode::kAlways);
  EXPECT_EQ(mode("{apiVersion: client.authentication.k8s.io/v1beta1, interactiveMode: Sometimes}"), Mode::kUnset);
}

TEST(KubeconfigTest, MalformedTextsSayWhere) {
  EXPECT_EQ(ParseError("clusters: [a"),
            "config.yaml: line 2, column 1: did not find expected ',' or ']' (while parsing a flow sequence from line 1, column 11)");
  EXPECT_EQ(ParseError("just some text"), "config.yaml: not a kubeconfig: expected an object, found string");
  EXPECT_EQ(ParseError("- a\n- b\n"), "config.yaml: not a kubeconfig: expected an object, found list");
  EXPECT_EQ(ParseError("a: 1\n---\nb: 2\n"), "config.yaml: 2 YAML documents; a kubeconfig is one");
  EXPECT_EQ(ParseError("apiVersion: v2\nkind: Config"), "config.yaml: apiVersion \"v2\" is not known; expected v1");
  EXPECT_EQ(ParseError("apiVersion: v1\nkind: Pod"), "config.yaml: not a kubeconfig: kind \"Pod\", expected Config");
  EXPECT_EQ(ParseError("clusters: {a: b}"), "config.yaml: clusters: expected a list, found object");
  EXPECT_EQ(ParseError("clusters: [a]"), "config.yaml: clusters[0]: expected an object, found string");
  EXPECT_EQ(ParseError("clusters: [{name: a}, null]"), "config.yaml: clusters[1]: expected an object, found null");
  EXPECT_EQ(ParseError("clusters: [{name: 1}]"), "config.yaml: clusters[0]: name: expected a string, found integer; put it in quotes");
  EXPECT_EQ(ParseError("clusters: [{name: a, cluster: {insecure-skip-tls-verify: \"yes\"}}]"),
            "config.yaml: cluster \"a\": insecure-skip-tls-verify: expected true or false, found string");
  EXPECT_EQ(ParseError("users: [{name: a, user: {as-groups: x}}]"), "config.yaml: user \"a\": as-groups: expected a list, found string");
  EXPECT_EQ(ParseError("users: [{name: a, user: {exec: {env: [{name: 1}]}}}]"),
            "config.yaml: user \"a\": exec: env[0]: name: expected a string, found integer; put it in quotes");
  EXPECT_EQ(ParseError("users: [{name: a, user: {auth-provider: {config: {x: 1}}}}]"),
            "config.yaml: user \"a\": auth-provider: config.x: expected a string, found integer; put it in quotes");
  EXPECT_EQ(ParseError("preferences: []"), "config.yaml: preferences: expected an object, found list");
  EXPECT_EQ(ParseError("current-context: 5", ""), "kubeconfig: current-context: expected a string, found integer; put it in quotes");
  EXPECT_EQ(Kubeconfig::Parse("[", "x").error().kind(), ErrorKind::kConfig);
}

TEST(KubeconfigTest, ErrorsNeverRepeatSecrets) {
  EXPECT_EQ(ParseError("users: [{name: bob, user: {client-key-data: \"!hunter2!\"}}]"),
            "config.yaml: user \"bob\": client-key-data: not base64");
  EXPECT_EQ(ParseError("users: [{name: bob, user: {client-certificate-data: hunter2}}]"),
            "config.yaml: user \"bob\": client-certificate-data: not base64");
  EXPECT_EQ(ParseError("clusters: [{name: c, cluster: {certificate-authority-data: hunter2}}]"),
            "config.yaml: cluster \"c\": certificate-authority-data: not base64");
  EXPECT_EQ(ParseError("users: [{name: bob, user: {token: 12345678}}]"),
            "config.yaml: user \"bob\": token: expected a string, found integer; put it in quotes");
  EXPECT_EQ(ParseError("users: [{name: bob, user: {password: [hunter2]}}]"),
            "config.yaml: user \"bob\": password: expected a string, found list");
  for (const char* text : {"users: [{name: bob, user: {token: !!int hunter2}}]", "users: [{name: bob, user: {token: *hunter2}}]",
                           "token: hunter2: x", "{\"token\": \"hunter2\" \"", "token: \"hunter2", "users: [{token: !hunter2 x}]"}) {
    EXPECT_THAT(ParseError(text), Not(HasSubstr("hunter2"))) << text;
  }
}

TEST(Contract11CleanAnsiEscapeCodes, NamesInMessagesCannotDriveATerminal) {
  EXPECT_EQ(ParseError("clusters: [{name: \"\\e[31mred\", cluster: {server: 1}}]", "a\x1b[1mb"),
            "aU+001B[1mb: cluster \"U+001B[31mred\": server: expected a string, found integer; put it in quotes");
  EXPECT_THAT(
      Parsed("contexts: [{name: \"\\e[2J\", context: {user: \"a\\nb\"}}]").Problems("\x1b[2J"),
      ElementsAre("context \"U+001B[2J\" names the user \"aU+000Ab\", which does not exist", "context \"U+001B[2J\" names no cluster"));
}

TEST(Contract11Loader, MissingFileIsAnError) {
  EXPECT_EQ(ErrorOf(Kubeconfig::Load("/nonexistent/config")), "/nonexistent/config: cannot read the kubeconfig: No such file or directory");
  EXPECT_EQ(ErrorOf(Kubeconfig::Load("~/config")),
            "~/config: cannot read the kubeconfig: No such file or directory; the shell leaves ~ alone within a word: write $HOME");
}

TEST(Contract11Loader, FolderInThePlaceOfAFileIsAnError) {
  TestFolder folder;
  EXPECT_EQ(ErrorOf(Kubeconfig::Load(folder.path())), folder.path() + ": cannot read the kubeconfig: Is a directory");
  EXPECT_EQ(ErrorOf(Kubeconfig::LoadMerged({folder.path()})), folder.path() + ": cannot read the kubeconfig: Is a directory");
}

TEST(Contract11Loader, FileWithoutPermissionIsAnError) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  TestFolder folder;
  const std::string file = folder.Write("config", "");
  ASSERT_EQ(chmod(file.c_str(), 0), 0);
  EXPECT_EQ(ErrorOf(Kubeconfig::LoadMerged({file})), file + ": cannot read the kubeconfig: Permission denied");
}

TEST(Contract11Loader, MissingFilesOfAListArePassedOver) {
  TestFolder folder;
  const std::string file = folder.Write("config", "current-context: here");
  EXPECT_EQ(Kubeconfig::LoadMerged({folder.At("none"), "", file, folder.At("nobody")})->current_context, "here");
  EXPECT_TRUE(Kubeconfig::LoadMerged({folder.At("none")})->empty());
  EXPECT_TRUE(Kubeconfig::LoadMerged({})->empty());
}

TEST(Contract11Loader, EveryBadFileOfAListIsNamed) {
  TestFolder folder;
  const std::string a = folder.Write("a", "[");
  const std::string good = folder.Write("good", "current-context: x");
  const std::string b = folder.Write("b", "clusters: 1");
  EXPECT_EQ(ErrorOf(Kubeconfig::LoadMerged({a, good, b})),
            a + ": line 2, column 1: did not find expected node content (while parsing a flow node from line 2, column 1); " + b +
                ": clusters: expected a list, found integer");
}

TEST(Contract11Loader, RelativePathsAreResolvedAgainstTheFolderOfTheFile) {
  TestFolder folder;
  const std::string file = folder.Write("sub/config", R"(
clusters: [{name: c, cluster: {certificate-authority: ../ca.crt}}, {name: d, cluster: {certificate-authority: /etc/ca.crt}}]
users:
- {name: u, user: {client-certificate: ./cert.pem, client-key: keys/key.pem, tokenFile: token}}
- {name: path, user: {exec: {command: login}}}
- {name: relative, user: {exec: {command: bin/login}}}
- {name: absolute, user: {exec: {command: /bin/login}}}
)");
  const Kubeconfig k = Kubeconfig::Load(file).value();
  EXPECT_EQ(k.clusters.at("c").certificate_authority, folder.At("ca.crt"));
  EXPECT_EQ(k.clusters.at("d").certificate_authority, "/etc/ca.crt");
  EXPECT_EQ(k.users.at("u").client_certificate, folder.At("sub/cert.pem"));
  EXPECT_EQ(k.users.at("u").client_key, folder.At("sub/keys/key.pem"));
  EXPECT_EQ(k.users.at("u").token_file, folder.At("sub/token"));
  EXPECT_EQ(k.users.at("path").exec->command, "login");
  EXPECT_EQ(k.users.at("relative").exec->command, folder.At("sub/bin/login"));
  EXPECT_EQ(k.users.at("absolute").exec->command, "/bin/login");
  EXPECT_EQ(k.users.at("u").location, file);
}

TEST(Contract11Merge, FirstFileWinsForEachEntryAndScalar) {
  TestFolder folder;
  const std::string a = folder.Write("a", R"(
clusters: [{name: shared, cluster: {server: https://a}}, {name: only-a, cluster: {server: https://a}}]
contexts: [{name: x, context: {cluster: shared}}]
preferences: {colors: true}
extensions: [{name: e, extension: a}]
future: a
)");
  const std::string b = folder.Write("b", R"(
clusters: [{name: shared, cluster: {server: https://b, proxy-url: http://b}}, {name: only-b, cluster: {server: https://b}}]
contexts: [{name: x, context: {cluster: only-b, namespace: b}}]
current-context: b
preferences: {colors: false, other: b}
extensions: [{name: e, extension: b}, {name: f, extension: b}]
future: b
)");
  const std::string c = folder.Write("c", "current-context: c");
  const Kubeconfig k = Kubeconfig::LoadMerged({a, b, c}).value();
  EXPECT_EQ(k.clusters.size(), 3u);
  EXPECT_EQ(k.clusters.at("shared").server, "https://a");
  EXPECT_EQ(k.clusters.at("shared").location, a);
  EXPECT_EQ(k.clusters.at("only-b").location, b);
  EXPECT_EQ(k.current_context, "b");  // a has none
  EXPECT_EQ(k.preferences, Value::Object({{"colors", true}, {"other", "b"}}));
  EXPECT_EQ(k.extensions.at("e"), Value("a"));
  EXPECT_EQ(k.extensions.at("f"), Value("b"));
  EXPECT_EQ(k.unknown, Value::Object({{"future", "a"}}));
}

TEST(Contract11Merge, EntriesOfOneNameAreNotMixed) {
  TestFolder folder;
  const std::string a = folder.Write("a", "contexts: [{name: x, context: {cluster: a}}]");
  const std::string b = folder.Write("b", "contexts: [{name: x, context: {user: b, namespace: b}}]");
  const Kubeconfig k = Kubeconfig::LoadMerged({a, b}).value();
  EXPECT_EQ(k.contexts.at("x").cluster, "a");
  EXPECT_EQ(k.contexts.at("x").user, "");
  EXPECT_EQ(k.contexts.at("x").ns, "");
}

TEST(Contract24No24, SameUserOfTwoFilesIsTheFirstOnesWithPathsOfItsFolder) {
  TestFolder folder;
  const std::string first = folder.Write("one/config", "users: [{name: red, user: {client-certificate: cert.pem, client-key: key.pem}}]");
  const std::string second = folder.Write("two/config", "users: [{name: red, user: {token: other, tokenFile: token}}]");
  const KubeconfigUser red = Kubeconfig::LoadMerged({first, second})->users.at("red");
  EXPECT_EQ(red.client_certificate, folder.At("one/cert.pem"));
  EXPECT_EQ(red.client_key, folder.At("one/key.pem"));
  EXPECT_TRUE(red.token.empty());
  EXPECT_EQ(red.token_file, "");
  const KubeconfigUser turned = Kubeconfig::LoadMerged({second, first})->users.at("red");
  EXPECT_EQ(turned.token.reveal(), "other");
  EXPECT_EQ(turned.token_file, folder.At("two/token"));
  EXPECT_EQ(turned.client_certificate, "");
}

TEST(Contract11Validation, UsableContextHasNoProblems) {
  TestFolder folder;
  folder.Write("ca.crt", "x");
  folder.Write("token", "x");
  const std::string file = folder.Write("config", kFull);
  EXPECT_THAT(Kubeconfig::Load(file)->Problems(), IsEmpty());
}

std::vector<std::string> UserProblems(const std::string& user) {
  return Parsed(
             "clusters: [{name: c, cluster: {server: https://x}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
             "users: [{name: u, user: " +
             user + "}]")
      .Problems("x");
}

TEST(Contract11Validation, UsersProblems) {
  EXPECT_THAT(UserProblems("{}"), IsEmpty());
  EXPECT_THAT(UserProblems("{token: a, username: b}"), ElementsAre("user \"u\": both a token and a username or password; keep one"));
  EXPECT_THAT(UserProblems("{token: a, password: b}"), ElementsAre("user \"u\": both a token and a username or password; keep one"));
  EXPECT_THAT(UserProblems("{client-certificate-data: QQ==}"),
              ElementsAre("user \"u\": a client certificate without its key; set client-key or client-key-data"));
  EXPECT_THAT(UserProblems("{client-certificate: /nonexistent/cert, client-key: /nonexistent/key}"),
              ElementsAre("user \"u\": client-certificate: cannot read /nonexistent/cert: No such file or directory",
                          "user \"u\": client-key: cannot read /nonexistent/key: No such file or directory"));
  EXPECT_THAT(UserProblems("{client-certificate: /dev/null, client-certificate-data: QQ==, client-key: /dev/null, client-key-data: QQ==}"),
              ElementsAre("user \"u\": client-certificate and client-certificate-data are both set; keep one",
                          "user \"u\": client-key and client-key-data are both set; keep one"));
  EXPECT_THAT(UserProblems("{tokenFile: /nonexistent/token}"),
              ElementsAre("user \"u\": tokenFile: cannot read /nonexistent/token: No such file or directory"));
  EXPECT_THAT(UserProblems("{token: a, tokenFile: /nonexistent/token}"), IsEmpty());
  EXPECT_THAT(UserProblems("{as-groups: [a]}"),
              ElementsAre("user \"u\": as-uid, as-groups or as-user-extra without as; name the user to impersonate"));
  EXPECT_THAT(UserProblems("{as-uid: a}"),
              ElementsAre("user \"u\": as-uid, as-groups or as-user-extra without as; name the user to impersonate"));
  EXPECT_THAT(UserProblems("{as-user-extra: {a: [b]}}"),
              ElementsAre("user \"u\": as-uid, as-groups or as-user-extra without as; name the user to impersonate"));
  EXPECT_THAT(UserProblems("{as: bob, as-user-extra: {a: [b]}, as-groups: [g], as-uid: x}"), IsEmpty());
}

TEST(Contract11Validation, ExecProblems) {
  EXPECT_THAT(UserProblems("{exec: {command: c, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}}"), IsEmpty());
  EXPECT_THAT(UserProblems("{exec: {command: c, apiVersion: client.authentication.k8s.io/v1beta1}}"), IsEmpty());
  EXPECT_THAT(UserProblems("{exec: {}}"), ElementsAre("user \"u\": exec: command is missing",
                                                      "user \"u\": exec: apiVersion is missing; write client.authentication.k8s.io/v1",
                                                      "user \"u\": exec: interactiveMode is missing; use Never, IfAvailable or Always"));
  EXPECT_THAT(UserProblems("{exec: {command: c, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Sometimes}}"),
              ElementsAre("user \"u\": exec: interactiveMode \"Sometimes\" is not known; use Never, IfAvailable or Always"));
  EXPECT_THAT(UserProblems("{exec: {command: c, apiVersion: client.authentication.k8s.io/v1alpha1}}"),
              ElementsAre("user \"u\": exec: apiVersion \"client.authentication.k8s.io/v1alpha1\" is not known; use "
                          "client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1"));
  EXPECT_THAT(UserProblems("{exec: {command: c, apiVersion: client.authentication.k8s.io/v1beta1, env: [{value: x}]}}"),
              ElementsAre("user \"u\": exec: env has an entry without a name"));
  EXPECT_THAT(UserProblems("{exec: {command: c, apiVersion: client.authentication.k8s.io/v1beta1}, auth-provider: {name: oidc}}"),
              ElementsAre("user \"u\": both exec and auth-provider; keep one"));
}

TEST(Contract11Validation, ClustersProblems) {
  const auto problems = [](const std::string& cluster) {
    return Parsed("clusters: [{name: c, cluster: " + cluster +
                  "}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nusers: [{name: u}]")
        .Problems("x");
  };
  EXPECT_THAT(problems("{server: 'https://x'}"), IsEmpty());
  EXPECT_THAT(problems("{}"), ElementsAre("cluster \"c\": server is missing"));
  EXPECT_THAT(problems("{server: 'ftp://x'}"), ElementsAre("cluster \"c\": server \"ftp://x\": the scheme has to be http or https"));
  EXPECT_THAT(problems("{server: 'https://x', certificate-authority: /nonexistent/ca}"),
              ElementsAre("cluster \"c\": certificate-authority: cannot read /nonexistent/ca: No such file or directory"));
  EXPECT_THAT(problems("{server: 'https://x', certificate-authority: /dev/null, certificate-authority-data: QQ==}"),
              ElementsAre("cluster \"c\": certificate-authority and certificate-authority-data are both set; keep one"));
  EXPECT_THAT(problems("{server: 'https://x', insecure-skip-tls-verify: true, certificate-authority-data: QQ==}"),
              ElementsAre("cluster \"c\": insecure-skip-tls-verify together with a certificate authority; keep one"));
  EXPECT_THAT(problems("{server: 'https://x', proxy-url: 'ssh://u:hunter2@p'}"),
              ElementsAre("cluster \"c\": proxy-url \"ssh://[redacted]@p\": a scheme that is not known; use http, https or socks5"));
}

TEST(Contract11Validation, ContextsProblems) {
  EXPECT_THAT(Kubeconfig().Problems(), ElementsAre("the kubeconfig is empty"));
  EXPECT_THAT(Parsed("contexts: [{name: b}, {name: a}]").Problems(),
              ElementsAre("no current-context is set, and no context is named; there are \"a\", \"b\""));
  EXPECT_THAT(Parsed("clusters: [{name: b}]").Problems("x"), ElementsAre("there is no context \"x\"; there is none"));
  EXPECT_THAT(Parsed("contexts: [{name: b}]\ncurrent-context: x").Problems(), ElementsAre("there is no context \"x\"; there are \"b\""));
  EXPECT_THAT(Parsed("contexts: [{name: x}]").Problems("x"), ElementsAre("context \"x\" names no user", "context \"x\" names no cluster"));
  EXPECT_THAT(Parsed("contexts: [{name: x, context: {user: u, cluster: c}}]").Problems("x"),
              ElementsAre("context \"x\" names the user \"u\", which does not exist",
                          "context \"x\" names the cluster \"c\", which does not exist"));
  const std::vector<std::string> ns = Parsed(
                                          "clusters: [{name: c, cluster: {server: x}}]\nusers: [{name: u}]\ncontexts: [{name: x, context: "
                                          "{cluster: c, user: u, namespace: A_B}}]")
                                          .Problems("x");
  ASSERT_EQ(ns.size(), 1u);
  EXPECT_THAT(ns[0], HasSubstr("context \"x\": namespace \"A_B\" is not the name of one: "));
}

TEST(Contract11Minify, KeepsWhatOneContextNeeds) {
  const Kubeconfig small = Parsed(kFull).Minify().value();
  EXPECT_EQ(small.clusters.size(), 1u);
  EXPECT_EQ(small.users.size(), 1u);
  EXPECT_EQ(small.contexts.size(), 1u);
  EXPECT_EQ(small.clusters.count("prod") + small.users.count("bob") + small.contexts.count("prod"), 3u);
  Kubeconfig two = Parsed(kFull);
  two.contexts["second"].cluster = "other";
  const Kubeconfig second = two.Minify("second").value();
  EXPECT_EQ(second.current_context, "second");
  EXPECT_EQ(second.clusters.count("other"), 1u);
  EXPECT_TRUE(second.users.empty());
}

TEST(Contract11Minify, MissingPiecesAreErrors) {
  EXPECT_EQ(ErrorOf(Kubeconfig().Minify()), "kubeconfig: no current-context is set, so there is nothing to keep; name a context");
  EXPECT_EQ(ErrorOf(Kubeconfig().Minify("x")), "kubeconfig: there is no context \"x\"");
  EXPECT_EQ(ErrorOf(Parsed("contexts: [{name: x, context: {cluster: c}}]").Minify("x")), "kubeconfig: there is no cluster \"c\"");
  EXPECT_EQ(ErrorOf(Parsed("contexts: [{name: x, context: {user: u}}]").Minify("x")), "kubeconfig: there is no user \"u\"");
}

TEST(Contract11Flatten, FilesBecomeData) {
  TestFolder folder;
  folder.Write("ca.crt", "the CA");
  folder.Write("cert.pem", "the certificate");
  folder.Write("key.pem", "the key");
  const std::string text = R"(
clusters: [{name: c, cluster: {certificate-authority: ca.crt}}]
users: [{name: u, user: {client-certificate: cert.pem, client-key: key.pem, tokenFile: token}}]
)";
  const std::string file = folder.Write("config", text);
  for (const Kubeconfig& k : {Kubeconfig::Load(file).value(), Kubeconfig::Parse(text, file).value()}) {
    const Kubeconfig flat = k.Flatten().value();
    EXPECT_EQ(flat.clusters.at("c").certificate_authority_data, "the CA");
    EXPECT_EQ(flat.clusters.at("c").certificate_authority, "");
    EXPECT_EQ(flat.users.at("u").client_certificate_data, "the certificate");
    EXPECT_EQ(flat.users.at("u").client_certificate, "");
    EXPECT_EQ(flat.users.at("u").client_key_data.reveal(), "the key");
    EXPECT_EQ(flat.users.at("u").client_key, "");
    EXPECT_NE(flat.users.at("u").token_file, "");  // it is read again as it changes
  }
}

TEST(Contract11Flatten, UnreadableFilesAndBothKindsAreErrors) {
  EXPECT_EQ(ErrorOf(Parsed("users: [{name: u, user: {client-key: /nonexistent/key}}]").Flatten()),
            "user \"u\": client-key: cannot read /nonexistent/key: No such file or directory");
  EXPECT_EQ(ErrorOf(Parsed("clusters: [{name: c, cluster: {certificate-authority: x, certificate-authority-data: QQ==}}]").Flatten()),
            "cluster \"c\": certificate-authority and certificate-authority-data are both set; keep one");
}

TEST(Contract11Redact, SecretsAreReplacedAsKubectlShowsThem) {
  Kubeconfig k = Parsed(kFull);
  k.clusters["prod"].proxy_url = "http://u:secret-proxy@p";
  const std::string text = k.Redacted().ToYaml().value();
  EXPECT_THAT(text, Not(HasSubstr("secret")));
  for (const char* shown :
       {"certificate-authority-data: DATA+OMITTED", "client-certificate-data: DATA+OMITTED", "client-key-data: DATA+OMITTED",
        "token: REDACTED", "password: REDACTED", "id-token: REDACTED", "value: REDACTED", "client-id: me", "username: old"}) {
    EXPECT_THAT(text, HasSubstr(shown));
  }
  EXPECT_EQ(k.users.at("bob").token.reveal(), "secret-token") << "the original stays";
}

TEST(KubeconfigTest, TextThatIsNotUtf8IsNotWritten) {
  Kubeconfig k;
  k.users["u"].token = SecretString("a\xff");
  EXPECT_EQ(ErrorOf(k.ToYaml()), "kubeconfig: users[0].user.token: not UTF-8, so it cannot be written");
}

}  // namespace
}  // namespace kube
