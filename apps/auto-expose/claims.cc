#include "claims.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "kube/queue/work_queue.h"

namespace auto_expose {
namespace {

// Deeper paths share the key of their first segments, so that a path of a million segments does not get a million keys.
constexpr std::size_t kMaxSegments = 8, kMaxKeyPath = 512;
constexpr std::size_t kMaxHost = 253;
// The same for domains with the same last labels.
constexpr std::size_t kMaxLabels = 8;
// Keys of one object that only say what its claims are below. An object with more of them gets a key that every such lookup finds.
constexpr std::size_t kMaxBelow = 64;

bool IsShared(std::string_view host, const std::optional<std::string>& shared_host) {
  return host.empty() || (shared_host && host == *shared_host);
}

// Without a trailing slash; empty for the root.
std::string_view NormalPath(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

bool IsAtOrBelow(std::string_view path, std::string_view parent) {
  return path == parent || (path.starts_with(parent) && path.substr(parent.size()).starts_with('/'));
}

std::string_view KeyPath(std::string_view path) {
  path = NormalPath(path.substr(0, kMaxKeyPath));
  std::size_t at = 0;
  for (std::size_t i = 0; i < kMaxSegments && at != std::string_view::npos; ++i) at = path.find('/', at + 1);
  return path.substr(0, at);
}

// Calls f with "c" and "b.c" for "a.b.c", and for "*.b.c" too; at most with the last kMaxLabels labels.
template <typename F>
void EachParent(std::string_view host, F f) {
  std::size_t dot = host.size();
  for (std::size_t i = 0; i < kMaxLabels && dot > 0; ++i) {
    dot = host.rfind('.', dot - 1);
    if (dot == std::string_view::npos) return;
    f(host.substr(dot + 1));
  }
}
// The domain, or the longest parent that EachParent yields for names below it.
std::string_view KeyDomain(std::string_view domain) {
  std::size_t dot = domain.size();
  for (std::size_t i = 0; i < kMaxLabels; ++i) {
    dot = dot == 0 ? std::string_view::npos : domain.rfind('.', dot - 1);
    if (dot == std::string_view::npos) return domain;
  }
  return domain.substr(dot + 1);
}
// Calls f with "/a/b" and "/a" for "/a/b/c".
template <typename F>
void EachAncestor(std::string_view path, F f) {
  for (std::size_t slash = path.rfind('/'); slash != std::string_view::npos && slash > 0; slash = path.rfind('/', slash - 1)) {
    f(path.substr(0, slash));
  }
}

// Nine bytes for any host and path. Different claims may have equal keys, so matches must be compared.
std::string Key(char kind, std::string_view host, std::string_view path = {}) {
  std::string text(1, kind);
  text.append(host);
  if (kind == '|' || kind == '^') text.append("|").append(path);
  std::string key(1, kind);
  for (std::uint64_t hash = kube::WorkHash<std::string_view>{}(text); key.size() < 9; hash >>= 8)
    key.push_back(static_cast<char>(hash & 255U));
  return key;
}
// Stands for all keys of this kind.
std::string AnyKey(char kind) { return std::string(1, kind); }

}  // namespace

Claimant Claimant::Of(const Workload& workload) {
  return {workload.metadata.creation_timestamp,
          workload.gvk.kind,
          {workload.metadata.namespace_, workload.metadata.name},
          workload.metadata.uid};
}

std::string Claimant::ToString() const { return kind.str() + " " + key.ToString(); }

bool operator<(const Claimant& a, const Claimant& b) {
  const auto order = [](const Claimant& c) {
    return std::tuple(c.created.unix_seconds(), c.kind.view(), c.key.ns.view(), c.key.name.view(), c.uid.view());
  };
  return order(a) < order(b);
}

// '=' host or wildcard, '<' a domain that it is below, '|' host and path, '^' host and a path that it is below.
std::vector<std::string> StoredKeys(const Claim& claim, const std::optional<std::string>& shared_host) {
  std::vector<std::string> keys;
  if (claim.host.size() > kMaxHost) return keys;
  if (IsShared(claim.host, shared_host)) {
    const std::string_view path = KeyPath(claim.path);
    keys.push_back(Key('|', claim.host, path));
    EachAncestor(path, [&](std::string_view parent) { keys.push_back(Key('^', claim.host, parent)); });
  } else if (claim.host.starts_with("*.")) {
    keys.push_back(Key('=', std::string("*.").append(KeyDomain(std::string_view(claim.host).substr(2)))));
  } else {
    keys.push_back(Key('=', claim.host));
  }
  EachParent(claim.host, [&](std::string_view domain) { keys.push_back(Key('<', domain)); });
  return keys;
}

std::vector<std::string> StoredKeys(const std::vector<Claim>& claims, const std::optional<std::string>& shared_host) {
  std::set<std::string> keys, below;
  for (const Claim& claim : claims) {
    for (std::string& key : StoredKeys(claim, shared_host)) {
      const bool is_below = key.front() == '<' || key.front() == '^';
      if (!is_below) {
        keys.insert(std::move(key));
      } else if (below.size() <= kMaxBelow) {
        below.insert(std::move(key));
      }
    }
  }
  if (below.size() > kMaxBelow) below = {AnyKey('<'), AnyKey('^')};
  keys.merge(below);
  return {keys.begin(), keys.end()};
}

std::vector<std::string> LookupKeys(const Claim& claim, const std::optional<std::string>& shared_host) {
  std::vector<std::string> keys;
  if (claim.host.size() > kMaxHost) return keys;
  if (IsShared(claim.host, shared_host)) {
    const std::string_view path = KeyPath(claim.path);
    keys.push_back(Key('|', claim.host, path));
    if (!path.empty()) {
      keys.push_back(Key('^', claim.host, path));
      keys.push_back(AnyKey('^'));
    }
    EachAncestor(path, [&](std::string_view parent) { keys.push_back(Key('|', claim.host, parent)); });
  } else if (claim.host.starts_with("*.")) {
    keys.push_back(Key('<', KeyDomain(std::string_view(claim.host).substr(2))));
    keys.push_back(AnyKey('<'));
  } else {
    keys.push_back(Key('=', claim.host));
  }
  EachParent(claim.host, [&](std::string_view domain) { keys.push_back(Key('=', std::string("*.").append(domain))); });
  return keys;
}

bool Conflict(std::string_view ns, const Claim& claim, std::string_view other_ns, const Claim& other,
              const std::optional<std::string>& shared_host) {
  const std::string_view path = NormalPath(claim.path), other_path = NormalPath(other.path);
  if (ns == other_ns) return claim.host == other.host && path == other_path;
  if (!HostsOverlap(claim.host, other.host)) return false;
  if (claim.in_zone && (claim.host != other.host || (IsShared(claim.host, shared_host) && path != other_path))) return false;
  if (claim.host != other.host || !IsShared(claim.host, shared_host)) return true;
  // The root of a shared host serves requests that match nothing else: it displaces no claim except another root.
  if (path.empty() || other_path.empty()) return path == other_path;
  return IsAtOrBelow(path, other_path) || IsAtOrBelow(other_path, path);
}

ClaimBoard::Verdict ClaimBoard::Compare(std::string_view ns, const Claim& claim, const Grant& own, std::string_view other_ns,
                                        const Grant& other) const {
  if (ns == other_ns || own.evidence >= Evidence::kSeeded || other.evidence < own.evidence) return Verdict::kKeeps;
  // A host of a zone is granted despite a wildcard above it.
  if (!Conflict(other_ns, other.claim, ns, claim, shared_host_)) return Verdict::kKeeps;
  if (other.evidence > own.evidence) return Verdict::kYields;
  const bool given = claim.given == Given::kByName, other_given = other.claim.given == Given::kByName;
  if (given == other_given) return Verdict::kDisputed;
  return given ? Verdict::kKeeps : Verdict::kYields;
}

std::optional<ClaimBoard::Blocker> ClaimBoard::BlockerOf(const Claimant& self, const Claim& claim, const Grant* own, const Sources& sources,
                                                         const std::set<std::string>& gone, std::optional<Blocker>* contested) const {
  const std::string_view ns = self.key.ns.view();
  const bool has_exactly = own != nullptr && own->claim.host == claim.host && NormalPath(own->claim.path) == NormalPath(claim.path);
  // Whether `self` had the claim before the other one appeared. Against other namespaces it is enough to have the host, or a wildcard above
  // it; but a claim of theirs below that wildcard was granted despite it.
  const auto has = [&](std::string_view other_ns, const Claim& other) {
    if (other_ns == ns) return has_exactly;
    if (own == nullptr || has_exactly) return has_exactly;
    if (IsShared(claim.host, shared_host_)) {
      const std::string_view path = NormalPath(own->claim.path);
      if (own->claim.host != claim.host || path.empty() || !IsAtOrBelow(NormalPath(claim.path), path)) return false;
      return other.host != claim.host || IsAtOrBelow(path, NormalPath(other.path));
    }
    if (own->claim.host == claim.host) return true;
    const bool covers = own->claim.host.starts_with("*.") && !claim.host.starts_with("*.") && HostsOverlap(own->claim.host, claim.host);
    return covers && other.host.starts_with("*.") && other.host.size() <= own->claim.host.size();
  };

  std::optional<Blocker> disputed;
  for (const std::string& key : LookupKeys(claim, shared_host_)) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) continue;
    for (const Id& id : found->second) {
      if (id.first == self.kind && id.second == self.key) continue;
      const Grant& grant = grants_.at(id);
      const std::string_view other_ns = id.second.ns.view();
      if (gone.count(grant.uid.str()) != 0 || !Conflict(ns, claim, other_ns, grant.claim, shared_host_)) continue;
      const Verdict verdict = has(other_ns, grant.claim) ? Compare(ns, claim, *own, other_ns, grant) : Verdict::kYields;
      if (verdict == Verdict::kKeeps) continue;
      Blocker blocker{.what = id.first.str() + " " + id.second.ToString(),
                      .ns = id.second.ns.str(),
                      .disputed = verdict == Verdict::kDisputed,
                      .owner = ChildOwner{id.first, id.second, grant.uid}};
      if (!blocker.disputed) return blocker;
      disputed = std::move(blocker);
    }
  }
  std::optional<Blocker> found;
  const auto on_board = [&](const Holder& holder) {
    mu_.AssertHeld();
    return holder.owner && grants_.count({holder.owner->kind, holder.owner->key}) != 0;
  };
  sources.holders(claim, [&](const Holder& holder) {
    if ((!holder.controller.empty() && holder.controller == self.uid) || (holder.owner && gone.count(holder.owner->uid.str()) != 0))
      return false;
    // A taken child name is reported as NameConflict instead.
    if (holder.key.ns == self.key.ns && holder.key.name == ChildName(self.key.name)) return false;
    if (!Conflict(ns, claim, holder.key.ns.view(), holder.claim, shared_host_)) return false;
    Blocker blocker{.what = holder.kind + " " + holder.key.ToString(), .ns = holder.key.ns.str(), .owner = holder.owner};
    // Everything that auto-expose granted is on the board. The rest was made by hand, which cannot take from a namespace what the operator
    // gave it.
    const bool beside = holder.key.ns != self.key.ns &&
                        (claim.given == Given::kByName || (claim.given == Given::kByPattern && holder.claim.host != claim.host));
    if (!beside && !has(holder.key.ns.view(), holder.claim)) {
      found = std::move(blocker);
      return true;
    }
    // An edited Ingress proves no more than a hand-made one. Claims on the board were compared above.
    if (!beside && holder.key.ns != self.key.ns && own->evidence == Evidence::kEdited && !on_board(holder)) {
      blocker.disputed = true;
      if (!disputed) disputed = std::move(blocker);
      return false;
    }
    if (contested != nullptr && !*contested) *contested = std::move(blocker);
    return false;
  });
  return found ? found : disputed;
}

