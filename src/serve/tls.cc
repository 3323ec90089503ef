#include "serve/tls.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/buffer.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <string>
#include <utility>

#include "serve/tls_policy.h"

namespace kube::serve {

namespace {

template <auto function>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    function(object);
  }
};

using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;

// No user is there to enter the password of an encrypted key.
int NoPassword(char*, int, int, void*) { return -1; }

Bio BioOf(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

Error ConfigError(std::string_view what) {
  std::array<char, 256> text{};
  const unsigned long code = ERR_peek_last_error();
  if (code != 0) ERR_error_string_n(code, text.data(), text.size());
  ERR_clear_error();
  return Error(ErrorKind::kConfig, code == 0 ? std::string(what) : fmt::format("{}: {}", what, text.data()));
}

// `http1_only` is null if HTTP/2 is spoken, too.
int SelectProtocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in, unsigned int in_size,
                   void* http1_only) {
  static constexpr std::string_view kBoth("\x02h2\x08http/1.1", 12);
  const std::string_view kOurs = http1_only == nullptr ? kBoth : kBoth.substr(3);
  unsigned char* selected = nullptr;
  if (SSL_select_next_proto(&selected, out_size, reinterpret_cast<const unsigned char*>(kOurs.data()),
                            static_cast<unsigned int>(kOurs.size()), in, in_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *out = selected;
  return SSL_TLSEXT_ERR_OK;
}

// A buffer in memory never shrinks by itself.
std::size_t CapacityOf(BIO* bio) {
  BUF_MEM* memory = nullptr;
  BIO_get_mem_ptr(bio, &memory);
  return memory == nullptr ? 0 : memory->max;
}

// Releases the memory of an empty buffer beyond what a small answer needs.
void GiveBack(BIO* bio) {
  constexpr std::size_t kKept = std::size_t{8} << 10;
  if (CapacityOf(bio) <= kKept) return;
  if (BUF_MEM* fresh = BUF_MEM_new(); fresh != nullptr) BIO_set_mem_buf(bio, fresh, BIO_CLOSE);
}

std::string EntryText(const X509_NAME_ENTRY* entry) {
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(entry));
  if (size < 0) return {};
  std::string text(reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(size));
  OPENSSL_free(utf8);
  return text;
}

}  // namespace

struct TlsContext::Impl {
  std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>> ctx;
};

TlsContext::TlsContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsContext::~TlsContext() = default;

Result<std::shared_ptr<TlsContext>> TlsContext::Create(const HttpTlsOptions& options, const TlsPolicy& policy, bool http2) {
  const Result<OpenSslPolicy> translated = TranslateTlsPolicy(policy);
  if (!translated) return translated.error();
  ERR_clear_error();
  auto impl = std::make_unique<Impl>();
  impl->ctx.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* ctx = impl->ctx.get();
  if (ctx == nullptr) return ConfigError("TLS cannot be set up");
  SSL_CTX_set_min_proto_version(ctx, translated->only_tls13 ? TLS1_3_VERSION : TLS1_2_VERSION);
  if (!translated->tls12_ciphers.empty() && SSL_CTX_set_cipher_list(ctx, translated->tls12_ciphers.c_str()) != 1)
    return ConfigError("the cipher suites are not usable");
  if (!translated->tls13_suites.empty() && SSL_CTX_set_ciphersuites(ctx, translated->tls13_suites.c_str()) != 1)
    return ConfigError("the cipher suites of TLS 1.3 are not usable");
  // No resumption: a handshake is a millisecond, and a resumed session would carry an old client certificate along.
  SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_num_tickets(ctx, 0);
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_alpn_select_cb(ctx, SelectProtocol, http2 ? nullptr : ctx);

  const Bio chain = BioOf(options.certificate_pem);
  const Certificate leaf(PEM_read_bio_X509(chain.get(), nullptr, NoPassword, nullptr));
  if (leaf == nullptr || SSL_CTX_use_certificate(ctx, leaf.get()) != 1) return ConfigError("the server's certificate is not usable");
  while (true) {
    const Certificate next(PEM_read_bio_X509(chain.get(), nullptr, NoPassword, nullptr));
    if (next == nullptr) break;
    if (SSL_CTX_add1_chain_cert(ctx, next.get()) != 1) return ConfigError("the server's certificate chain is not usable");
  }
  ERR_clear_error();
  const Bio key_bio = BioOf(options.key_pem);
  const Key key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, NoPassword, nullptr));
  if (key == nullptr) return ConfigError("the server's key is not an unencrypted PEM key");
  if (SSL_CTX_use_PrivateKey(ctx, key.get()) != 1 || SSL_CTX_check_private_key(ctx) != 1) {
    return ConfigError("the server's key does not belong to its certificate");
  }
  if (!options.client_ca_pem.empty()) {
    const Bio bio = BioOf(options.client_ca_pem);
    int count = 0;
    while (true) {
      const Certificate ca(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
      if (ca == nullptr) break;
      ++count;
      if (X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), ca.get()) != 1 || SSL_CTX_add_client_CA(ctx, ca.get()) != 1) {
        return ConfigError("the client CA is not usable");
      }
    }
    ERR_clear_error();
    if (count == 0) return ConfigError("the client CA is not PEM");
    // A client may come without a certificate: others show a token.
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, nullptr);
  }
  return std::shared_ptr<TlsContext>(new TlsContext(std::move(impl)));
}

