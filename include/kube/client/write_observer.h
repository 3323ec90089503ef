// WriteObserver: is told of each write that the server took, whoever makes it and however deep inside of a helper.
//
//   class Printer : public WriteObserver {
//     void Wrote(const ObservedWrite& write) override { std::cout << write.gvr.resource << " " << write.key << "\n"; }
//   };
//   const Context observed = ObserveWrites(ctx, std::make_shared<Printer>());
//   client.Create(observed, pod);                                         // prints pods default/web
//
// What is observed is a context, not a client: all that is done with it and with contexts made from it, by any client, on any thread.
// That is how a controller knows what a reconciler has written (kube/control/cached_client.h).
//
// Not told: dry runs, writes that failed or whose answer was lost, requests of Client::Raw, subresources that answer with something else
// than the object (bindings, tokens).
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

// Lives as long as the call.
struct ObservedWrite {
  enum class Effect : std::uint8_t {
    kStored,    // the object is as `resource_version` says
    kDeleting,  // its deletion was asked for: it is gone, or has a deletionTimestamp
    kGone,      // it is not there any more: a deletion without finalizers and grace, or the last finalizer was taken off
  };
  Effect effect = Effect::kStored;
  const Gvr& gvr;
  const ObjectKey& key;
  String uid{};                         // empty: the server did not say
  String resource_version{};            // of the answer; empty where it had none, as after most deletions
  std::optional<Map<String>> labels{};  // as stored, where the answer says so
  // Who sent it: contexts may be used with clients of several servers.
  const ClientCore& client;
  // The request, as RBAC names it: "create", "update", "patch" (applies, too), "delete", "deletecollection".
  std::string_view verb{};
  std::string_view subresource{};  // empty: the object itself
  std::string_view kind{};         // empty: not known
};

// Thread safety: called on the threads that write, before the verb returns; also from several at once. Must be quick and not throw.
class KUBE_EXPORT WriteObserver {
 public:
  virtual ~WriteObserver();
  virtual void Wrote(const ObservedWrite& write) = 0;
};

// A child of `ctx` whose writes are told to `observer`, and to those who observe `ctx`.
KUBE_EXPORT Context ObserveWrites(const Context& ctx, std::shared_ptr<WriteObserver> observer);

}  // namespace kube
