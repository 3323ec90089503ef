// What exec plugins print: nothing crashes, what is accepted can be used, and what is refused is not repeated.
#include <cstdint>
#include <string>
#include <string_view>

#include "config/exec_credential.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using kube::Result;
  using kube::fuzz::Require;
  using kube::internal::ExecCredential;
  using kube::internal::IsHeaderToken;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view v1 = "client.authentication.k8s.io/v1";
  const std::string_view v1beta1 = "client.authentication.k8s.io/v1beta1";
  const Result<ExecCredential> read = kube::internal::ParseExecCredential(text, v1);
  const Result<ExecCredential> beta = kube::internal::ParseExecCredential(text, v1beta1);
  Require(!(read && beta), "an answer has one version");
  for (const Result<ExecCredential>* result : {&read, &beta}) {
    if (!*result) {
      Require(result->error().kind() == kube::ErrorKind::kAuth, "errors are kAuth");
      Require(result->error().message().size() < 300, "errors do not repeat the text");
      continue;
    }
    const ExecCredential& credential = **result;
    Require(credential.token.empty() || IsHeaderToken(credential.token.reveal()), "a token can stand in a header");
    Require(credential.certificate_pem.empty() == credential.key_pem.empty(), "a certificate has its key");
    Require(!credential.token.empty() || !credential.certificate_pem.empty(), "there is something to use");
  }
  return 0;
}
