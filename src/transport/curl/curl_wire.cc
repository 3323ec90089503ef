#include "transport/curl/curl_wire.h"

#include "transport/curl/options.h"

namespace kube::internal {

Wire::Outcome CurlWire::DoRead(char* buffer, std::size_t size) {
  std::size_t got = 0;
  const CURLcode code = Curl().easy_recv(easy_, buffer, size, &got);
  if (code != CURLE_OK) return Failed(code);
  return got > 0 ? Outcome{State::kDone, got} : Failed(CURLE_GOT_NOTHING);
}

Wire::Outcome CurlWire::DoWrite(std::string_view bytes) {
  std::size_t sent = 0;
  const CURLcode code = Curl().easy_send(easy_, bytes.data(), bytes.size(), &sent);
  return code == CURLE_OK ? Outcome{State::kDone, sent} : Failed(code);
}

Wire::Outcome CurlWire::Failed(CURLcode code) {
  if (code == CURLE_AGAIN) return {State::kWait, 0};
  return End(ReadFailure(easy_, code, nullptr));
}

}  // namespace kube::internal
