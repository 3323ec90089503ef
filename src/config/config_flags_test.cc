#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "config/kubeconfig_test_util.h"
#include "kube/config/load.h"

namespace kube {
namespace {

using internal::ErrorOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

LoadOptions Parsed(const std::vector<std::string>& arguments) {
  ConfigFlags flags;
  Result<std::vector<std::string>> rest = flags.Parse(arguments);
  if (!rest || !rest->empty()) ADD_FAILURE() << (rest ? "something is left" : rest.error().ToString());
  return flags.options;
}

TEST(ConfigFlagsTest, StandardFlagsInBothForms) {
  LoadOptions options = Parsed({"--kubeconfig=/k", "--context", "c", "--master=https://m", "-n", "ns"});
  EXPECT_EQ(options.kubeconfig, "/k");
  EXPECT_EQ(options.context, "c");
  EXPECT_EQ(options.master, "https://m");
  EXPECT_EQ(options.ns, "ns");
  options = Parsed({"-kubeconfig", "/k=1", "-context=", "--server", "https://s", "-n=ns"});
  EXPECT_EQ(options.kubeconfig, "/k=1");
  EXPECT_EQ(options.master, "https://s");
  EXPECT_EQ(options.ns, "ns");
}

TEST(ConfigFlagsTest, KubectlsOtherFlags) {
  const LoadOptions options = Parsed({"--cluster=c",
                                      "--user=u",
                                      "--token=t",
                                      "--username=n",
                                      "--password=p",
                                      "--client-certificate=cert",
                                      "--client-key=key",
                                      "--certificate-authority=ca",
                                      "--insecure-skip-tls-verify",
                                      "--tls-server-name=s",
                                      "--proxy-url=http://p",
                                      "--disable-compression=false",
                                      "--request-timeout=90s",
                                      "--as=a",
                                      "--as-uid=1",
                                      "--as-group=g",
                                      "--as-group",
                                      "h",
                                      "--as-user-extra=k=v=w",
                                      "--as-user-extra=k=x"});
  EXPECT_EQ(options.cluster, "c");
  EXPECT_EQ(options.user, "u");
  EXPECT_EQ(options.token, "t");
  EXPECT_EQ(options.username, "n");
  EXPECT_EQ(options.password, "p");
  EXPECT_EQ(options.certificate_file, "cert");
  EXPECT_EQ(options.key_file, "key");
  EXPECT_EQ(options.ca_file, "ca");
  EXPECT_EQ(options.insecure, true);
  EXPECT_EQ(options.tls_server_name, "s");
  EXPECT_EQ(options.proxy_url, "http://p");
  EXPECT_EQ(options.disable_compression, false);
  EXPECT_EQ(options.timeout, std::chrono::seconds(90));
  EXPECT_EQ(options.impersonate.user, "a");
  EXPECT_EQ(options.impersonate.uid, "1");
  EXPECT_THAT(options.impersonate.groups, ElementsAre("g", "h"));
  EXPECT_THAT(options.impersonate.extra.at("k"), ElementsAre("v=w", "x"));
  EXPECT_EQ(Parsed({"--request-timeout", "30"}).timeout, std::chrono::seconds(30));
}

TEST(ConfigFlagsTest, OtherArgumentsAreGivenBackInOrder) {
  ConfigFlags flags;
  const char* argv[] = {"program", "get", "--context=c", "--verbose", "-v=3",      "--n", "--namespaces=x",
                        "pods",    "-n",  "x",           "--",        "--context", "d"};
  Result<std::vector<std::string>> rest = flags.Parse(static_cast<int>(std::size(argv)), argv);
  ASSERT_TRUE(rest) << rest.error().ToString();
  EXPECT_THAT(*rest, ElementsAre("get", "--verbose", "-v=3", "--n", "--namespaces=x", "pods", "--", "--context", "d"));
  EXPECT_EQ(flags.options.context, "c");
  EXPECT_EQ(flags.options.ns, "x");
  EXPECT_THAT(ConfigFlags().Parse(0, nullptr).value(), IsEmpty());
}

TEST(ConfigFlagsTest, BadValuesAreErrorsAndChangeNothing) {
  ConfigFlags flags;
  const auto error = [&](const std::vector<std::string>& arguments) { return ErrorOf(flags.Parse(arguments)); };
  EXPECT_EQ(error({"--context=c", "--kubeconfig"}), "--kubeconfig needs a value");
  EXPECT_EQ(error({"-n"}), "-n needs a value");
  EXPECT_EQ(error({"--insecure-skip-tls-verify=maybe"}), "--insecure-skip-tls-verify: expected true or false, not \"maybe\"");
  EXPECT_EQ(error({"--request-timeout=soon"}), "--request-timeout: expected seconds or a time such as 90s, 2m, 1h, not \"soon\"");
  EXPECT_EQ(error({"--request-timeout=-1s"}), "--request-timeout: expected seconds or a time such as 90s, 2m, 1h, not \"-1s\"");
  EXPECT_EQ(error({"--as-user-extra=x"}), "--as-user-extra: expected key=value");
  EXPECT_EQ(flags.options.context, "");
  EXPECT_EQ(flags.Parse(std::vector<std::string>{"-n"}).error().kind(), ErrorKind::kInvalid);
}

TEST(Contract11NamespacePrefixStrip, WhatKubectlPrintsCanBePasted) {
  for (const char* text : {"web", "ns/web", "namespace/web", "namespaces/web", "NS/web", "Namespaces/web"})
    EXPECT_EQ(Parsed({"--namespace", text}).ns, "web") << text;
  EXPECT_EQ(Parsed({"--namespace=ns/"}).ns, "ns/");
}

TEST(ConfigFlagsTest, SetTakesStandardFlagsOnly) {
  ConfigFlags flags;
  EXPECT_TRUE(flags.Set("context", "c"));
  EXPECT_TRUE(flags.Set("n", "x"));
  EXPECT_TRUE(flags.Set("insecure-skip-tls-verify", "true"));
  EXPECT_FALSE(flags.Set("insecure-skip-tls-verify", "perhaps"));
  EXPECT_FALSE(flags.Set("verbose", "1"));
  EXPECT_EQ(flags.options.context, "c");
  EXPECT_EQ(flags.options.ns, "x");
}

TEST(ConfigFlagsTest, HelpNamesEveryFlag) {
  const std::string help = ConfigFlags::Help();
  for (const char* line : {"  --kubeconfig=FILE            read this kubeconfig and no other\n", "  --context=NAME ", "  --master=URL ",
                           "  --namespace=NAME ", "  --insecure-skip-tls-verify ", "  --as-group=GROUP "}) {
    EXPECT_THAT(help, HasSubstr(line));
  }
}

TEST(ConfigFlagsTest, LoadUsesWhatWasParsed) {
  ConfigFlags flags;
  flags.options = internal::OptionsWith({});
  ASSERT_TRUE(flags.Parse(std::vector<std::string>{"--master=http://localhost:8001", "--namespace=x"}));
  Result<ClientConfig> config = flags.Load();
  ASSERT_TRUE(config) << config.error().ToString();
  EXPECT_EQ(config->host, "http://localhost:8001");
  EXPECT_EQ(config->ns, "x");
}

}  // namespace
}  // namespace kube
