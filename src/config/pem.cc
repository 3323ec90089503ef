#include "config/pem.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <time.h>

#include <memory>

#include "config/text.h"
#include "kube/base/log.h"

namespace kube::internal {
namespace {

struct Free {
  void operator()(BIO* p) const { BIO_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
};
using Bio = std::unique_ptr<BIO, Free>;
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;

constexpr std::size_t kMaxPemBytes = std::size_t{16} << 20;

Bio Open(std::string_view text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

Error Wrong(std::string message) { return Error(ErrorKind::kConfig, std::move(message)); }

bool Has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Why there is no certificate in a text.
std::string NoCertificate(std::string_view pem, const std::string& where) {
  if (pem.size() > kMaxPemBytes) return where + " is too large to hold certificates";
  if (Trimmed(pem).empty()) return where + " is empty; put PEM certificates there (-----BEGIN CERTIFICATE-----)";
  if (Has(pem, "-----BEGIN CERTIFICATE-----")) return where + " holds a PEM certificate that cannot be read; it is damaged or cut off";
  if (Has(pem, "PRIVATE KEY-----")) return where + " holds a private key in the place of a certificate";
  if (Has(pem, " CERTIFICATE-----")) {
    return where + " holds certificates with another label than CERTIFICATE; convert each: openssl x509 -in <file> -out <new file>";
  }
  if (Has(pem, "-----BEGIN ")) return where + " holds PEM, but no certificate (-----BEGIN CERTIFICATE-----)";
  if (pem[0] == 0x30) return where + " looks like a DER certificate; convert it: openssl x509 -inform der -outform pem";
  return where + " holds no PEM certificate (-----BEGIN CERTIFICATE-----)";
}

std::string NoKey(std::string_view pem, const std::string& where) {
  if (Trimmed(pem).empty()) return where + " is empty; put the PEM private key there";
  if (Has(pem, "ENCRYPTED")) return where + " holds an encrypted key; decrypt it: openssl pkey -in <file> -out <new file>";
  if (Has(pem, "PRIVATE KEY-----")) return where + " holds a PEM private key that cannot be read; it is damaged or cut off";
  if (Has(pem, "-----BEGIN CERTIFICATE-----")) return where + " holds a certificate in the place of a private key";
  return where + " holds no PEM private key (-----BEGIN PRIVATE KEY-----)";
}

int NoPassword(char*, int, int, void*) { return -1; }

std::chrono::system_clock::time_point ToTime(const ASN1_TIME* time) {
  tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return {};
  // Dates beyond what the clock can hold ("99991231235959Z" is common) are as good as its end.
  constexpr auto kLast = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::time_point::max());
  const time_t seconds = timegm(&parts);
  if (seconds >= kLast.time_since_epoch().count()) return kLast;
  if (seconds < 0) return {};
  return std::chrono::system_clock::from_time_t(seconds);
}

std::string Subject(X509* certificate) {
  const Bio out(BIO_new(BIO_s_mem()));
  if (out == nullptr || X509_NAME_print_ex(out.get(), X509_get_subject_name(certificate), 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB) < 0) {
    return {};
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return size > 0 ? CleanText(std::string_view(data, static_cast<std::size_t>(size))) : std::string();
}

}  // namespace

CaBundle ReadCaBundle(std::string_view pem) {
  CaBundle bundle;
  if (pem.size() > kMaxPemBytes) return bundle;
  constexpr std::string_view kBegin = "-----BEGIN ";
  for (std::size_t begin = pem.find(kBegin); begin != std::string_view::npos;) {
    // A block ends where the next one begins, whether it was completed or not.
    const std::size_t next = pem.find(kBegin, begin + kBegin.size());
    const std::string_view block = pem.substr(begin, next == std::string_view::npos ? next : next - begin);
    begin = next;
    const std::string_view label = block.substr(kBegin.size(), block.find("-----", kBegin.size()) - kBegin.size());
    if (label != PEM_STRING_X509 && label != PEM_STRING_X509_TRUSTED && label != PEM_STRING_X509_OLD) continue;
    // Only the plain label counts, as in Go. A trusted certificate carries settings of OpenSSL, which may reject it and which DER loses.
    const Bio bio = label == PEM_STRING_X509 ? Open(block) : nullptr;
    const Certificate certificate(bio == nullptr ? nullptr : PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
    unsigned char* der = nullptr;
    const int size = certificate == nullptr ? -1 : i2d_X509(certificate.get(), &der);
    if (size > 0) {
      bundle.certificates.emplace_back(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
      OPENSSL_free(der);
    } else {
      ++bundle.unreadable;
    }
  }
  ERR_clear_error();
  return bundle;
}

Result<void> CheckCaBundle(std::string_view pem, const std::string& where) {
  static const Logger log("config.tls");
  const CaBundle bundle = ReadCaBundle(pem);
  if (bundle.certificates.empty()) return Wrong(NoCertificate(pem, where));
  if (bundle.unreadable > 0) {
    log.Warn("Certificates of a CA bundle cannot be read and are skipped",
             {{"from", where}, {"unreadable", bundle.unreadable}, {"used", bundle.certificates.size()}});
  }
  return {};
}

Result<CertificateInfo> CheckKeyPair(std::string_view certificate_pem, const SecretString& key_pem, const std::string& certificate_where,
                                     const std::string& key_where) {
  if (certificate_pem.size() > kMaxPemBytes) return Wrong(NoCertificate(certificate_pem, certificate_where));
  const Bio bio = Open(certificate_pem);
  const Certificate certificate(bio == nullptr ? nullptr : PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
  if (certificate == nullptr) {
    ERR_clear_error();
    return Wrong(NoCertificate(certificate_pem, certificate_where));
  }
  for (;;) {  // the chain
    const Certificate next(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
    if (next != nullptr) continue;
    const bool end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    ERR_clear_error();
    if (end) break;
    return Wrong(certificate_where + " holds a second PEM certificate that cannot be read; it is damaged or cut off");
  }
  if (key_pem.reveal().size() > kMaxPemBytes) return Wrong(key_where + " is too large to hold a private key");
  const Bio key_bio = Open(key_pem.reveal());
  const Key key(key_bio == nullptr ? nullptr : PEM_read_bio_PrivateKey(key_bio.get(), nullptr, NoPassword, nullptr));
  const bool fits = key != nullptr && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (key == nullptr) return Wrong(NoKey(key_pem.reveal(), key_where));
  if (!fits) {
    return Wrong("the private key of " + key_where + " does not belong to the certificate of " + certificate_where +
                 "; use the two that were made together");
  }
  return CertificateInfo{.not_before = ToTime(X509_get0_notBefore(certificate.get())),
                         .not_after = ToTime(X509_get0_notAfter(certificate.get())),
                         .subject = Subject(certificate.get())};
}

}  // namespace kube::internal
