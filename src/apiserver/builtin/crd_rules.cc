#include "apiserver/builtin/crd_rules.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

namespace kube::apiserver::builtin {
namespace {

int NoPassword(char*, int, int, void*) { return -1; }

bool IsCertificate(std::string_view block) {
  std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new_mem_buf(block.data(), static_cast<int>(block.size())), &BIO_free_all);
  if (bio == nullptr) return false;
  std::unique_ptr<X509, decltype(&X509_free)> certificate(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr), &X509_free);
  ERR_clear_error();
  return certificate != nullptr;
}

}  // namespace

bool IsProtectedGroup(std::string_view group) {
  return group == "k8s.io" || group.ends_with(".k8s.io") || group == "kubernetes.io" || group.ends_with(".kubernetes.io");
}

Approval ApprovalOf(std::string_view annotation) {
  constexpr std::string_view kNeeded = "protected groups must have approval annotation \"api-approved.kubernetes.io\"";
  constexpr std::string_view kSee = ", see https://github.com/kubernetes/enhancements/pull/1111";
  if (annotation.empty()) return {false, "MissingAnnotation", fmt::format("{}{}", kNeeded, kSee)};
  if (annotation.starts_with("unapproved")) return {false, "UnapprovedAnnotation", fmt::format("not approved: \"{}\"", annotation)};
  std::size_t scheme = annotation.find("://");
  bool url = scheme != std::string_view::npos && scheme > 0 && annotation.size() > scheme + 3 && annotation[scheme + 3] != '/' &&
             annotation.find(' ') == std::string_view::npos;
  if (url) return {true, "ApprovedAnnotation", fmt::format("approved in {}", annotation)};
  return {false, "InvalidAnnotation", fmt::format("{} with either a URL or a reason starting with \"unapproved\"{}", kNeeded, kSee)};
}

std::string BundleProblem(const std::string& pem) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  bool any = false;
  for (std::size_t begin = pem.find(kBegin); begin != std::string::npos; begin = pem.find(kBegin, begin + 1)) {
    any = true;
    std::string_view block = std::string_view(pem).substr(begin);
    if (block.starts_with("-----BEGIN CERTIFICATE-----") && IsCertificate(block)) return "";
  }
  if (!any) return "unable to load root certificates: unable to parse bytes as PEM block";
  return "unable to load root certificates: no certificate could be parsed";
}

}  // namespace kube::apiserver::builtin
