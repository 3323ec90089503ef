#include "kube/testing/kubeconfig.h"

#include <gtest/gtest.h>

#include "testing/assets.h"

namespace kube::testing {
namespace {

TEST(KubeconfigTest, IsReadBackAsItWasMade) {
  const std::string text = MakeKubeconfig({.server = "https://127.0.0.1:1/",
                                           .ca_pem = "ca",
                                           .certificate_pem = "cert",
                                           .key_pem = "key",
                                           .namespace_ = "shop",
                                           .name = "jane"});
  Result<internal::ExistingCluster> read = internal::ReadKubeconfig(text, "/");
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_EQ(read->url, "https://127.0.0.1:1");
  EXPECT_EQ(read->identity.ca_pem, "ca");
  EXPECT_EQ(read->identity.certificate_pem, "cert");
  EXPECT_EQ(read->identity.key_pem, "key");
  EXPECT_EQ(read->identity.token, "");
}

TEST(KubeconfigTest, LeavesOutWhatIsEmpty) {
  EXPECT_EQ(MakeKubeconfig({.server = "http://127.0.0.1:1", .token = "t"}),
            "apiVersion: v1\n"
            "clusters:\n"
            "- cluster:\n"
            "    server: http://127.0.0.1:1\n"
            "  name: kubexx\n"
            "contexts:\n"
            "- context:\n"
            "    cluster: kubexx\n"
            "    user: kubexx\n"
            "  name: kubexx\n"
            "current-context: kubexx\n"
            "kind: Config\n"
            "users:\n"
            "- name: kubexx\n"
            "  user:\n"
            "    token: t\n");
}

}  // namespace
}  // namespace kube::testing