std::optional<ClaimBoard::Blocker> ClaimBoard::ElderOf(const Claimant& self, const Claim& claim, const Grant* own, const Sources& sources,
                                                       const std::set<std::string>& gone) const {
  std::optional<Blocker> found;
  sources.rivals(claim, self, [&](const Rival& rival) {
    // The callback runs within the call, under the caller's lock.
    mu_.AssertHeld();
    if ((rival.who.kind == self.kind && rival.who.key == self.key) || !(rival.who < self) || gone.count(rival.who.uid.str()) != 0) {
      return false;
    }
    if (!Conflict(self.key.ns.view(), claim, rival.who.key.ns.view(), rival.claim, shared_host_)) return false;
    // The holder of a host does not wait for another namespace that lacks it.
    if (own != nullptr && own->claim.host == claim.host && rival.who.key.ns != self.key.ns) return false;
    // A rival that has the claim was already found as a holder; one that cannot have it does not block.
    const auto granted = grants_.find({rival.who.kind, rival.who.key});
    const Grant* theirs = granted != grants_.end() && granted->second.uid == rival.who.uid ? &granted->second : nullptr;
    if (theirs != nullptr && theirs->claim == rival.claim) return false;
    if (BlockerOf(rival.who, rival.claim, theirs, sources, gone, nullptr)) return false;
    found = Blocker{.what = rival.who.ToString(),
                    .ns = rival.who.key.ns.str(),
                    .wants = true,
                    .owner = ChildOwner{rival.who.kind, rival.who.key, rival.who.uid}};
    return true;
  });
  return found;
}

