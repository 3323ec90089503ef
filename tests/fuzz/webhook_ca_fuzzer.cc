// The CA of webhooks as a Secret holds it, which anyone who may write the Secret can change: never a crash, no key in a message, and what
// is taken can be written, read again and used.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "control/certificates/ca_keeper.h"
#include "control/certificates/ca_state.h"
#include "kube/base/fake_clock.h"
#include "require.h"

using kube::fuzz::Require;
using kube::internal::CaKeeper;
using kube::internal::CaState;
using kube::internal::CaStep;

namespace {

// Mutation never finds a key that belongs to a certificate: @CERT1@ and @KEY1@, @CERT2@ and @KEY2@ stand for those of two CAs.
std::string Filled(std::string text) {
  const auto quoted = [](const std::string& pem) {
    std::string out;
    for (const char c : pem) out += c == '\n' ? std::string("\\n") : std::string(1, c);
    return out;
  };
  static const std::vector<std::pair<std::string, std::string>> all = [&] {
    std::vector<std::pair<std::string, std::string>> made;
    for (const char* const number : {"1@", "2@"}) {
      const CaState ca = CaState::Create("fuzz", {}, kube::FakeClock().WallNow()).value();
      made.emplace_back(std::string("@CERT") + number, quoted(ca.current.pair.certificate_pem));
      made.emplace_back(std::string("@KEY") + number, quoted(ca.current.pair.key_pem));
    }
    return made;
  }();
  for (const auto& [name, pem] : all) {
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos && text.size() < (std::size_t{1} << 20); at += pem.size())
      text.replace(at, name.size(), pem);
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input = Filled(std::string(reinterpret_cast<const char*>(data), size));
  const kube::Clock::WallTime now = kube::FakeClock().WallNow();
  constexpr kube::WebhookCertificateTimes times;
  const kube::Result<CaState> state = CaState::Parse(input);
  CaKeeper keeper("fuzz", times);
  keeper.Saw(kube::internal::StoredCa{input, "1"}, now);
  const auto decision = keeper.Next({.leads = true, .trusted = input}, now);
  Require(decision.ok(), "the keeper decides");
  if (!state) {
    Require(!keeper.held() && !decision->write, "what is not usable is not replaced at once");
    return 0;
  }
  const kube::Result<CaState> again = CaState::Parse(state->ToJson());
  Require(again && again->ToJson() == state->ToJson(), "what was read is the same when it is written and read again");
  Require(!again->damaged, "what is written is whole");
  Require(!state->Bundle().empty(), "there is a certificate");
  const kube::Result<CaStep> step = kube::internal::NextCaStep(*state, "fuzz", now, now, times);
  Require(step.ok(), "there is a next step");
  if (step->write) Require(step->write->revision == state->revision + 1, "each write has its own revision");
  if (state->current.info.not_after > now) Require(kube::internal::IssueLeaf(*state, {"a.b.svc"}, now, times).ok(), "it issues");
  return 0;
}
