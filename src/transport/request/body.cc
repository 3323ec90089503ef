#include "transport/request/body.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <new>
#include <utility>

#include "kube/transport/transport_errors.h"

namespace kube::internal {
namespace {

constexpr std::size_t kMostReserved = std::size_t{1} << 30;
constexpr std::size_t kLarge = std::size_t{8} << 20;

// Half the time of taking a list of many megabytes is the kernel's, for memory that is touched the first time, and each move to a larger
// place touches it all again. Room that is not used costs nothing, so large bodies get much of it.
void MakeRoom(std::string& body, std::size_t more, std::size_t limit) {
  if (body.capacity() - body.size() >= more) return;
  const std::size_t needed = body.size() + more;
  const std::size_t factor = body.size() < kLarge ? 2 : 16;
  try {
    body.reserve(std::max(needed, std::min({body.capacity() * factor, limit, kMostReserved})));
  } catch (const std::bad_alloc&) {
    body.reserve(needed);
  }
}

}  // namespace

bool Repeatable(const std::string& method) { return method == "GET" || method == "HEAD" || method == "OPTIONS"; }

bool AsksForGzip(const Settings& settings, const HttpRequest& request) {
  return !settings.options.disable_compression && !request.headers.Has("Accept-Encoding");
}

void ReserveBody(const Settings& settings, Call& call) {
  const std::string_view announced = call.response.headers.Get("content-length");
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(announced.data(), announced.data() + announced.size(), bytes);
  (void)end;
  if (error == std::errc()) MakeRoom(call.response.body, std::min({bytes, settings.options.max_response, kMostReserved}), 0);
}

void PrepareBody(const Settings& settings, Call& call) {
  HttpHeaders& headers = call.response.headers;
  if (!call.request.streaming && call.request.method != "HEAD") ReserveBody(settings, call);
  const std::string_view encoding = headers.Get("content-encoding");
  if ((encoding != "gzip" && encoding != "x-gzip") || !AsksForGzip(settings, call.request)) return;
  // As it is handed on, it is neither compressed nor that long.
  call.gzip = true;
  headers.Remove("content-encoding");
  headers.Remove("content-length");
}

bool AppendBody(const Settings& settings, Call& call, std::string_view bytes) {
  std::string& body = call.response.body;
  const std::size_t limit = settings.options.max_response;
  if (bytes.size() > limit - body.size()) return false;
  MakeRoom(body, bytes.size(), limit);
  body.append(bytes);
  return true;
}

Error TooLargeError(const Settings& settings) {
  return TransportError(transport_reason::kTooLarge,
                        fmt::format("the answer of {} is larger than {} bytes: ask for less at once, as by limit",
                                    settings.endpoint.HostPort(), settings.options.max_response));
}

Error NotCompressedError(const Settings& settings) {
  return TransportError(transport_reason::kProtocol,
                        fmt::format("the answer of {} is not compressed as its header says", settings.endpoint.HostPort()));
}

struct Gunzip::State {
  z_stream z{};
  bool good = false;
  bool between = true;  // members of the file
};

Gunzip::Gunzip() : state_(std::make_unique<State>()) { state_->good = inflateInit2(&state_->z, 15 + 16) == Z_OK; }

Gunzip::~Gunzip() { (void)inflateEnd(&state_->z); }

void Gunzip::Feed(std::string_view bytes) {
  state_->z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  state_->z.avail_in = static_cast<uInt>(bytes.size());
}

Result<std::size_t> Gunzip::Take(char* buffer, std::size_t size) {
  State& state = *state_;
  z_stream& z = state.z;
  z.next_out = reinterpret_cast<Bytef*>(buffer);
  z.avail_out = static_cast<uInt>(std::min<std::size_t>(size, 1U << 30U));
  const uInt room = z.avail_out;
  while (z.avail_out == room && state.good) {
    if (state.between && z.avail_in == 0) break;
    state.between = false;
    const int result = inflate(&z, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      state.between = true;
      state.good = inflateReset(&z) == Z_OK;
    } else if (result == Z_BUF_ERROR || (result == Z_OK && z.avail_in == 0 && z.avail_out == room)) {
      break;  // it needs more
    } else if (result != Z_OK) {
      state.good = false;
    }
  }
  complete_ = state.between;
  const std::size_t made = room - z.avail_out;
  if (made == 0 && !state.good) return TransportError(transport_reason::kProtocol, "this is not gzip");
  return made;
}

Result<std::string> GunzipAll(const Settings& settings, std::string_view bytes) {
  Gunzip gunzip;
  std::string text;
  const std::size_t limit = settings.options.max_response;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, std::size_t{1} << 30);
    bytes.remove_prefix(part.size());
    gunzip.Feed(part);
    for (;;) {
      char buffer[32 * 1024];
      const Result<std::size_t> got = gunzip.Take(buffer, sizeof buffer);
      if (!got) return NotCompressedError(settings);
      if (*got == 0) break;
      if (*got > limit - text.size()) return TooLargeError(settings);
      MakeRoom(text, *got, limit);
      text.append(buffer, *got);
    }
  }
  if (!gunzip.complete()) return NotCompressedError(settings);
  return text;
}

}  // namespace kube::internal
