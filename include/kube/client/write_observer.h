// WriteObserver: is notified of each write that the server accepted, including writes made deep inside helpers.
//
//   class Printer : public WriteObserver {
//     void Wrote(const ObservedWrite& write) override { std::cout << write.gvr.resource << " " << write.key << "\n"; }
//   };
//   const Context observed = ObserveWrites(ctx, std::make_shared<Printer>());
//   client.Create(observed, pod);                                         // prints pods default/web
//
// A context is observed, not a client: this covers every write with that context or its descendants, by any client, on any thread.
// Controllers use this to track what a reconciler has written (kube/control/cached_client.h).
//
// Not reported: dry runs, writes that failed or whose response was lost, requests of Client::Raw, and subresources that answer with
// something other than the object (bindings, tokens).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/std_memory.h"
#include "kube/meta/gvk.h"
#include "kube/meta/object_key.h"
#include "kube/value/map.h"
#include "kube/value/string.h"

namespace kube {

class ClientCore;

// A write. Valid only during the call of WriteObserver::Wrote.
struct ObservedWrite {
  // What the write did to the object.
  enum class Effect : std::uint8_t {
    kStored,    // the object is stored at `resource_version`
    kDeleting,  // deletion was requested: the object no longer exists or has a deletionTimestamp
    kGone,      // the object no longer exists: deleted without finalizers and grace period, or its last finalizer was removed
  };
  Effect effect = Effect::kStored;
  const Gvr& gvr;
  const ObjectKey& key;
  String uid{};                         // empty: not in the response
  String resource_version{};            // from the response; empty if it had none, as after most deletions
  std::optional<Map<String>> labels{};  // as stored, if the response has them
  // The client that sent it: a context may be used with clients of several servers.
  const ClientCore& client;
  // The verb as RBAC names it: "create", "update", "patch" (also for applies), "delete", "deletecollection".
  std::string_view verb{};
  std::string_view subresource{};  // empty: the object itself
  std::string_view kind{};         // empty: unknown
};

// Receives the writes of a context.
//
// Thread safety: called on the writing threads, possibly on several at once, before the verb returns. Must be non-blocking and must not
//   throw.
class KUBE_EXPORT WriteObserver {
 public:
  virtual ~WriteObserver();
  // Called after each accepted write.
  virtual void Wrote(const ObservedWrite& write) = 0;
};

// A child of `ctx` whose writes are reported to `observer`, and to the observers of `ctx`.
KUBE_EXPORT Context ObserveWrites(const Context& ctx, std::shared_ptr<WriteObserver> observer);

}  // namespace kube