ClaimBoard::Answer ClaimBoard::Take(const Claimant& self, const Claim& claim, const Sources& sources, const std::set<std::string>& gone) {
  kube::MutexLock lock(mu_);
  const Id id{self.kind, self.key};
  const auto found = grants_.find(id);
  const Grant* own = found != grants_.end() && found->second.uid == self.uid ? &found->second : nullptr;
  Answer answer;
  answer.blocker = BlockerOf(self, claim, own, sources, gone, &answer.contested);
  if (answer.blocker) return answer;
  if (own == nullptr || own->claim != claim) answer.blocker = ElderOf(self, claim, own, sources, gone);
  if (answer.blocker) return answer;
  Put(id, {self.uid, claim, Evidence::kGranted});
  return answer;
}

void ClaimBoard::Release(const kube::String& kind, const kube::ObjectKey& key, const kube::String& uid) {
  kube::MutexLock lock(mu_);
  const Id id{kind, key};
  const auto found = grants_.find(id);
  if (found != grants_.end() && (uid.empty() || found->second.uid == uid)) Erase(id);
}

void ClaimBoard::Seed(const ChildOwner& owner, const Claim& claim, Evidence evidence) {
  kube::MutexLock lock(mu_);
  const Id id{owner.kind, owner.key};
  if (grants_.count(id) == 0) Put(id, {owner.uid, claim, evidence});
}

