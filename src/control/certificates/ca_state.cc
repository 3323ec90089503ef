#include "control/certificates/ca_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "kube/codec/json.h"
#include "kube/value/time.h"
#include "kube/value/value.h"

namespace kube::internal {
namespace {

using serve::CertificateAuthority;
using serve::CertificateInfo;
using WallTime = Clock::WallTime;

constexpr std::size_t kMostCommonName = 64;  // X.509's

WallTime Later(WallTime time, std::chrono::nanoseconds by) { return time + std::chrono::duration_cast<WallTime::duration>(by); }

Result<CaPair> CreateCa(const std::string& name, const WebhookCertificateTimes& times, WallTime now) {
  Result<CertificateAuthority> made = CertificateAuthority::Create((name + " webhook CA").substr(0, kMostCommonName),
                                                                   Later(now, -times.clock_skew), Later(now, times.ca_lifetime));
  if (!made) return made.error();
  Result<CertificateInfo> info = serve::ReadCertificate(made->certificate_pem());
  if (!info) return info.error();
  return CaPair{made->key_pair(), *std::move(info)};
}

Value JsonOf(const CaPair& pair) {
  return Value::Object({{"certificate", Value(pair.pair.certificate_pem)}, {"key", Value(pair.pair.key_pem)}});
}

std::optional<std::string> ReadOne(const Value& pem) {
  std::vector<std::string> certificates = serve::SplitCertificates(pem.string_value().view());
  if (certificates.size() != 1 || certificates[0].size() > CaState::kMostCertificate) return std::nullopt;
  return std::move(certificates[0]);
}

std::optional<CaPair> ReadPair(const Value& json) {
  std::optional<std::string> certificate = ReadOne(json["certificate"]);
  if (!certificate || json["key"].string_value().size() > CaState::kMostKey) return std::nullopt;
  const Result<CertificateAuthority> ca =
      CertificateAuthority::FromPem({.certificate_pem = *certificate, .key_pem = json["key"].string_value().str()});
  Result<CertificateInfo> info = serve::ReadCertificate(*certificate);
  if (!ca || !info || !info->is_ca) return std::nullopt;
  // Keys of some algorithms cannot sign what is needed.
  if (const Result<serve::KeyPair> tried = ca->Issue({.common_name = "webhook", .server = true}); !tried) return std::nullopt;
  return CaPair{ca->key_pair(), *std::move(info)};
}

// Times that nanoseconds cannot say are cut.
WallTime WallOf(const Time& time) {
  return WallTime(std::chrono::seconds(std::clamp<std::int64_t>(time.unix_seconds(), 0, serve::kMostCertificateSeconds)));
}
Time TimeOf(WallTime time) { return Time::FromUnix(std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count()); }

}  // namespace

Result<CaState> CaState::Create(const std::string& name, const WebhookCertificateTimes& times, WallTime now) {
  Result<CaPair> made = CreateCa(name, times, now);
  if (!made) return made.error();
  CaState state;
  state.current = *std::move(made);
  return state;
}

Result<CaState> CaState::Parse(std::string_view json) {
  if (json.size() > kMostJson) return Error::Invalid(fmt::format("its state has {} bytes, the limit is {}", json.size(), kMostJson));
  const Result<Value> parsed = ParseJson(json);
  if (!parsed || !parsed->is_object()) return Error::Invalid("its state is not a JSON object");
  const Value& root = *parsed;
  std::optional<CaPair> current = ReadPair(root["current"]);
  if (!current) return Error::Invalid("its state has no usable CA: \"current\" needs a certificate of a CA and the key to it, both PEM");
  CaState state;
  state.current = *std::move(current);
  state.revision = std::max<std::int64_t>(root["revision"].int_value(), 1);
  state.damaged = root["revision"].int_value() < 1 || root["revision"].int_value() > kMostRevision;
  if (state.damaged) state.revision = 1;
  if (const Value* next = root.Find("next"); next != nullptr && !next->is_null()) {
    state.next = ReadPair(*next);
    if (state.next && state.next->info.fingerprint == state.current.info.fingerprint) state.next.reset();
    state.damaged = state.damaged || !state.next;
  }
  for (const Value& entry : root["retired"].list()) {
    std::optional<std::string> certificate = ReadOne(entry["certificate"]);
    const Result<Time> until = Time::Parse(entry["until"].string_value().view());
    if (!certificate || !until || state.retired.size() == kMostRetired) {
      state.damaged = true;
      continue;
    }
    state.retired.push_back({*std::move(certificate), WallOf(*until)});
  }
  return state;
}

std::string CaState::ToJson() const {
  Value root = Value::Object({{"version", Value(1)}, {"revision", Value(revision)}, {"current", JsonOf(current)}});
  if (next) root["next"] = JsonOf(*next);
  for (const RetiredCa& ca : retired) {
    root["retired"].MutableList().push_back(
        Value::Object({{"certificate", Value(ca.certificate)}, {"until", Value(TimeOf(ca.until).ToString())}}));
  }
  return kube::ToJson(root);
}

std::vector<std::string> CaState::Certificates() const {
  std::set<std::string> all = {current.pair.certificate_pem};
  if (next) all.insert(next->pair.certificate_pem);
  for (const RetiredCa& ca : retired) all.insert(ca.certificate);
  return {all.begin(), all.end()};
}

std::string CaState::Bundle() const {
  std::string out;
  for (const std::string& certificate : Certificates()) out += certificate;
  return out;
}

WallTime CaState::RotatesAt(const WebhookCertificateTimes& times) const { return Later(current.info.not_after, -times.ca_lifetime / 3); }

Result<CaStep> NextCaStep(const CaState& state, const std::string& name, const std::optional<WallTime>& injected_since, WallTime now,
                          const WebhookCertificateTimes& times) {
  CaStep step;
  const auto change = [&](std::string why) -> CaState& {
    step.why = std::move(why);
    step.write = state;
    step.write->revision = state.NextRevision();
    step.write->damaged = false;
    return *step.write;
  };
  const auto again = [&](WallTime when) {
    if (!step.again || when < *step.again) step.again = when;
  };
  // What can still be in use of a CA that was retired just now.
  const WallTime last_use = Later(now, times.leaf_lifetime + times.clock_skew);
  const auto over = [&](const RetiredCa& ca) { return ca.until <= now; };
  const auto too_long = [&](const RetiredCa& ca) { return ca.until > Later(last_use, times.leaf_lifetime); };  // a clock was ahead
  if (state.damaged) {
    change("dropped its unusable parts");
    return step;
  }
  if (std::any_of(state.retired.begin(), state.retired.end(), [&](const RetiredCa& ca) { return over(ca) || too_long(ca); })) {
    CaState& changed = change("dropped a retired CA");
    std::erase_if(changed.retired, over);
    for (RetiredCa& ca : changed.retired) ca.until = std::min(ca.until, last_use);
    return step;
  }
  for (const RetiredCa& ca : state.retired) again(ca.until);
  if (state.next) {
    // A CA that has expired is trusted by no API server: nothing is gained by waiting.
    const bool expired = now >= state.current.info.not_after;
    const auto waited = injected_since ? std::optional(Later(*injected_since, times.injection_wait)) : std::nullopt;
    if (expired || (waited && now >= *waited)) {
      CaState& changed = change(expired ? "promoted the next CA at once, because the current one has expired" : "promoted the next CA");
      // Also an expired one stays trusted for a while: this replica's clock may be ahead.
      if (changed.retired.size() < CaState::kMostRetired) changed.retired.push_back({state.current.pair.certificate_pem, last_use});
      changed.current = *std::exchange(changed.next, std::nullopt);
      return step;
    }
    again(state.current.info.not_after);
    if (waited) again(*waited);
    return step;
  }
  const bool is_due = now >= state.RotatesAt(times) || now < state.current.info.not_before;
  if (!is_due) {
    again(state.RotatesAt(times));
  } else if (state.retired.size() < CaState::kMostRetired || now >= state.current.info.not_after) {
    Result<CaPair> next = CreateCa(name, times, now);
    if (!next) return next.error();
    change("added the next CA").next = *std::move(next);
  }
  return step;
}

Result<WebhookLeaf> IssueLeaf(const CaState& state, const std::vector<std::string>& hosts, WallTime now,
                              const WebhookCertificateTimes& times) {
  const Result<CertificateAuthority> ca = CertificateAuthority::FromPem(state.current.pair);
  if (!ca) return ca.error();
  serve::CertificateRequest request{.common_name = "webhook", .server = true, .not_before = Later(now, -times.clock_skew)};
  for (const std::string& host : hosts) {
    const bool is_address = host.find(':') != std::string::npos || host.find_first_not_of("0123456789.") == std::string::npos;
    (is_address ? request.addresses : request.dns_names).push_back(host);
  }
  const WallTime end = std::min(Later(now, times.leaf_lifetime), state.current.info.not_after);
  request.lifetime = std::chrono::floor<std::chrono::seconds>(end - request.not_before);
  Result<serve::KeyPair> pair = ca->Issue(request);
  if (!pair) return pair.error();
  WebhookLeaf leaf{.pair = *std::move(pair), .issuer = state.current.pair.certificate_pem};
  Result<CertificateInfo> info = serve::ReadCertificate(leaf.pair.certificate_pem);
  if (!info) return info.error();
  leaf.info = *std::move(info);
  // A later one of the same CA would not be valid for longer.
  const bool ends_with_ca = leaf.info.not_after >= state.current.info.not_after;
  leaf.renew_at = ends_with_ca ? leaf.info.not_after : std::max(leaf.info.not_after - (end - now) / 3, now + (end - now) / 3);
  return leaf;
}

bool NeedsLeaf(const std::optional<WebhookLeaf>& leaf, const CaState& state, WallTime now) {
  if (!leaf || leaf->issuer != state.current.pair.certificate_pem) return true;
  if (now < leaf->info.not_before) return state.current.info.not_before <= now;  // the clock was set back
  return now >= leaf->renew_at && now < state.current.info.not_after;
}

}  // namespace kube::internal
