#include "kube/serve/certificate.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <string_view>
#include <utility>

namespace kube::serve {

namespace {

template <auto function>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    function(object);
  }
};

using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Deleter<GENERAL_NAMES_free>>;
using Name = std::unique_ptr<GENERAL_NAME, Deleter<GENERAL_NAME_free>>;

using TimePoint = std::chrono::system_clock::time_point;

constexpr std::chrono::hours kAuthorityLifetime{24 * 365 * 10};

// OpenSSL's description of the failure; empties its error queue, so that no later call finds it.
Error OpenSslError(std::string_view what) {
  const unsigned long code = ERR_peek_last_error();
  std::string reason = "unknown error";
  if (code != 0) {
    std::array<char, 256> text{};
    ERR_error_string_n(code, text.data(), text.size());
    reason = text.data();
  }
  ERR_clear_error();
  return Error::Internal(fmt::format("{}: {}", what, reason));
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size <= 0 ? std::string() : std::string(data, static_cast<std::size_t>(size));
}

Result<std::string> CertificateText(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || PEM_write_bio_X509(bio.get(), certificate) != 1) return OpenSslError("write a certificate");
  return TextOf(bio.get());
}

Result<std::string> PrivateKeyText(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return OpenSslError("write a private key");
  }
  return TextOf(bio.get());
}

Result<std::string> PublicKeyText(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || PEM_write_bio_PUBKEY(bio.get(), key) != 1) return OpenSslError("write a public key");
  return TextOf(bio.get());
}

// Texts may come from untrusted writers: OpenSSL must not prompt at the terminal or standard input for the password of an encrypted one.
int NoPassword(char*, int, int, void*) { return -1; }

Bio BioOf(std::string_view text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

bool AddNameEntry(X509_NAME* name, const char* field, const std::string& value) {
  return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.data()),
                                    static_cast<int>(value.size()), -1, 0) == 1;
}

bool SetTimes(X509* certificate, TimePoint not_before, TimePoint not_after) {
  const auto seconds = [](TimePoint time) { return std::chrono::system_clock::to_time_t(time); };
  return ASN1_TIME_set(X509_getm_notBefore(certificate), seconds(not_before)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), seconds(not_after)) != nullptr;
}

// 127 random bits: positive, and never the same twice.
bool SetSerial(X509* certificate) {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);
  BIGNUM* number = BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr);
  if (number == nullptr) return false;
  const bool ok = BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  return ok;
}

// `value` is in OpenSSL's configuration language: only for texts of our own, never for a name from outside.
bool AddExtension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX ctx;
  X509V3_set_ctx_nodb(&ctx);
  X509V3_set_ctx(&ctx, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &ctx, nid, value));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool IsDnsName(const std::string& name) {
  if (name.empty() || name.size() > 253) return false;
  for (const char c : name) {
    const bool known =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '*' || c == '_';
    if (!known) return false;
  }
  return true;
}

Result<void> AddAlternativeNames(X509* certificate, const CertificateRequest& request) {
  if (request.dns_names.empty() && request.addresses.empty()) return {};
  const Names names(GENERAL_NAMES_new());
  if (names == nullptr) return OpenSslError("alternative names");
  const auto add = [&](int type, ASN1_STRING* value) {
    Name name(GENERAL_NAME_new());
    if (name == nullptr || value == nullptr) {
      ASN1_STRING_free(value);
      return false;
    }
    GENERAL_NAME_set0_value(name.get(), type, value);
    if (sk_GENERAL_NAME_push(names.get(), name.get()) <= 0) return false;
    (void)name.release();
    return true;
  };
  for (const std::string& dns : request.dns_names) {
    if (!IsDnsName(dns)) return Error::Invalid(fmt::format("'{}' is no DNS name", dns));
    ASN1_STRING* value = ASN1_STRING_type_new(V_ASN1_IA5STRING);
    if (value != nullptr) ASN1_STRING_set(value, dns.data(), static_cast<int>(dns.size()));
    if (!add(GEN_DNS, value)) return OpenSslError("a DNS name");
  }
  for (const std::string& address : request.addresses) {
    ASN1_OCTET_STRING* value = address.find('\0') == std::string::npos ? a2i_IPADDRESS(address.c_str()) : nullptr;
    if (value == nullptr) {
      ERR_clear_error();
      return Error::Invalid(fmt::format("'{}' is no IP address", address));
    }
    if (!add(GEN_IPADD, value)) return OpenSslError("an address");
  }
  if (X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) != 1)
    return OpenSslError("alternative names");
  return {};
}

