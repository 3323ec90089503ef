// CaKeeper: what one replica does with the Secret of the CA. No I/O: it is given what was read, and says what to write.
//
//   keeper.Saw(secret, now);               after each read, and after a write with what the server stored
//   keeper.Next(situation, now)->write     creates, repairs, rotates; with a resource version, so that nothing is overwritten
//
// A write that fails, in whatever way, is followed by a read. Any replica creates the Secret and repairs it; only one that leads rotates.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/certificates/ca_state.h"
#include "kube/base/clock.h"
#include "kube/base/result.h"
#include "kube/control/webhooks.h"

namespace kube::internal {

// The Secret as far as it matters here.
struct StoredCa {
  std::string json{};
  std::string resource_version{};
};

// Since when API servers can have read each certificate: how long it has been in all configurations, as this replica saw it.
//
// Thread safety: none.
class TrustLog {
 public:
  // What is in every configuration now.
  void Saw(const std::vector<std::string>& certificates, Clock::WallTime now);
  std::optional<Clock::WallTime> Since(const std::string& certificate) const;
  // Since the last one of them was added.
  std::optional<Clock::WallTime> SinceAll(const std::vector<std::string>& certificates) const;

 private:
  std::map<std::string, Clock::WallTime> since_;
};

// Thread safety: none.
class CaKeeper {
 public:
  struct Write {
    std::optional<std::string> replaces{};  // the resource version; nothing: a create
    std::string json{};
    std::string what{};    // "created the CA"
    bool repairs = false;  // something was wrong
  };
  struct Decision {
    std::optional<Write> write{};
    std::optional<Clock::WallTime> again{};
  };

  CaKeeper(std::string name, WebhookCertificateTimes times) : name_(std::move(name)), times_(times) {}

  // What else a replica knows when it decides.
  struct Situation {
    bool leads = false;
    // Since when all of the bundle has been in all configurations.
    std::optional<Clock::WallTime> injected_since{};
    // The certificates that API servers trust now, as they stand in the configurations. A replica that starts keeps those that the Secret
    // does not have until no leaf of theirs can be in use: others may serve with what this one does not know.
    std::string trusted{};
  };

  // Nothing: there is no Secret.
  void Saw(const std::optional<StoredCa>& secret, Clock::WallTime now);
  // Before the first Saw: nothing to do. Errors: those of OpenSSL.
  Result<Decision> Next(const Situation& situation, Clock::WallTime now);

  // The newest usable state that was seen.
  const std::optional<CaState>& held() const { return held_; }
  // What is wrong with the Secret, for people; empty: nothing.
  const std::string& problem() const { return problem_; }
  // The Secret is what `held` says, and nothing that servers trust is missing in it: its bundle may be injected.
  bool may_inject() const { return stored_ && problem_.empty() && started_; }

 private:
  // Retires what is trusted and not in `state`. False: there is no such thing.
  bool Keep(const std::string& trusted, Clock::WallTime now, CaState& state) const;
  CaState PutBack() const;

  const std::string name_;
  const WebhookCertificateTimes times_;
  bool seen_ = false;
  bool started_ = false;  // nothing that was trusted when it started can get lost
  std::optional<StoredCa> stored_;
  std::optional<CaState> held_;
  std::optional<CaState> older_;  // what the Secret holds, if that is older than `held_`
  std::string problem_;
  std::optional<Clock::WallTime> unusable_since_;
};

}  // namespace kube::internal
