#include "transport/request/http_head.h"

#include <algorithm>
#include <charconv>

#include "kube/transport/transport_errors.h"

namespace kube::internal {
namespace {

Error NoHttp() { return TransportError(transport_reason::kProtocol, "the server does not answer with HTTP/1.1"); }

// The next line, without its end; nothing if it has no end yet.
std::optional<std::string_view> TakeLine(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

Result<std::optional<HttpHead>> ParseHttpHead(std::string_view text) {
  constexpr std::string_view kBegin = "HTTP/1.";
  const std::size_t total = text.size();
  if (text.substr(0, kBegin.size()) != kBegin.substr(0, std::min(kBegin.size(), text.size()))) return NoHttp();
  const std::optional<std::string_view> status = TakeLine(text);
  if (!status) return std::optional<HttpHead>();
  HttpHead head;
  // "HTTP/1.1 101 Switching Protocols"
  if (status->size() < 12 || (*status)[8] != ' ') return NoHttp();
  const auto [end, error] = std::from_chars(status->data() + 9, status->data() + 12, head.code);
  if (error != std::errc() || end != status->data() + 12 || head.code < 100 || head.code > 599) return NoHttp();
  for (;;) {
    const std::optional<std::string_view> line = TakeLine(text);
    if (!line) return std::optional<HttpHead>();
    if (line->empty()) break;
    const std::size_t colon = line->find(':');
    if (colon == std::string_view::npos || colon == 0) return NoHttp();
    head.headers.Add(std::string(Trim(line->substr(0, colon))), std::string(Trim(line->substr(colon + 1))));
  }
  head.size = total - text.size();
  return std::optional<HttpHead>(std::move(head));
}

std::string DecodeChunks(std::string_view text, bool& complete) {
  std::string body;
  complete = false;
  for (;;) {
    const std::optional<std::string_view> line = TakeLine(text);
    if (!line) return body;
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(line->data(), line->data() + line->size(), size, 16);
    (void)end;
    if (error != std::errc() || size == 0) {
      complete = true;
      return body;
    }
    body.append(text.substr(0, size));
    if (text.size() <= size) return body;
    text.remove_prefix(size);
    (void)TakeLine(text);
  }
}

}  // namespace kube::internal