Result<KeyPair> ToPem(X509* certificate, EVP_PKEY* key) {
  Result<std::string> certificate_pem = CertificateText(certificate);
  if (!certificate_pem) return certificate_pem.error();
  Result<std::string> key_pem = PrivateKeyText(key);
  if (!key_pem) return key_pem.error();
  return KeyPair{*std::move(certificate_pem), *std::move(key_pem)};
}

// Null if there is none.
Certificate ReadFirst(std::string_view pem) {
  const Bio bio = BioOf(pem);
  Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  return certificate;
}

std::string TextOf(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)), static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string AddressText(const ASN1_OCTET_STRING* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = ASN1_STRING_length(address) == 4 ? AF_INET : AF_INET6;
  if (family == AF_INET6 && ASN1_STRING_length(address) != 16) return {};
  return inet_ntop(family, ASN1_STRING_get0_data(address), text.data(), text.size()) == nullptr ? "" : text.data();
}

struct Issuer {
  Certificate certificate;
  Key key;
};

Result<Issuer> ReadIssuer(const KeyPair& pair) {
  const Bio certificate_bio = BioOf(pair.certificate_pem);
  const Bio key_bio = BioOf(pair.key_pem);
  Issuer issuer{Certificate(PEM_read_bio_X509(certificate_bio.get(), nullptr, NoPassword, nullptr)),
                Key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, NoPassword, nullptr))};
  ERR_clear_error();
  if (issuer.certificate == nullptr) return Error::Invalid("the CA's certificate is not PEM");
  if (issuer.key == nullptr) return Error::Invalid("the CA's key is not an unencrypted PEM key");
  if (X509_check_private_key(issuer.certificate.get(), issuer.key.get()) != 1) {
    ERR_clear_error();
    return Error::Invalid("the CA's key does not belong to its certificate");
  }
  if (X509_check_ca(issuer.certificate.get()) == 0) return Error::Invalid("the certificate is not one of a CA");
  return issuer;
}

}  // namespace

Result<CertificateAuthority> CertificateAuthority::Create(const std::string& common_name) {
  const TimePoint begin = std::chrono::system_clock::now() - std::chrono::hours(1);
  return Create(common_name, begin, begin + kAuthorityLifetime);
}

Result<CertificateAuthority> CertificateAuthority::Create(const std::string& common_name, TimePoint not_before, TimePoint not_after) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  if (key == nullptr || certificate == nullptr) return OpenSslError("create a CA");
  X509* x = certificate.get();
  X509_NAME* name = X509_get_subject_name(x);
  const bool ok = X509_set_version(x, X509_VERSION_3) == 1 && SetSerial(x) && AddNameEntry(name, "CN", common_name) &&
                  X509_set_issuer_name(x, name) == 1 && SetTimes(x, not_before, not_after) && X509_set_pubkey(x, key.get()) == 1 &&
                  AddExtension(x, x, NID_basic_constraints, "critical,CA:TRUE") &&
                  AddExtension(x, x, NID_key_usage, "critical,digitalSignature,keyCertSign,cRLSign") &&
                  AddExtension(x, x, NID_subject_key_identifier, "hash") && X509_sign(x, key.get(), EVP_sha256()) > 0;
  if (!ok) return OpenSslError("create a CA");
  Result<KeyPair> pair = ToPem(x, key.get());
  if (!pair) return pair.error();
  return CertificateAuthority(*std::move(pair));
}

Result<CertificateAuthority> CertificateAuthority::FromPem(KeyPair pair) {
  Result<Issuer> issuer = ReadIssuer(pair);
  if (!issuer) return issuer.error();
  return CertificateAuthority(std::move(pair));
}

