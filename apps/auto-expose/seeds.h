// What workloads hold when auto-expose starts: the hosts of the children that it made before.
//
// The children are all that survives a restart, and a tenant may be able to edit his own. So a seed whose host another namespace shows,
// too, counts for as much as the server's managedFields say for it: the one that auto-expose wrote goes before one that was edited. Age
// proves nothing. managedFields can be forged, by writing with auto-expose's field manager; then both seeds look alike, and the board
// leaves both as they are (ClaimBoard::Blocker::disputed).
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "children.h"
#include "claims.h"
#include "kube/base/context.h"
#include "kube/base/result.h"
#include "kube/client/client.h"
#include "kube/meta/gvk.h"
#include "policy.h"

namespace auto_expose {

struct Seed {
  ChildOwner owner{};
  Claim claim{};
  kube::Gvr gvr{};        // of the child
  kube::ObjectKey key{};  // of the child
};

// None for objects that auto-expose would not make: it gives them the owner, a label and the owner's name.
std::optional<Seed> SeedOf(const kube::Gvr& gvr, const kube::ObjectKey& key, const std::optional<ChildOwner>& owner,
                           const std::vector<Claim>& claims, const Settings& settings, const NamespacePolicy& of_namespace);

// Whether the policy lets the workload have its host and path. What it refuses is removed and holds nothing, so no request is spent on it.
bool MayHave(const Seed& seed, const Settings& settings, const NamespacePolicy& of_namespace);

// Whether auto-expose was the last to write the host, according to the managedFields of `child`, its JSON.
Evidence EvidenceOf(const kube::Value& child, const kube::Gvr& gvr, const Claim& claim);

// Puts the seeds on the board. `holders` are the objects of the cluster; if one of another namespace conflicts with a seed, the seed's
// evidence is read from the server: one request for each such seed. A child whose metadata cannot be parsed, or is too large, counts as
// edited. `known`: the seeds are on the board already, and only their evidence may change. Errors: those of the requests, and of `ctx`;
// then nothing was changed.
//
// VisitHolders need not visit the objects of the namespace `except`.
using VisitHolders =
    std::function<void(const Claim& claim, std::string_view except, const std::function<bool(const ClaimBoard::Holder&)>& visit)>;
kube::Result<void> PutSeeds(const kube::Context& ctx, const kube::Client& client, const std::vector<Seed>& seeds,
                            const VisitHolders& holders, ClaimBoard& board, bool known = false);

}  // namespace auto_expose
