#include "unreadable.h"

#include <algorithm>
#include <string_view>

#include "kube/base/log.h"
#include "kube/codec/json.h"
#include "kube/transport/http.h"

namespace auto_expose {
namespace {

using kube::Result;

constexpr std::size_t kMostOfNamespace = 8, kMost = 64;
constexpr std::size_t kMostListed = 1000;  // as many as a cache knows

// Names of Kubernetes that need no escaping in a URL. Others cannot be asked for.
bool IsPlain(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; });
}

// What the object claims; nothing if it does not exist any more. By a list: permission to watch is permission to list.
Result<std::vector<Claim>> Ask(const kube::Context& ctx, const kube::Client& client, const UnreadableHolders::Source& source,
                               const kube::UndecodableObject& object) {
  kube::HttpRequest request{.target = "/apis/" + source.gvr.group.str() + "/" + source.gvr.version.str() + "/namespaces/" +
                                      object.key.ns.str() + "/" + source.gvr.resource.str() + "?fieldSelector=metadata.name%3D" +
                                      object.key.name.str(),
                            .verb = "list"};
  request.headers.Set("Accept", "application/json");
  const Result<kube::HttpResponse> response = client.Raw(ctx, std::move(request));
  if (!response) return response.error();
  const Result<kube::Value> list = kube::ParseJson(response->body);
  if (!list) {
    kube::Logger("auto-expose")
        .Warn("The hosts of an object cannot be read: it holds none",
              {{"kind", source.kind}, {"key", object.key.ToString()}, {"err", list.error().ToString()}});
    return std::vector<Claim>{};
  }
  std::vector<Claim> claims;
  for (const kube::Value& item : (*list)["items"].list()) {
    std::vector<Claim> more = source.claims(item);
    claims.insert(claims.end(), more.begin(), more.end());
  }
  return claims;
}

}  // namespace

Result<void> UnreadableHolders::Refresh(const kube::Context& ctx, const kube::Client& client, const std::vector<Source>& sources) {
  Objects before, now;
  {
    kube::MutexLock lock(mu_);
    before = objects_;
  }
  std::map<kube::String, std::size_t> of_namespace;
  for (const Source& source : sources) {
    if (source.store.undecodable() == 0) continue;
    for (const kube::UndecodableObject& object : source.store.FirstUndecodable(kMostListed)) {
      if (now.size() == kMost) break;
      if (!IsPlain(object.key.ns.view()) || !IsPlain(object.key.name.view())) continue;
      // An earlier version is in the indexes.
      if (source.store.Get(object.key.ns.view(), object.key.name.view()) != nullptr) continue;
      if (++of_namespace[object.key.ns] > kMostOfNamespace) continue;
      const std::pair id(source.kind, object.key);
      const auto known = before.find(id);
      if (known != before.end() && known->second.uid == object.uid && known->second.resource_version == object.resource_version &&
          !object.resource_version.empty()) {
        now.insert(*known);
        continue;
      }
      Result<std::vector<Claim>> claims = Ask(ctx, client, source, object);
      if (!claims) return claims.error();
      now.emplace(id, Known{object.uid, object.resource_version, *std::move(claims)});
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
      if (HostsOverlap(one.host, claim.host)) holders.push_back({.kind = id.first, .key = id.second, .claim = one});
    }
  }
  return holders;
}

}  // namespace auto_expose