Result<KeyPair> CertificateAuthority::Issue(const CertificateRequest& request) const {
  Result<Issuer> issuer = ReadIssuer(pair_);
  if (!issuer) return issuer.error();
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  if (key == nullptr || certificate == nullptr) return OpenSslError("issue a certificate");
  X509* x = certificate.get();
  X509* ca = issuer->certificate.get();
  X509_NAME* name = X509_get_subject_name(x);
  bool ok = X509_set_version(x, X509_VERSION_3) == 1 && SetSerial(x) && X509_set_issuer_name(x, X509_get_subject_name(ca)) == 1 &&
            SetTimes(x, request.not_before, request.not_before + request.lifetime) && X509_set_pubkey(x, key.get()) == 1;
  for (const std::string& organization : request.organizations) ok = ok && AddNameEntry(name, "O", organization);
  ok = ok && AddNameEntry(name, "CN", request.common_name);
  ok = ok && AddExtension(x, ca, NID_basic_constraints, "critical,CA:FALSE") &&
       AddExtension(x, ca, NID_key_usage, "critical,digitalSignature");
  if (request.server || request.client) {
    const char* usage = !request.client ? "serverAuth" : !request.server ? "clientAuth" : "serverAuth,clientAuth";
    ok = ok && AddExtension(x, ca, NID_ext_key_usage, usage);
  }
  ok = ok && AddExtension(x, ca, NID_subject_key_identifier, "hash") && AddExtension(x, ca, NID_authority_key_identifier, "keyid:always");
  if (!ok) return OpenSslError("issue a certificate");
  if (Result<void> named = AddAlternativeNames(x, request); !named) return named.error();
  if (X509_sign(x, issuer->key.get(), EVP_sha256()) <= 0) return OpenSslError("sign a certificate");
  return ToPem(x, key.get());
}

Result<CertificateInfo> ReadCertificate(std::string_view pem) {
  const Certificate certificate = ReadFirst(pem);
  if (certificate == nullptr) return Error::Invalid("expected a certificate in PEM");
  X509* x = certificate.get();
  CertificateInfo info;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (X509_digest(x, EVP_sha256(), digest.data(), &size) != 1) return OpenSslError("read a certificate");
  for (unsigned int i = 0; i < size; ++i) info.fingerprint += fmt::format("{:02x}", digest[i]);
  std::tm begin{}, end{};
  if (ASN1_TIME_to_tm(X509_get0_notBefore(x), &begin) != 1 || ASN1_TIME_to_tm(X509_get0_notAfter(x), &end) != 1) {
    ERR_clear_error();
    return Error::Invalid("the certificate's times are not readable");
  }
  const auto time = [](std::tm& tm) {
    return TimePoint(std::chrono::seconds(std::clamp<std::int64_t>(timegm(&tm), 0, kMostCertificateSeconds)));
  };
  info.not_before = time(begin);
  info.not_after = time(end);
  info.is_ca = X509_check_ca(x) != 0;
  const X509_NAME* subject = X509_get_subject_name(x);
  if (const int at = X509_NAME_get_index_by_NID(const_cast<X509_NAME*>(subject), NID_commonName, -1); at >= 0)
    info.common_name = TextOf(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  const Names names(static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(x, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) info.dns_names.push_back(TextOf(name->d.dNSName));
    if (name->type == GEN_IPADD) info.addresses.push_back(AddressText(name->d.iPAddress));
  }
  ERR_clear_error();
  return info;
}

bool IsSignedByOneOf(std::string_view pem, std::string_view bundle_pem) {
  const Certificate certificate = ReadFirst(pem);
  if (certificate == nullptr) return false;
  const Bio bio = BioOf(bundle_pem);
  bool found = false;
  while (!found) {
    const Certificate ca(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
    if (ca == nullptr) break;
    found = X509_check_issued(ca.get(), certificate.get()) == X509_V_OK && X509_verify(certificate.get(), X509_get0_pubkey(ca.get())) == 1;
  }
  ERR_clear_error();
  return found;
}

std::vector<std::string> SplitCertificates(std::string_view pem) {
  std::vector<std::string> out;
  const Bio bio = BioOf(pem);
  for (;;) {
    const Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
    if (certificate == nullptr) break;
    if (Result<std::string> text = CertificateText(certificate.get())) out.push_back(*std::move(text));
  }
  ERR_clear_error();
  return out;
}

Result<SigningKey> CreateSigningKey() {
  const Key key(EVP_RSA_gen(2048));
  if (key == nullptr) return OpenSslError("create a signing key");
  Result<std::string> private_pem = PrivateKeyText(key.get());
  if (!private_pem) return private_pem.error();
  Result<std::string> public_pem = PublicKeyText(key.get());
  if (!public_pem) return public_pem.error();
  return SigningKey{*std::move(private_pem), *std::move(public_pem)};
}

}  // namespace kube::serve
