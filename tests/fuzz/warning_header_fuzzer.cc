// Warning headers: whatever comes in, what comes out is clean, and is read the same when it is written again.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/transport/decorators.h"
#include "require.h"

using kube::ApiWarning;
using kube::HttpHeaders;
using kube::ParseWarnings;
using kube::fuzz::Require;

namespace {

std::string Write(const ApiWarning& warning) {
  std::string out = std::to_string(1000 + warning.code).substr(1) + " " + warning.agent + " \"";
  for (const char c : warning.text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Lines are headers of their own.
  std::string_view input(reinterpret_cast<const char*>(data), size);
  HttpHeaders headers;
  for (std::size_t at = 0; at <= input.size();) {
    const std::size_t end = input.find('\n', at) == std::string_view::npos ? input.size() : input.find('\n', at);
    headers.Add("Warning", std::string(input.substr(at, end - at)));
    at = end + 1;
  }
  const std::vector<ApiWarning> warnings = ParseWarnings(headers);
  std::string written;
  for (const ApiWarning& warning : warnings) {
    Require(warning.code >= 0 && warning.code <= 999, "a code has three digits");
    Require(!warning.agent.empty() && warning.agent.find(' ') == std::string::npos, "an agent is a word");
    for (const char c : warning.text) Require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "a text has no control characters");
    if (!written.empty()) written += ", ";
    written += Write(warning);
  }
  const std::vector<ApiWarning> again = ParseWarnings({{"Warning", written}});
  Require(again.size() == warnings.size(), "as many are read as were written");
  for (std::size_t i = 0; i < again.size(); ++i) {
    Require(again[i].code == warnings[i].code && again[i].agent == warnings[i].agent && again[i].text == warnings[i].text,
            "a warning is read as it was written");
  }
  return 0;
}
