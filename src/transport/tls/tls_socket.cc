#include "transport/tls/tls_socket.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "config/pem.h"

namespace kube::internal {
namespace {

// What is taken from the socket at once: several records of TLS.
constexpr std::size_t kReadAhead = 64 * 1024 + 2048;

int SocketOf(BIO* bio) { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))); }

bool Again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

// OpenSSL's own for sockets, but without SIGPIPE.
const BIO_METHOD* SocketMethod() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "kubexx socket");
    if (made == nullptr) return made;
    BIO_meth_set_create(made, [](BIO* bio) -> int {
      BIO_set_init(bio, 1);
      BIO_set_shutdown(bio, 0);
      return 1;
    });
    BIO_meth_set_read(made, [](BIO* bio, char* buffer, int size) -> int {
      BIO_clear_retry_flags(bio);
      const ssize_t got = recv(SocketOf(bio), buffer, static_cast<std::size_t>(size), 0);
      if (got < 0 && Again()) BIO_set_retry_read(bio);
      if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
      return static_cast<int>(got);
    });
    BIO_meth_set_write(made, [](BIO* bio, const char* bytes, int size) -> int {
      BIO_clear_retry_flags(bio);
      const ssize_t sent = send(SocketOf(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
      if (sent < 0 && Again()) BIO_set_retry_write(bio);
      return static_cast<int>(sent);
    });
    BIO_meth_set_ctrl(made, [](BIO* bio, int command, long, void*) -> long {
      if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
      return command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP ? 1 : 0;
    });
    return made;
  }();
  return method;
}

struct BioDeleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, BioDeleter>;

Bio ReadOnly(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(std::min<std::size_t>(text.size(), INT_MAX))));
}

// A key with a passphrase cannot be used, and must not cause a prompt on the terminal.
int NoPassphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*unused*/) { return -1; }

X509* NextCertificate(BIO* bio) { return PEM_read_bio_X509(bio, nullptr, &NoPassphrase, nullptr); }

bool Trust(SSL_CTX* context, std::string_view pem) {
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  bool any = false;
  for (const std::string& der : ReadCaBundle(pem).certificates) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
    X509* certificate = d2i_X509(nullptr, &bytes, static_cast<long>(der.size()));
    any = (certificate != nullptr && X509_STORE_add_cert(store, certificate) == 1) || any;  // one that is there already counts as added
    X509_free(certificate);
  }
  ERR_clear_error();
  return any;
}

// Whether a certificate says for which hosts it is. A common name does not count: no CA checks it as one, as RFC 9525 and Go have it.
bool HasHostNames(X509* certificate) {
  auto* names = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  bool found = false;
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const int type = sk_GENERAL_NAME_value(names, i)->type;
    found = found || type == GEN_DNS || type == GEN_IPADD;
  }
  GENERAL_NAMES_free(names);
  return found;
}

static_assert(kNoHostNames == X509_V_ERR_APPLICATION_VERIFICATION);

// Called for each certificate of the chain that was checked, the server's last.
int CheckNames(int good, X509_STORE_CTX* chain) {
  if (X509_STORE_CTX_get_error_depth(chain) != 0) return good;
  const int error = X509_STORE_CTX_get_error(chain);
  const bool names_matter = good == 1 || error == X509_V_ERR_HOSTNAME_MISMATCH || error == X509_V_ERR_IP_ADDRESS_MISMATCH;
  if (!names_matter || HasHostNames(X509_STORE_CTX_get_current_cert(chain))) return good;
  X509_STORE_CTX_set_error(chain, static_cast<int>(kNoHostNames));
  return 0;
}

void Verify(SSL_CTX* context) {
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, &CheckNames);
  // As in Go, every certificate in the CA file is trusted, also an intermediate one.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
}

// NOLINTNEXTLINE(concurrency-mt-unsafe): the environment does not change meanwhile
bool Named(const char* variable) { return std::getenv(variable) != nullptr; }

// A folder with names as OpenSSL looks for them: eight digits of a hash, ".0".
bool HasHashedNames(const char* folder) {
  DIR* dir = opendir(folder);
  if (dir == nullptr) return false;
  bool found = false;
  while (const dirent* entry = found ? nullptr : readdir(dir)) {  // NOLINT(concurrency-mt-unsafe): a stream of its own
    const std::string_view name(entry->d_name);
    found = name.size() > 9 && name.find_first_not_of("0123456789abcdef") == 8 && name[8] == '.';
  }
  closedir(dir);
  return found;
}

