#include "client/exit_status.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string>

#include "kube/client/status_error.h"
#include "kube/codec/json.h"
#include "kube/meta/v1.h"
#include "kube/transport/transport_errors.h"

namespace kube::internal {
namespace {

Error Bad(std::string_view what, std::string_view text) {
  constexpr std::size_t kMostText = 200;
  return Error({.kind = ErrorKind::kTransport,
                .reason = std::string(transport_reason::kProtocol),
                .message = fmt::format("the server did not say how the command ended: {}: {}", what, text.substr(0, kMostText))});
}

}  // namespace

Result<int> ParseExitStatus(std::string_view text) {
  const Result<Value> value = ParseJson(text);
  if (!value) return Bad("not JSON", text);
  // Servers leave out kind and apiVersion.
  const Result<meta::v1::Status> status = FromValue<meta::v1::Status>(*value);
  if (!status) return Bad("not a Status", text);
  if (status->status == meta::v1::kStatusSuccess) return 0;
  if (status->status != meta::v1::kStatusFailure) return Bad("neither success nor failure", text);
  if (status->reason != "NonZeroExitCode") return StatusToError(*status);
  if (!status->details) return Bad("an exit code without details", text);
  for (const meta::v1::StatusCause& cause : status->details->causes) {
    if (cause.reason != "ExitCode") continue;
    std::uint8_t code = 0;
    const std::string_view digits = cause.message.view();
    const std::from_chars_result parsed = std::from_chars(digits.data(), digits.data() + digits.size(), code);
    if (digits.empty() || parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) {
      return Bad("an exit code that is not from 0 to 255", text);
    }
    return static_cast<int>(code);
  }
  return Bad("no exit code among the causes", text);
}

}  // namespace kube::internal