struct TlsEngine::Impl {
  std::unique_ptr<SSL, Deleter<SSL_free>> ssl;
  BIO* in = nullptr;     // owned by ssl
  BIO* out = nullptr;    // owned by ssl
  std::size_t sent = 0;  // of what is in `out`

  Step StepOf(int result) const {
    switch (SSL_get_error(ssl.get(), result)) {
      case SSL_ERROR_NONE:
        return Step::kOk;
      case SSL_ERROR_WANT_READ:
        return Step::kMore;
      case SSL_ERROR_ZERO_RETURN:
        return Step::kEnd;
      default:
        return Step::kFailed;
    }
  }
};

TlsEngine::TlsEngine(const TlsContext& context) : impl_(std::make_unique<Impl>()) {
  impl_->ssl.reset(SSL_new(context.impl_->ctx.get()));
  impl_->in = BIO_new(BIO_s_mem());
  impl_->out = BIO_new(BIO_s_mem());
  // An empty input means "later", not "end".
  BIO_set_mem_eof_return(impl_->in, -1);
  SSL_set_bio(impl_->ssl.get(), impl_->in, impl_->out);
  SSL_set_accept_state(impl_->ssl.get());
}

TlsEngine::~TlsEngine() = default;

void TlsEngine::Feed(std::string_view ciphertext) { BIO_write(impl_->in, ciphertext.data(), static_cast<int>(ciphertext.size())); }

TlsEngine::Step TlsEngine::Handshake() {
  ERR_clear_error();
  return impl_->StepOf(SSL_do_handshake(impl_->ssl.get()));
}

TlsEngine::Step TlsEngine::Read(char* buffer, std::size_t size, std::size_t& got) {
  ERR_clear_error();
  got = 0;
  const Step step = impl_->StepOf(SSL_read_ex(impl_->ssl.get(), buffer, size, &got));
  if (step == Step::kMore && BIO_pending(impl_->in) == 0) GiveBack(impl_->in);
  return step;
}

bool TlsEngine::Write(std::string_view plaintext) {
  if (plaintext.empty()) return true;
  ERR_clear_error();
  std::size_t written = 0;
  return SSL_write_ex(impl_->ssl.get(), plaintext.data(), plaintext.size(), &written) == 1 && written == plaintext.size();
}

void TlsEngine::Shutdown() {
  ERR_clear_error();
  if (SSL_is_init_finished(impl_->ssl.get()) == 1) SSL_shutdown(impl_->ssl.get());
  ERR_clear_error();
}

std::string_view TlsEngine::pending() const {
  char* data = nullptr;
  const long size = BIO_get_mem_data(impl_->out, &data);
  if (size <= 0) return {};
  return std::string_view(data, static_cast<std::size_t>(size)).substr(impl_->sent);
}

void TlsEngine::Sent(std::size_t size) {
  impl_->sent += size;
  if (!pending().empty()) return;
  (void)BIO_reset(impl_->out);
  impl_->sent = 0;
  GiveBack(impl_->out);
}

std::size_t TlsEngine::held_bytes() const { return CapacityOf(impl_->in) + CapacityOf(impl_->out); }

bool TlsEngine::speaks_http2() const {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(impl_->ssl.get(), &name, &size);
  return size == 2 && name[0] == 'h' && name[1] == '2';
}

std::optional<ClientCertificate> TlsEngine::client_certificate() const {
  const Certificate certificate(SSL_get1_peer_certificate(impl_->ssl.get()));
  if (certificate == nullptr || SSL_get_verify_result(impl_->ssl.get()) != X509_V_OK) return std::nullopt;
  ClientCertificate client;
  const X509_NAME* subject = X509_get_subject_name(certificate.get());
  for (int i = 0; i < X509_NAME_entry_count(subject); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(subject, i);
    const int nid = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    if (nid == NID_commonName) client.common_name = EntryText(entry);
    if (nid == NID_organizationName) client.organizations.push_back(EntryText(entry));
  }
  return client;
}

}  // namespace kube::serve
