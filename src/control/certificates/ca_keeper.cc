#include "control/certificates/ca_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace kube::internal {

void TrustLog::Saw(const std::vector<std::string>& certificates, Clock::WallTime now) {
  std::map<std::string, Clock::WallTime> since;
  for (const std::string& certificate : certificates) {
    const auto known = since_.find(certificate);
    since[certificate] = known == since_.end() ? now : std::min(known->second, now);  // the clock may have been set back
  }
  since_ = std::move(since);
}

std::optional<Clock::WallTime> TrustLog::Since(const std::string& certificate) const {
  const auto known = since_.find(certificate);
  return known == since_.end() ? std::nullopt : std::optional(known->second);
}

std::optional<Clock::WallTime> TrustLog::SinceAll(const std::vector<std::string>& certificates) const {
  std::optional<Clock::WallTime> out;
  for (const std::string& certificate : certificates) {
    const std::optional<Clock::WallTime> since = Since(certificate);
    if (!since) return std::nullopt;
    if (!out || *since > *out) out = since;
  }
  return out;
}

void CaKeeper::Saw(const std::optional<StoredCa>& secret, Clock::WallTime now) {
  seen_ = true;
  if (secret && stored_ && secret->json == stored_->json && problem_.empty()) {
    stored_ = secret;
    return;
  }
  stored_ = secret;
  older_.reset();
  problem_.clear();
  if (!secret) {
    unusable_since_.reset();
    if (held_) problem_ = "it was deleted";
    return;
  }
  Result<CaState> state = CaState::Parse(secret->json);
  if (!state) {
    problem_ = state.error().message();
    if (!unusable_since_ || now < *unusable_since_) unusable_since_ = now;
    return;
  }
  unusable_since_.reset();
  if (held_ && state->revision < held_->revision) {
    problem_ = fmt::format("it was reset to revision {} from {}", state->revision, held_->revision);
    older_ = *std::move(state);
    return;
  }
  held_ = *std::move(state);
}

bool CaKeeper::Keep(const std::string& trusted, Clock::WallTime now, CaState& state) const {
  const Clock::WallTime last_use = now + std::chrono::duration_cast<Clock::WallTime::duration>(times_.leaf_lifetime + times_.clock_skew);
  bool kept = false;
  std::string known = state.Bundle();
  for (std::string& certificate : serve::SplitCertificates(trusted)) {
    const Result<serve::CertificateInfo> info = serve::ReadCertificate(certificate);
    if (!info || !info->is_ca || info->not_after <= now || known.find(certificate) != std::string::npos) continue;
    if (certificate.size() > CaState::kMostCertificate) continue;
    if (state.retired.size() == CaState::kMostRetired) break;
    known += certificate;
    state.retired.push_back({std::move(certificate), std::min(last_use, info->not_after)});
    kept = true;
  }
  return kept;
}

// What is held, and trust in what others may have issued by the older state meanwhile.
CaState CaKeeper::PutBack() const {
  CaState state = *held_;
  state.damaged = false;
  state.revision = state.NextRevision();
  if (!older_) return state;
  const std::string trusted = state.Bundle();
  // It is as long in use as a replica that knows it needs for its next leaf; the next step of a rotation shortens what is too long.
  const auto trust = [&](const std::string& certificate) {
    if (trusted.find(certificate) == std::string::npos && state.retired.size() < CaState::kMostRetired)
      state.retired.push_back({certificate, state.current.info.not_after});
  };
  trust(older_->current.pair.certificate_pem);
  for (const RetiredCa& ca : older_->retired) trust(ca.certificate);
  return state;
}

Result<CaKeeper::Decision> CaKeeper::Next(const Situation& situation, Clock::WallTime now) {
  Decision out;
  if (!seen_) return out;
  const auto write = [&](const CaState& state, std::string what, bool repairs) {
    out.write = Write{.json = state.ToJson(), .what = std::move(what), .repairs = repairs};
    if (stored_) out.write->replaces = stored_->resource_version;
    return out;
  };
  if (held_ && (!stored_ || !problem_.empty())) return write(PutBack(), "restored the CA", true);
  if (!held_) {
    if (stored_) {
      // Another replica may hold what it was.
      const Clock::WallTime due = *unusable_since_ + std::chrono::duration_cast<Clock::WallTime::duration>(times_.repair_delay);
      if (now < due) {
        out.again = due;
        return out;
      }
    }
    Result<CaState> made = CaState::Create(name_, times_, now);
    if (!made) return made.error();
    Keep(situation.trusted, now, *made);
    return write(*made, stored_ ? "replaced the CA, which was not usable" : "created the CA", stored_.has_value());
  }
  if (!started_) {
    CaState state = *held_;
    state.revision = state.NextRevision();
    state.damaged = false;
    if (Keep(situation.trusted, now, state)) return write(state, "kept trust in a CA that configurations have", true);
    started_ = true;
  }
  if (!situation.leads) return out;
  Result<CaStep> step = NextCaStep(*held_, name_, situation.injected_since, now, times_);
  if (!step) return step.error();
  if (step->write) return write(*step->write, step->why, held_->damaged);
  out.again = step->again;
  return out;
}

}  // namespace kube::internal
