// Bundles of CA certificates: whatever stands before or behind a good certificate, it is found; what is found can be read again.
#include <cstdint>
#include <string>
#include <string_view>

#include "config/pem.h"
#include "require.h"

using kube::fuzz::Require;
using kube::internal::CaBundle;
using kube::internal::ReadCaBundle;

namespace {

// A self-signed one, of an elliptic curve.
constexpr std::string_view kGood = R"(-----BEGIN CERTIFICATE-----
MIIBdTCCARugAwIBAgIUerGeNVujnYRSQlTa82HcV1P4inUwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEZnV6ejAgFw0yNjExMTgwMDUxMjVaGA8yMTI2MTAyNTAwNTEy
NVowDzENMAsGA1UEAwwEZnV6ejBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCu5
04DDDgDUFGnuuiBywkk5ddqytYVA3vwpE1n+3YtQnnu9YA6IEl4CVMIR2IMk30wG
osqI8pE4zQ8AKlhp5EajUzBRMB0GA1UdDgQWBBQiu+K0pJ8nJnT0Kyu1KfvFTbKl
xzAfBgNVHSMEGDAWgBQiu+K0pJ8nJnT0Kyu1KfvFTbKlxzAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0gAMEUCIQCbH8mq0/aA8YeiHnDNwFwj/WNYJqapi23v
cW6f54KOAQIgX/OwBxqNaYZ+BOco6KkWsCcnizaueyGVEF9WIH0M7V0=
-----END CERTIFICATE-----
)";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const CaBundle alone = ReadCaBundle(input);
  const CaBundle good = ReadCaBundle(kGood);
  Require(good.certificates.size() == 1 && good.unreadable == 0, "the good one is read");
  const CaBundle before = ReadCaBundle(input + "\n" + std::string(kGood));
  Require(!before.certificates.empty() && before.certificates.back() == good.certificates[0], "nothing hides what comes behind it");
  const CaBundle behind = ReadCaBundle(std::string(kGood) + input);
  Require(!behind.certificates.empty() && behind.certificates.front() == good.certificates[0], "nothing hides what comes before it");
  Require(behind.certificates.size() >= alone.certificates.size(), "what is found alone is found behind another one");
  for (const std::string& der : alone.certificates) Require(!der.empty(), "a certificate has bytes");
  return 0;
}
