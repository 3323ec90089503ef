#include "unreadable.h"

#include <algorithm>
#include <string_view>

#include "json_list.h"
#include "kube/base/log.h"

namespace auto_expose {
namespace {

using kube::Result;

constexpr std::size_t kMostOfNamespace = 8, kMost = 64;
constexpr std::size_t kMostListed = 1000;  // as many as a cache reports

// Kubernetes names that need no escaping in a URL. Others cannot be requested.
bool IsPlain(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; });
}

}  // namespace

// With a list: permission to watch implies permission to list.
Result<UnreadableHolders::Known> UnreadableHolders::Ask(const kube::Context& ctx, const kube::Client& client, const Source& source,
                                                        const kube::UndecodableObject& object) {
  Known known{.uid = object.uid, .resource_version = object.resource_version, .gvr = source.gvr};
  const Result<kube::List<kube::Value>> items = ListJson(ctx, client, source.gvr, object.key.ns, {.name = object.key.name});
  if (!items && items.error().kind() != kube::ErrorKind::kDecode) return items.error();
  if (!items) {
    kube::Logger("auto-expose")
        .Warn("The hosts of an object cannot be read: it holds none",
              {{"kind", source.kind}, {"key", object.key.ToString()}, {"err", items.error().ToString()}});
    return known;
  }
  for (const kube::Value& item : *items) {
    const kube::Value& metadata = item["metadata"];
    known.deleting = !metadata["deletionTimestamp"].string_value().empty();
    known.owner = OwnerOf(item);
    for (const kube::Value& reference : metadata["ownerReferences"].list()) {
      if (reference["controller"].bool_value()) known.controller = reference["uid"].string_value();
    }
    known.claims = source.claims(item);
  }
  return known;
}

Result<void> UnreadableHolders::Refresh(const kube::Context& ctx, const kube::Client& client, const std::vector<Source>& sources) {
  Objects before, now;
  {
    kube::MutexLock lock(mu_);
    before = objects_;
  }
  std::map<kube::String, std::size_t> of_namespace;
  for (const Source& source : sources) {
    for (const kube::UndecodableObject& object : source.undecodable(kMostListed)) {
      if (now.size() == kMost) break;
      if (!IsPlain(object.key.ns.view()) || !IsPlain(object.key.name.view())) continue;
      // An earlier version is in the indexes.
      if (source.cached(object.key)) continue;
      if (++of_namespace[object.key.ns] > kMostOfNamespace) continue;
      const std::pair id(source.kind, object.key);
      const auto known = before.find(id);
      if (known != before.end() && known->second.uid == object.uid && known->second.resource_version == object.resource_version &&
          !object.resource_version.empty()) {
        now.insert(*known);
        continue;
      }
      Result<Known> read = Ask(ctx, client, source, object);
      if (!read) return read.error();
      now.emplace(id, *std::move(read));
    }
  }
  kube::MutexLock lock(mu_);
  objects_ = std::move(now);
  return {};
}

std::vector<ClaimBoard::Holder> UnreadableHolders::HoldersOf(const Claim& claim) const {
  std::vector<ClaimBoard::Holder> holders;
  kube::MutexLock lock(mu_);
  for (const auto& [id, known] : objects_) {
    for (const Claim& one : known.claims) {
      if (HostsOverlap(one.host, claim.host)) holders.push_back({id.first, id.second, known.owner, known.controller, one});
    }
  }
  return holders;
}

std::vector<Seed> UnreadableHolders::Seeds(const kube::Gvr& gvr, const Settings& settings) const {
  std::vector<Seed> seeds;
  kube::MutexLock lock(mu_);
  for (const auto& [id, known] : objects_) {
    if (known.gvr != gvr || known.deleting) continue;
    if (std::optional<Seed> seed = SeedOf(gvr, id.second, known.owner, known.claims, settings, {})) seeds.push_back(*std::move(seed));
  }
  return seeds;
}

}  // namespace auto_expose