void ClaimBoard::Weigh(const ChildOwner& owner, const Claim& claim, Evidence evidence) {
  kube::MutexLock lock(mu_);
  const auto found = grants_.find({owner.kind, owner.key});
  if (found == grants_.end() || found->second.evidence != Evidence::kSeeded) return;
  if (found->second.uid == owner.uid && found->second.claim == claim) found->second.evidence = evidence;
}

std::optional<Claim> ClaimBoard::Held(const kube::String& kind, const kube::ObjectKey& key) const {
  kube::MutexLock lock(mu_);
  const auto found = grants_.find({kind, key});
  return found == grants_.end() ? std::nullopt : std::optional(found->second.claim);
}

void ClaimBoard::Put(const Id& id, Grant grant) {
  Erase(id);
  for (const std::string& key : StoredKeys(grant.claim, shared_host_)) by_key_[key].insert(id);
  grants_.emplace(id, std::move(grant));
}

void ClaimBoard::Erase(const Id& id) {
  const auto found = grants_.find(id);
  if (found == grants_.end()) return;
  for (const std::string& key : StoredKeys(found->second.claim, shared_host_)) {
    const auto bucket = by_key_.find(key);
    if (bucket == by_key_.end()) continue;
    bucket->second.erase(id);
    if (bucket->second.empty()) by_key_.erase(bucket);
  }
  grants_.erase(found);
}

std::optional<Claim> GivenUp(const Workload& before, const Workload* after, const Settings& settings, const NamespacePolicy& of_namespace) {
  const kube::meta::v1::ObjectMeta& was = before.metadata;
  if (after != nullptr) {
    const kube::meta::v1::ObjectMeta& is = after->metadata;
    const bool same = was.uid == is.uid && was.generation == is.generation && was.generation != 0 && was.labels == is.labels &&
                      was.annotations == is.annotations && was.deletion_timestamp.IsZero() == is.deletion_timestamp.IsZero();
    if (same || !was.deletion_timestamp.IsZero()) return std::nullopt;
  }
  std::optional<Claim> had = PlanFor(before, settings, of_namespace).claim;
  if (!had || after == nullptr || was.uid != after->metadata.uid || !after->metadata.deletion_timestamp.IsZero()) return had;
  return PlanFor(*after, settings, of_namespace).claim == had ? std::nullopt : had;
}

void Yield(Plan& plan, const ClaimBoard::Blocker& blocker, std::string_view ns) {
  if (blocker.disputed) {
    plan.problems.push_back({std::string(kHostDisputed),
                             plan.url + " is also in " +
                                 (blocker.ns == ns ? blocker.what : "an Ingress or HTTPRoute of another namespace") +
                                 ", and it is unknown which had it first, so both stay unchanged. Set annotation " +
                                 std::string(kAnnotationPrefix) + "host here, or have the operator allow the host to one namespace only",
                             true});
    return;
  }
  const std::string who = blocker.ns == ns ? blocker.what : "another namespace";
  plan.problems.push_back({"HostConflict",
                           plan.url + (blocker.wants ? " is wanted by " + who + ", which is older" : " belongs to " + who) +
                               ": set annotation " + std::string(kAnnotationPrefix) + "host or " + std::string(kAnnotationPrefix) + "path",
                           true});
  plan.ingress.reset();
  plan.route.reset();
  plan.url.clear();
}

}  // namespace auto_expose
