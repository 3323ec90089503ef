// Decides which workload may have a host that several request. Between namespaces a claim is a host, with everything that a wildcard
// covers, whatever the class or the path: DNS, certificates and most ingress controllers know a host only once. Within a namespace a claim
// is a host and a path. On a host that all namespaces share by the operator's template, and for rules without a host, a claim is a path and
// everything below it.
//
//   ClaimBoard board(SharedHost(settings));
//   board.Seed(owner_of_an_ingress, claim_of_it);                      // at startup: existing claims are held (seeds.h)
//   ClaimBoard::Answer answer = board.Take(Claimant::Of(workload), *plan.claim, sources);
//   if (answer.blocker) ... otherwise the workload has it now
//
// A claim is held by the workload that it was granted to, and by every Ingress and HTTPRoute in the cluster, including hand-made ones. A
// holder keeps it whatever others do; seniority decides only between workloads that both lack it.
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
  // By age; by name among equals, so that every replica finds the same winner.
  friend bool operator<(const Claimant& a, const Claimant& b);
};

// Index keys: if two claims may conflict, a key of StoredKeys(a) is in LookupKeys(b). The converse does not hold. A claim has at most
// twenty of either, of nine bytes each, whatever the host and path: tenants choose these and must not control the size of the index.
std::vector<std::string> StoredKeys(const Claim& claim, const std::optional<std::string>& shared_host);
// Index keys of one object, without duplicates: one per claim, plus a bounded number of others.
std::vector<std::string> StoredKeys(const std::vector<Claim>& claims, const std::optional<std::string>& shared_host);
std::vector<std::string> LookupKeys(const Claim& claim, const std::optional<std::string>& shared_host);
// Whether at most one of the two claims can be granted.
bool Conflict(std::string_view ns, const Claim& claim, std::string_view other_ns, const Claim& other,
              const std::optional<std::string>& shared_host);

// The evidence for a workload's claim, from the weakest to the strongest.
enum class Evidence : std::uint8_t {
  // Seeded; another namespace also has the host, and auto-expose was not the last to write it here.
  kEdited,
  // The same, but auto-expose was the last to write it, unless its field manager was forged.
  kWritten,
  kSeeded,   // held at startup, when no other namespace had the host
  kGranted,  // by this process
};

// Grants claims; see the beginning of this file.
//
// Thread safety: all functions may be called from any thread. The sources are called under the board's lock and must not call the board.
class ClaimBoard {
 public:
  // A claim of an object in the cluster.
  struct Holder {
    std::string kind{};  // Ingress, HTTPRoute
    kube::ObjectKey key{};
    std::optional<ChildOwner> owner{};  // of an object that auto-expose made
    kube::String controller{};          // UID of any controller
    Claim claim{};
  };
  // A workload that requests a claim, which the policy allows.
  struct Rival {
    Claimant who{};
    Claim claim{};
  };
  // The state of the cluster. Both functions may visit more than what conflicts, and stop when the visitor returns true. Rivals that are
  // not older than `self` may be skipped.
  struct Sources {
    std::function<void(const Claim& claim, const std::function<bool(const Holder&)>& visit)> holders{};
    std::function<void(const Claim& claim, const Claimant& self, const std::function<bool(const Rival&)>& visit)> rivals{};
  };
  struct Blocker {
    std::string what{};  // "Ingress shop/web", "Deployment shop/web"
    std::string ns{};    // its namespace
    bool wants = false;  // it lacks the claim too, and is older
    // Both had it at startup, and the evidence does not show which had it first. Neither may gain: both keep what they have until one of
    // them releases the claim.
    bool disputed = false;
    std::optional<ChildOwner> owner{};  // a workload that may be deleted while its Ingress still exists
  };
  struct Answer {
    std::optional<Blocker> blocker{};    // unset: granted
    std::optional<Blocker> contested{};  // also has the claim, but not through auto-expose
  };

  explicit ClaimBoard(std::optional<std::string> shared_host) : shared_host_(std::move(shared_host)) {}

  // Grants the claim, replacing the workload's previous one, or returns the blocker; the workload then keeps its previous claim. `gone`:
  // UIDs of workloads whose children do not count.
  Answer Take(const Claimant& self, const Claim& claim, const Sources& sources, const std::set<std::string>& gone = {});
  // Releases all claims of the workload. With a UID, only if it has that UID.
  void Release(const kube::String& kind, const kube::ObjectKey& key, const kube::String& uid = {});
  // Records an existing claim of a workload. Ignored if it was granted or seeded a claim before.
  void Seed(const ChildOwner& owner, const Claim& claim, Evidence evidence = Evidence::kSeeded);
  // Replaces kSeeded if the workload still has this claim by a seed.
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

  // For two namespaces that both had the claim at startup: the verdict for `own`, which requests `claim`, against `other`.
  Verdict Compare(std::string_view ns, const Claim& claim, const Grant& own, std::string_view other_ns, const Grant& other) const;
  // The blocker of `claim` for `self`, which has `own`. Sets `contested`, if not null, to another holder beside `self`.
  std::optional<Blocker> BlockerOf(const Claimant& self, const Claim& claim, const Grant* own, const Sources& sources,
                                   const std::set<std::string>& gone, std::optional<Blocker>* contested) const KUBE_REQUIRES(mu_);
  // An older workload that could have the claim and lacks it too.
  std::optional<Blocker> ElderOf(const Claimant& self, const Claim& claim, const Grant* own, const Sources& sources,
                                 const std::set<std::string>& gone) const KUBE_REQUIRES(mu_);
  void Put(const Id& id, Grant grant) KUBE_REQUIRES(mu_);
  void Erase(const Id& id) KUBE_REQUIRES(mu_);

  const std::optional<std::string> shared_host_;
  mutable kube::Mutex mu_;
  std::map<Id, Grant> grants_ KUBE_GUARDED_BY(mu_);
  std::map<std::string, std::set<Id>> by_key_ KUBE_GUARDED_BY(mu_);
};

// What the workload could have before a change and no longer requests: other workloads may get it now. `after` is null if it was deleted.
// Unset for a wish that the policy refused, and for any other change.
std::optional<Claim> GivenUp(const Workload& before, const Workload* after, const Settings& settings, const NamespacePolicy& of_namespace);

// The reason of a problem: the workload's Ingress or route must be neither written nor removed.
inline constexpr std::string_view kHostDisputed = "HostDisputed";

// Removes Ingress and route from the plan and adds the reason. A dispute is reported without details. Names of other namespaces' objects
// are not disclosed.
void Yield(Plan& plan, const ClaimBoard::Blocker& blocker, std::string_view ns);

}  // namespace auto_expose
