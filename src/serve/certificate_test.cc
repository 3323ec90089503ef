#include "kube/serve/certificate.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ui.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>
#include <string>

#include "serve/tls.h"

namespace kube::serve {
namespace {

struct FreeX509 {
  void operator()(X509* x) const { X509_free(x); }
};
using Certificate = std::unique_ptr<X509, FreeX509>;

Certificate Read(const std::string& pem) {
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  Certificate certificate(PEM_read_bio_X509(bio, nullptr, nullptr, nullptr));
  BIO_free(bio);
  return certificate;
}

// 0 if `leaf` is one that `ca` signed and that is good for `purpose` now; OpenSSL's error otherwise.
int Verify(const std::string& ca, const std::string& leaf, int purpose) {
  const Certificate trusted = Read(ca);
  const Certificate target = Read(leaf);
  X509_STORE* store = X509_STORE_new();
  X509_STORE_add_cert(store, trusted.get());
  X509_STORE_CTX* ctx = X509_STORE_CTX_new();
  X509_STORE_CTX_init(ctx, store, target.get(), nullptr);
  X509_STORE_CTX_set_purpose(ctx, purpose);
  X509_STORE_CTX_set_flags(ctx, X509_V_FLAG_X509_STRICT);
  const int error = X509_verify_cert(ctx) == 1 ? 0 : X509_STORE_CTX_get_error(ctx);
  X509_STORE_CTX_free(ctx);
  X509_STORE_free(store);
  return error;
}

std::string Subject(X509* certificate) {
  BIO* bio = BIO_new(BIO_s_mem());
  X509_NAME_print_ex(bio, X509_get_subject_name(certificate), 0, XN_FLAG_ONELINE & ~XN_FLAG_SPC_EQ);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

TEST(CertificateTest, ServerCertificateNamesItsHosts) {
  const Result<CertificateAuthority> ca = CertificateAuthority::Create("test CA");
  ASSERT_TRUE(ca.ok()) << ca.error().ToString();
  const Result<KeyPair> pair = ca->Issue(
      {.common_name = "apiserver", .dns_names = {"localhost", "*.svc.cluster.local"}, .addresses = {"127.0.0.1", "::1"}, .server = true});
  ASSERT_TRUE(pair.ok()) << pair.error().ToString();
  EXPECT_EQ(Verify(ca->certificate_pem(), pair->certificate_pem, X509_PURPOSE_SSL_SERVER), 0);
  EXPECT_NE(Verify(ca->certificate_pem(), pair->certificate_pem, X509_PURPOSE_SSL_CLIENT), 0);
  const Certificate leaf = Read(pair->certificate_pem);
  EXPECT_EQ(X509_check_host(leaf.get(), "localhost", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(leaf.get(), "kubernetes.svc.cluster.local", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(leaf.get(), "example.com", 0, 0, nullptr), 0);
  EXPECT_EQ(X509_check_ip_asc(leaf.get(), "127.0.0.1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(leaf.get(), "::1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(leaf.get(), "127.0.0.2", 0), 0);
}

TEST(CertificateTest, ClientCertificateCarriesUserAndGroups) {
  const Result<CertificateAuthority> ca = CertificateAuthority::Create("test CA");
  ASSERT_TRUE(ca.ok());
  const Result<KeyPair> pair = ca->Issue({.common_name = "admin", .organizations = {"system:masters", "dev"}, .client = true});
  ASSERT_TRUE(pair.ok()) << pair.error().ToString();
  EXPECT_EQ(Verify(ca->certificate_pem(), pair->certificate_pem, X509_PURPOSE_SSL_CLIENT), 0);
  EXPECT_NE(Verify(ca->certificate_pem(), pair->certificate_pem, X509_PURPOSE_SSL_SERVER), 0);
  EXPECT_EQ(Subject(Read(pair->certificate_pem).get()), "O=system:masters, O=dev, CN=admin");
}

TEST(CertificateTest, AnotherAuthorityDoesNotVouchForIt) {
  const Result<CertificateAuthority> ca = CertificateAuthority::Create("test CA");
  const Result<CertificateAuthority> other = CertificateAuthority::Create("test CA");
  ASSERT_TRUE(ca.ok() && other.ok());
  const Result<KeyPair> pair = ca->Issue({.common_name = "a", .client = true});
  ASSERT_TRUE(pair.ok());
  EXPECT_NE(Verify(other->certificate_pem(), pair->certificate_pem, X509_PURPOSE_SSL_CLIENT), 0);
}

TEST(CertificateTest, LifetimeIsAsAsked) {
  const Result<CertificateAuthority> ca = CertificateAuthority::Create("test CA");
  ASSERT_TRUE(ca.ok());
  const Result<KeyPair> expired = ca->Issue({.common_name = "a",
                                             .client = true,
                                             .not_before = std::chrono::system_clock::now() - std::chrono::hours(48),
                                             .lifetime = std::chrono::hours(24)});
  ASSERT_TRUE(expired.ok());
  EXPECT_EQ(Verify(ca->certificate_pem(), expired->certificate_pem, X509_PURPOSE_SSL_CLIENT), X509_V_ERR_CERT_HAS_EXPIRED);
}

TEST(CertificateTest, SerialsDiffer) {
  const Result<CertificateAuthority> ca = CertificateAuthority::Create("test CA");
  ASSERT_TRUE(ca.ok());
  const Result<KeyPair> one = ca->Issue({.common_name = "a"});
  const Result<KeyPair> two = ca->Issue({.common_name = "a"});
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_NE(
      ASN1_INTEGER_cmp(X509_get0_serialNumber(Read(one->certificate_pem).get()), X509_get0_serialNumber(Read(two->certificate_pem).get())),
      0);
}

TEST(CertificateTest, AuthorityComesBackFromPem) {
  const Result<CertificateAuthority> ca = CertificateAuthority::Create("test CA");
  ASSERT_TRUE(ca.ok());
  const Result<CertificateAuthority> again = CertificateAuthority::FromPem(ca->key_pair());
  ASSERT_TRUE(again.ok()) << again.error().ToString();
  const Result<KeyPair> pair = again->Issue({.common_name = "a", .client = true});
  ASSERT_TRUE(pair.ok());
  EXPECT_EQ(Verify(ca->certificate_pem(), pair->certificate_pem, X509_PURPOSE_SSL_CLIENT), 0);
}

TEST(CertificateTest, WhatIsNoAuthorityIsRefused) {
  const Result<CertificateAuthority> ca = CertificateAuthority::Create("test CA");
  const Result<CertificateAuthority> other = CertificateAuthority::Create("other CA");
  ASSERT_TRUE(ca.ok() && other.ok());
  const Result<KeyPair> leaf = ca->Issue({.common_name = "a", .client = true});
  ASSERT_TRUE(leaf.ok());
  const std::array<KeyPair, 4> bad = {*leaf, KeyPair{ca->certificate_pem(), other->key_pair().key_pem},
                                      KeyPair{"rubbish", ca->key_pair().key_pem}, KeyPair{ca->certificate_pem(), ""}};
  for (const KeyPair& pair : bad) {
    const Result<CertificateAuthority> refused = CertificateAuthority::FromPem(pair);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalid);
  }
}

TEST(CertificateTest, BadNamesAreRefused) {
  const Result<CertificateAuthority> ca = CertificateAuthority::Create("test CA");
  ASSERT_TRUE(ca.ok());
  const Result<KeyPair> address = ca->Issue({.common_name = "a", .addresses = {"300.1.1.1"}});
  ASSERT_FALSE(address.ok());
  EXPECT_EQ(address.error().kind(), ErrorKind::kInvalid);
  const Result<KeyPair> name = ca->Issue({.common_name = "a", .dns_names = {"a,IP:1.2.3.4"}});
  ASSERT_FALSE(name.ok());
  EXPECT_EQ(name.error().kind(), ErrorKind::kInvalid);
}

TEST(CertificateTest, NeverAsksForAPassword) {
  static int asked = 0;
  UI_METHOD* const method = UI_create_method("test");
  UI_method_set_opener(method, [](UI*) { return ++asked, 0; });
  const UI_METHOD* const before = UI_get_default_method();
  UI_set_default_method(method);

  const CertificateAuthority ca = CertificateAuthority::Create("test CA").value();
  KeyPair locked = ca.key_pair();
  BIO* bio = BIO_new_mem_buf(locked.key_pem.data(), static_cast<int>(locked.key_pem.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  bio = BIO_new(BIO_s_mem());
  ASSERT_EQ(PEM_write_bio_PKCS8PrivateKey(bio, key, EVP_aes_128_cbc(), "password", 8, nullptr, nullptr), 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  locked.key_pem.assign(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  EVP_PKEY_free(key);
  EXPECT_FALSE(CertificateAuthority::FromPem(locked));
  EXPECT_FALSE(TlsContext::Create({.certificate_pem = locked.certificate_pem, .key_pem = locked.key_pem}, {}, false));

  std::string certificate = ca.certificate_pem();
  certificate.insert(certificate.find('\n') + 1, "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n");
  EXPECT_FALSE(ReadCertificate(certificate));
  EXPECT_TRUE(SplitCertificates(certificate).empty());
  EXPECT_FALSE(IsSignedByOneOf(ca.certificate_pem(), certificate));
  EXPECT_FALSE(TlsContext::Create({.certificate_pem = certificate, .key_pem = ca.key_pair().key_pem}, {}, false));

  UI_set_default_method(before);
  UI_destroy_method(method);
  EXPECT_EQ(asked, 0) << "it would wait at the terminal, or at standard input";
}

TEST(CertificateTest, SigningKeySigns) {
  const Result<SigningKey> key = CreateSigningKey();
  ASSERT_TRUE(key.ok()) << key.error().ToString();
  BIO* private_bio = BIO_new_mem_buf(key->private_pem.data(), static_cast<int>(key->private_pem.size()));
  BIO* public_bio = BIO_new_mem_buf(key->public_pem.data(), static_cast<int>(key->public_pem.size()));
  EVP_PKEY* private_key = PEM_read_bio_PrivateKey(private_bio, nullptr, nullptr, nullptr);
  EVP_PKEY* public_key = PEM_read_bio_PUBKEY(public_bio, nullptr, nullptr, nullptr);
  ASSERT_NE(private_key, nullptr);
  ASSERT_NE(public_key, nullptr);
  EXPECT_EQ(EVP_PKEY_get_bits(private_key), 2048);
  EXPECT_EQ(EVP_PKEY_eq(private_key, public_key), 1);
  EVP_PKEY_free(private_key);
  EVP_PKEY_free(public_key);
  BIO_free(private_bio);
  BIO_free(public_bio);
}

}  // namespace
}  // namespace kube::serve
