// Seeds: the claims that workloads hold when auto-expose starts, taken from the hosts of their existing children.
//
// The children are all that survives a restart, and a tenant may be able to edit their own. If another namespace also has a seed's host,
// the server's managedFields therefore weigh the seed: one that auto-expose wrote wins over one that was edited. Age proves nothing.
// managedFields can be forged by writing with auto-expose's field manager; then both seeds look alike, and the board leaves both as they
// are (ClaimBoard::Blocker::disputed).
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

// Unset for objects that auto-expose would not make: its own have the owner, a label and the owner's name.
std::optional<Seed> SeedOf(const kube::Gvr& gvr, const kube::ObjectKey& key, const std::optional<ChildOwner>& owner,
                           const std::vector<Claim>& claims, const Settings& settings, const NamespacePolicy& of_namespace);

// Whether the policy allows the workload its host and path. A refused claim is removed and holds nothing, so no request is spent on it.
bool MayHave(const Seed& seed, const Settings& settings, const NamespacePolicy& of_namespace);

// Whether auto-expose was the last to write the host, according to the managedFields of `child`, its JSON.
Evidence EvidenceOf(const kube::Value& child, const kube::Gvr& gvr, const Claim& claim);

// Puts the seeds on the board. `holders` visits the objects of the cluster. If one of another namespace conflicts with a seed, the seed's
// evidence is read from the API server, with one request per such seed. A child whose metadata cannot be parsed or is too large counts as
// edited. `known`: the seeds are already on the board, and only their evidence may change. Errors: those of the requests, and of `ctx`;
// nothing has changed then.
//
// VisitHolders need not visit the objects of the namespace `except`.
using VisitHolders =
    std::function<void(const Claim& claim, std::string_view except, const std::function<bool(const ClaimBoard::Holder&)>& visit)>;
kube::Result<void> PutSeeds(const kube::Context& ctx, const kube::Client& client, const std::vector<Seed>& seeds,
                            const VisitHolders& holders, ClaimBoard& board, bool known = false);

}  // namespace auto_expose
