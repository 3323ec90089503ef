// Bytes of a client to a session of HTTP/1.1 or HTTP/2, in pieces. Nothing may crash or hang, every exchange is closed exactly once, what
// the session holds stays within bounds, and all of it is released.
//
// The first byte: 1 for HTTP/2 (its preface is added), 3 for HTTP/2 with the small limits of a metrics port. The second: the size of the
// pieces.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/serve/http_server.h"
#include "serve/ledger.h"
#include "serve/session.h"

namespace {

using kube::serve::ExchangeState;
using kube::serve::HttpExchange;
using kube::serve::Session;

class Changes final : public kube::serve::Waker {
 public:
  void Wake(std::shared_ptr<ExchangeState> exchange) override {
    if (connected) changed.push_back(std::move(exchange));
  }
  bool connected = true;
  std::vector<std::shared_ptr<ExchangeState>> changed;
};

struct World {
  int exchanges = 0;
  int closed = 0;
  std::vector<std::shared_ptr<HttpExchange>> held;
  std::vector<std::unique_ptr<kube::serve::UpgradedStream>> streams;

  void Handle(const std::shared_ptr<HttpExchange>& exchange) {
    ++exchanges;
    exchange->OnClose([this] { ++closed; });
    const auto text = std::make_shared<const std::string>(exchange->request().body + exchange->request().path);
    switch (exchange->request().path.size() % 6) {
      case 0:
        return;
      case 1:
        return exchange->Reply({.status = 200, .headers = exchange->request().headers, .body = *text});
      case 2:
        exchange->Start(200, {{"content-type", "x"}});
        exchange->Write(text);
        exchange->Write(text);
        return exchange->Finish();
      case 3:
        exchange->Start(200, {});
        exchange->CutAfter(3);
        exchange->Write(text);
        break;
      case 4:
        if (auto stream = exchange->Upgrade({{"upgrade", "x"}}); stream.ok()) streams.push_back(*std::move(stream));
        break;
      default:
        break;
    }
    held.push_back(exchange);
  }
};

void Pump(std::unique_ptr<Session>& session, Changes& changes) {
  for (int i = 0; i < 10000; ++i) {
    std::vector<std::shared_ptr<ExchangeState>> changed;
    changed.swap(changes.changed);
    for (const auto& exchange : changed) session->Wake(*exchange);
    std::string out;
    session->Produce(out);
    if (std::unique_ptr<Session> next = session->TakeSuccessor()) session = std::move(next);
    if (out.empty() && changes.changed.empty()) return;
  }
  std::abort();  // it never comes to rest
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  World world;
  auto changes = std::make_shared<Changes>();
  auto options = std::make_shared<kube::serve::HttpServerOptions>();
  options->limits.max_body_bytes = 1000;
  options->limits.max_header_bytes = 4096;
  options->limits.max_streams = 20;
  options->limits.max_control_frames = 1000;
  if (data[0] == 3) options->limits = kube::serve::HttpLimits{};
  const auto ledger = std::make_shared<kube::serve::Ledger>(options->limits);
  std::shared_ptr<kube::serve::Account> account = ledger->Open("group", [](const std::function<void()>&) {});
  kube::serve::SessionContext context{.options = options,
                                      .handler = std::make_shared<const kube::serve::HttpServer::Handler>(
                                          [&world](const std::shared_ptr<HttpExchange>& e) { world.Handle(e); }),
                                      .waker = changes,
                                      .peer = "peer",
                                      .peer_group = "group",
                                      .client_certificate = std::nullopt,
                                      .account = account};
  const bool http2 = data[0] == 1 || data[0] == 3;
  std::unique_ptr<Session> session = http2 ? MakeHttp2Session(std::move(context)) : MakeHttp1Session(std::move(context));
  if (http2) session->Receive("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  const std::size_t piece = std::max<std::size_t>(1, data[1]) * 4;
  std::string_view input(reinterpret_cast<const char*>(data) + 2, size - 2);
  while (!input.empty()) {
    session->Receive(input.substr(0, piece));
    input.remove_prefix(std::min(piece, input.size()));
    Pump(session, *changes);
    // Headers and bodies of what is coming in, and what is held of the answers to a few streams.
    const kube::serve::HttpLimits& limits = options->limits;
    const std::size_t request = 3 * limits.max_header_bytes + limits.max_body_bytes + 4096;
    if (session->held_bytes() > (std::size_t{1} << 20) + (limits.max_streams + 1) * request) std::abort();
    if (session->ending() != Session::Ending::kNone) break;
  }
  for (const auto& exchange : world.held) exchange->Finish();
  Pump(session, *changes);
  session->OnDeadline(std::chrono::steady_clock::now() + std::chrono::hours(1));
  Pump(session, *changes);
  session->ReceiveEnd();
  Pump(session, *changes);
  // As a connection does: from here on no callback runs, and exchanges that are still held do not hold themselves.
  changes->connected = false;
  changes->changed.clear();
  session->Close();
  if (world.exchanges != world.closed) std::abort();
  session.reset();
  world.streams.clear();
  world.held.clear();
  if (ledger->usage().bytes_held != 0) std::abort();
  ledger->Close(account);
  return 0;
}
