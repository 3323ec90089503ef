#include "seeds.h"

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "json_list.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/codec/json.h"
#include "kube/queue/parallelize.h"
#include "kube/transport/transport_errors.h"

namespace auto_expose {
namespace {

using kube::Result;
using kube::Value;

// Limit on the metadata of one child. The API server accepts objects of about 1.5 MiB.
constexpr std::size_t kMaxMetadata = std::size_t{4} << 20;
constexpr int kReadsAtOnce = 8;  // concurrent reads, each of up to that size

// The list that has the hosts: a child of "f:spec" in managedFields.
std::string_view HostList(const kube::Gvr& gvr) { return gvr.resource == kHttpRoutes.resource ? "f:hostnames" : "f:rules"; }

bool IsContested(const Seed& seed, const VisitHolders& holders, const ClaimBoard& board) {
  bool contested = false;
  const std::string_view ns = seed.key.ns.view();
  holders(seed.claim, ns, [&](const ClaimBoard::Holder& holder) {
    const std::string_view other = holder.key.ns.view();
    contested = other != ns && Conflict(ns, seed.claim, other, holder.claim, board.shared_host()) &&
                Conflict(other, holder.claim, ns, seed.claim, board.shared_host());
    return contested;
  });
  return contested;
}

// Reads one child, so that its namespace cannot make the response long. A tenant may be able to edit their children: one whose metadata
// cannot be parsed or is too large counts as edited, and must not make other seeds fail.
Result<Evidence> ReadEvidence(const kube::Context& ctx, const kube::Client& client, const Seed& seed) {
  const Result<kube::List<Value>> items =
      ListJson(ctx, client, seed.gvr, seed.key.ns, {.name = seed.key.name, .metadata_only = true, .max_bytes = kMaxMetadata});
  if (!items) {
    const kube::Error& error = items.error();
    if (error.kind() != kube::ErrorKind::kDecode && !kube::IsTransportError(error, kube::transport_reason::kTooLarge)) return error;
    kube::Logger("auto-expose")
        .Warn("The managedFields of an object cannot be read: treating it as edited",
              {{"resource", seed.gvr.resource.str()}, {"key", seed.key.ToString()}, {"err", error.ToString()}});
    return Evidence::kEdited;
  }
  for (const Value& item : *items) {
    if (item["metadata"]["name"].string_value() == seed.key.name) return EvidenceOf(item, seed.gvr, seed.claim);
  }
  return Evidence::kEdited;
}

}  // namespace

std::optional<Seed> SeedOf(const kube::Gvr& gvr, const kube::ObjectKey& key, const std::optional<ChildOwner>& owner,
                           const std::vector<Claim>& claims, const Settings& settings, const NamespacePolicy& of_namespace) {
  if (!owner || claims.empty() || key.name.view() != ChildName(owner->key.name)) return std::nullopt;
  Claim claim = claims.front();
  const Policy policy(settings, key.ns, of_namespace);
  claim.in_zone = policy.InZone(claim.host, claim.path);
  claim.given = policy.GivenTo(claim.host, claim.path);
  return Seed{*owner, std::move(claim), gvr, key};
}

bool MayHave(const Seed& seed, const Settings& settings, const NamespacePolicy& of_namespace) {
  const Policy policy(settings, seed.key.ns, of_namespace);
  Workload workload;
  workload.metadata.name = seed.owner.key.name;
  workload.metadata.namespace_ = seed.owner.key.ns;
  return policy.AllowsHost(seed.claim.host, TemplateHost(workload, settings)) &&
         policy.AllowsPath(seed.claim.host, seed.claim.path, {}, TemplatePath(workload, settings, seed.claim.host));
}

Evidence EvidenceOf(const Value& child, const kube::Gvr& gvr, const Claim& claim) {
  for (const Value& entry : child["metadata"]["managedFields"].list()) {
    if (entry["manager"].string_value() != kFieldManager || !entry["subresource"].string_value().empty()) continue;
    const Value& hosts = entry["fieldsV1"]["f:spec"][HostList(gvr)];
    if (!hosts.is_object()) continue;
    // An atomic list belongs to one manager as a whole. In a set, each value does: "v:" and the value as JSON.
    if (hosts.object().empty()) return Evidence::kWritten;
    for (const auto& field : hosts.object()) {
      if (!field.key.view().starts_with("v:")) continue;
      const Result<Value> host = kube::ParseJson(field.key.view().substr(2));
      if (host && NormalHost(host->string_value()) == claim.host) return Evidence::kWritten;
    }
  }
  return Evidence::kEdited;
}

Result<void> PutSeeds(const kube::Context& ctx, const kube::Client& client, const std::vector<Seed>& seeds, const VisitHolders& holders,
                      ClaimBoard& board, bool known) {
  // Whether a seed is contested, keyed by everything that Conflict depends on: namespace, host, path, in_zone.
  std::map<std::tuple<kube::String, std::string, std::string, bool>, bool> contested;
  std::vector<Evidence> evidence(seeds.size(), Evidence::kSeeded);
  std::vector<std::size_t> to_read;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    const Seed& seed = seeds[i];
    if (Result<void> go = ctx.Check(); !go) return go;
    // Paths matter on shared hosts only.
    const bool shared = seed.claim.host.empty() || seed.claim.host == board.shared_host();
    const auto [known_to_be, is_new] =
        contested.try_emplace({seed.key.ns, seed.claim.host, shared ? seed.claim.path : std::string(), seed.claim.in_zone});
    if (is_new) known_to_be->second = IsContested(seed, holders, board);
    if (known_to_be->second) to_read.push_back(i);
  }
  // One wildcard may contest every seed, and no workload is exposed until all seeds are weighed.
  auto reading = ctx.WithCancel();
  kube::Mutex mu;
  std::optional<kube::Error> failure;
  const Result<void> done = kube::ParallelizeUntil(reading.first, kReadsAtOnce, to_read.size(), [&](std::size_t i) {
    const Result<Evidence> read = ReadEvidence(reading.first, client, seeds[to_read[i]]);
    kube::MutexLock lock(mu);
    if (read) {
      evidence[to_read[i]] = *read;
    } else if (!failure) {
      failure = read.error();
      reading.second.Cancel();
    }
  });
  if (failure) return *failure;
  if (!done) return done;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    if (known) {
      board.Weigh(seeds[i].owner, seeds[i].claim, evidence[i]);
    } else {
      board.Seed(seeds[i].owner, seeds[i].claim, evidence[i]);
    }
  }
  return {};
}

}  // namespace auto_expose
