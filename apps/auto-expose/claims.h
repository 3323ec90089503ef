// Who may have a host, when several want it. Between namespaces a claim is a host, with all that a wildcard covers, whatever the class or
// the path: DNS, certificates and most ingress controllers know a host only once. Within a namespace a claim is a host and a path. On a
// host that the operator's template makes all namespaces share, or where rules have no host, a claim is a path and all below it.
//
//   ClaimBoard board(SharedHost(settings));
//   board.Seed(owner_of_an_ingress, claim_of_it);                      // at the start: what exists is held (seeds.h)
//   ClaimBoard::Answer answer = board.Take(Claimant::Of(workload), *plan.claim, sources);
//   if (answer.blocker) ... else the workload has it now
//
// A claim is held by whom it was granted to, and by every Ingress and HTTPRoute in the cluster, whoever made it. A holder keeps it whatever
// others do; seniority decides only between workloads that both lack it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "children.h"
#include "kube/base/mutex.h"
#include "kube/meta/object_key.h"
#include "plan.h"

namespace auto_expose {

struct Claimant {
  kube::Time created{};
  kube::String kind{};
  kube::ObjectKey key{};
  kube::String uid{};

  static Claimant Of(const Workload& workload);
  // "Deployment shop/web"
  std::string ToString() const;
  // By age; among equals by name, so that everybody finds the same winner.
  friend bool operator<(const Claimant& a, const Claimant& b);
};

// Index keys: two claims that may conflict have a key of StoredKeys(a) in LookupKeys(b). The converse does not hold. A claim has at most
// twenty of either, each of nine bytes, whatever the host and path: those who choose them must not choose how much memory the index takes.
std::vector<std::string> StoredKeys(const Claim& claim, const std::optional<std::string>& shared_host);
// Index keys of one object, without duplicates: one per claim and a bounded number of others.
std::vector<std::string> StoredKeys(const std::vector<Claim>& claims, const std::optional<std::string>& shared_host);
std::vector<std::string> LookupKeys(const Claim& claim, const std::optional<std::string>& shared_host);
// Whether only one of them can be had.
bool Conflict(std::string_view ns, const Claim& claim, std::string_view other_ns, const Claim& other,
              const std::optional<std::string>& shared_host);

// What speaks for a claim that a workload has, from the weakest to the strongest.
enum class Evidence : std::uint8_t {
  kEdited,   // seeded; another namespace shows the host, too, and auto-expose was not the last to write it here
  kWritten,  // the same, and auto-expose was the last to write it, unless its field manager was forged
  kSeeded,   // held at the start, and no other namespace showed the host then
  kGranted,  // by this process
};

// Thread safety: all functions from any thread. The sources are called under the board's lock: they must not call the board.
class ClaimBoard {
 public:
  // A claim of an object in the cluster.
  struct Holder {
    std::string kind{};  // Ingress, HTTPRoute
    kube::ObjectKey key{};
    std::optional<ChildOwner> owner{};  // of an object that auto-expose made
    kube::String controller{};          // UID, of any controller
    Claim claim{};
  };
  // A workload that asks for a claim, which the policy allows.
  struct Rival {
    Claimant who{};
    Claim claim{};
  };
  // What is known of the cluster. Both may visit more than what conflicts, and end when the visitor returns true. Rivals that are not older
  // than `self` need not be visited.
  struct Sources {
    std::function<void(const Claim& claim, const std::function<bool(const Holder&)>& visit)> holders{};
    std::function<void(const Claim& claim, const Claimant& self, const std::function<bool(const Rival&)>& visit)> rivals{};
  };
  struct Blocker {
    std::string what{};  // "Ingress shop/web", "Deployment shop/web"
    std::string ns{};    // of it
    bool wants = false;  // lacks the claim, too, and is older
    // Both had it at the start, and nothing tells which of them had it first. Neither may gain: what they have stays as it is until one of
    // them releases the claim.
    bool disputed = false;
    std::optional<ChildOwner> owner{};  // a workload that may be gone without its Ingress
  };
  struct Answer {
    std::optional<Blocker> blocker{};    // none: granted
    std::optional<Blocker> contested{};  // has the claim, too, and not by auto-expose's doing
  };

  explicit ClaimBoard(std::optional<std::string> shared_host) : shared_host_(std::move(shared_host)) {}

  // Grants the claim, in the place of what the workload had, or says who is in the way. Then the workload keeps what it had.
  // `gone`: UIDs of workloads whose children do not count.
  Answer Take(const Claimant& self, const Claim& claim, const Sources& sources, const std::set<std::string>& gone = {});
  // The workload has nothing any more. With a UID only if it is that one.
  void Release(const kube::String& kind, const kube::ObjectKey& key, const kube::String& uid = {});
  // What a workload has already. Ignored if it was granted or seeded something before.
  void Seed(const ChildOwner& owner, const Claim& claim, Evidence evidence = Evidence::kSeeded);
  // Replaces kSeeded, if the workload still has this claim by a seed.
  void Weigh(const ChildOwner& owner, const Claim& claim, Evidence evidence);
  std::optional<Claim> Held(const kube::String& kind, const kube::ObjectKey& key) const;
  const std::optional<std::string>& shared_host() const { return shared_host_; }

 private:
  using Id = std::pair<kube::String, kube::ObjectKey>;  // kind, key
  struct Grant {
    kube::String uid{};
    Claim claim{};
    Evidence evidence = Evidence::kGranted;
  };
  enum class Verdict : std::uint8_t { kKeeps, kDisputed, kYields };

  // Between two namespaces that both had the claim at the start: what `own`, which asks for `claim`, has to do beside `other`.
  Verdict Compare(std::string_view ns, const Claim& claim, const Grant& own, std::string_view other_ns, const Grant& other) const;
  // What keeps `self`, who has `own`, from `claim`. With `contested`: who has it beside `self`.
  std::optional<Blocker> BlockerOf(const Claimant& self, const Claim& claim, const Grant* own, const Sources& sources,
                                   const std::set<std::string>& gone, std::optional<Blocker>* contested) const KUBE_REQUIRES(mu_);
  // An older workload that could have the claim as well, and lacks it, too.
  std::optional<Blocker> ElderOf(const Claimant& self, const Claim& claim, const Grant* own, const Sources& sources,
                                 const std::set<std::string>& gone) const KUBE_REQUIRES(mu_);
  void Put(const Id& id, Grant grant) KUBE_REQUIRES(mu_);
  void Erase(const Id& id) KUBE_REQUIRES(mu_);

  const std::optional<std::string> shared_host_;
  mutable kube::Mutex mu_;
  std::map<Id, Grant> grants_ KUBE_GUARDED_BY(mu_);
  std::map<std::string, std::set<Id>> by_key_ KUBE_GUARDED_BY(mu_);
};

// What the workload could have before a change and does not ask for any more: others may have it now. `after`: null if it was deleted.
// None for a wish that the policy refused, and for a change of anything else.
std::optional<Claim> GivenUp(const Workload& before, const Workload* after, const Settings& settings, const NamespacePolicy& of_namespace);

// The reason of a problem: the workload's Ingress or route must neither be written nor removed.
inline constexpr std::string_view kHostDisputed = "HostDisputed";

// Takes Ingress and route out of the plan, and says why; of a dispute it only says that there is one. What another namespace has is not
// named to this one's people.
void Yield(Plan& plan, const ClaimBoard::Blocker& blocker, std::string_view ns);

}  // namespace auto_expose