// The roots of the system, as OpenSSL looks for them: SSL_CERT_FILE, SSL_CERT_DIR, its own folder. That one is not everywhere, as in a
// small image: then the bundles of the distributions.
void TrustSystem(SSL_CTX* context) {
  (void)SSL_CTX_set_default_verify_paths(context);
  if (Named(X509_get_default_cert_file_env()) || Named(X509_get_default_cert_dir_env()) ||
      access(X509_get_default_cert_file(), R_OK) == 0 || HasHashedNames(X509_get_default_cert_dir())) {
    return;
  }
  for (const char* bundle : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                             "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    if (access(bundle, R_OK) == 0 && SSL_CTX_load_verify_file(context, bundle) == 1) return;
  }
}

bool Show(SSL_CTX* context, const ClientCertificate& shown) {
  const Bio chain = ReadOnly(shown.certificate_pem);
  X509* leaf = NextCertificate(chain.get());
  if (leaf == nullptr) return false;
  bool good = SSL_CTX_use_certificate(context, leaf) == 1;
  X509_free(leaf);
  while (X509* issuer = good ? NextCertificate(chain.get()) : nullptr) {
    if (SSL_CTX_add0_chain_cert(context, issuer) != 1) {
      X509_free(issuer);
      good = false;
    }
  }
  const Bio text = ReadOnly(shown.key_pem.reveal());
  EVP_PKEY* key = PEM_read_bio_PrivateKey(text.get(), nullptr, &NoPassphrase, nullptr);
  good = good && key != nullptr && SSL_CTX_use_PrivateKey(context, key) == 1 && SSL_CTX_check_private_key(context) == 1;
  EVP_PKEY_free(key);
  return good;
}

bool IsAddress(const std::string& host) {
  unsigned char address[sizeof(in6_addr)];
  return inet_pton(AF_INET, host.c_str(), address) == 1 || inet_pton(AF_INET6, host.c_str(), address) == 1;
}

}  // namespace

SslContext MakeSslContext(const TlsMaterial* material, Failure& failure) {
  ERR_clear_error();
  const auto fail = [&](FailureKind kind) {
    failure.kind = kind;
    failure.detail = TakeSslError();
    return nullptr;
  };
  SslContext context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) return fail(FailureKind::kTls);
  SSL_CTX_set_default_passwd_cb(context.get(), &NoPassphrase);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  constexpr std::string_view kOffer = "\x02h2\x08http/1.1";
  if (SSL_CTX_set_alpn_protos(context.get(), reinterpret_cast<const unsigned char*>(kOffer.data()), static_cast<unsigned>(kOffer.size())) !=
      0) {
    return fail(FailureKind::kTls);
  }
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  if (material != nullptr && material->insecure) {
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  } else {
    Verify(context.get());
  }
  if (material == nullptr || material->ca_pem.empty()) {
    TrustSystem(context.get());
  } else if (!Trust(context.get(), material->ca_pem)) {
    return fail(FailureKind::kCa);
  }
  if (material != nullptr && material->certificate != nullptr && !Show(context.get(), *material->certificate)) {
    return fail(FailureKind::kClientCertificate);
  }
  ERR_clear_error();
  return context;
}

bool ApplyTlsRules(SSL_CTX* rules, SSL_CTX* context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  if (SSL_CTX_get_verify_mode(rules) == SSL_VERIFY_NONE) return true;  // libcurl does not verify either
  Verify(context);
  return SSL_CTX_set1_verify_cert_store(context, SSL_CTX_get_cert_store(rules)) == 1;
}

Ssl MakeSsl(SSL_CTX* context, int fd, const std::string& name, bool verify) {
  Ssl ssl(SSL_new(context));
  if (ssl == nullptr) return nullptr;
  BIO* bio = BIO_new(SocketMethod());
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
  SSL_set_bio(ssl.get(), bio, bio);
  SSL_set_read_ahead(ssl.get(), 1);
  SSL_set_default_read_buffer_len(ssl.get(), kReadAhead);
  SSL_set_connect_state(ssl.get());
  if (IsAddress(name)) {
    if (verify && X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), name.c_str()) != 1) return nullptr;
    return ssl;
  }
  // The dot of a full name is DNS's, not the certificate's.
  const std::string bare = name.size() > 1 && name.back() == '.' ? name.substr(0, name.size() - 1) : name;
  if (SSL_set_tlsext_host_name(ssl.get(), bare.c_str()) != 1) return nullptr;
  SSL_set_hostflags(ssl.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  if (verify && SSL_set1_host(ssl.get(), bare.c_str()) != 1) return nullptr;
  return ssl;
}

std::string TakeSslError() {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  if (error == 0) return {};
  char text[256];
  ERR_error_string_n(error, text, sizeof text);
  return text;
}

}  // namespace kube::internal
