#include "src/guestbook_controller.h"

#include <kube/base/log.h>
#include <kube/control/controller.h>
#include <kube/control/status.h>

#include <string>
#include <vector>

#include "api/v1/guestbook_types.h"

using webapp::v1::Guestbook;

namespace {

const kube::Logger kLog("guestbook");

// The label of an entry, whose value is the name of its book. Metadata says enough: the controller watches and caches nothing else of
// entries.
const std::string kBook = "webapp.my.domain/guestbook";
const kube::Gvr kEntries{"", "v1", "configmaps"};

std::vector<kube::ObjectKey> BookOf(const kube::meta::v1::PartialObjectMetadata& entry) {
  return {{entry.metadata.namespace_, entry.metadata.labels.Get(kBook)}};
}

// [reconcile]
// Called with the key of each Guestbook that is created, changes or is deleted, or whose entries do. An error is logged, and the call
// repeated with backoff.
kube::Result<kube::Action> Reconcile(const kube::Context& ctx, const kube::CachedClient& cached, const kube::Request& request) {
  kLog.Info("Reconciling", {{"object", request.key.ToString()}});
  const auto found = cached.Get<Guestbook>(ctx, request.key);
  if (!found) {
    // Deleted since its key was queued: another try would not find it either.
    if (kube::IsNotFound(found.error())) return kube::Action::Done();
    return found.error();
  }
  const Guestbook& book = **found;

  const std::string mine = kBook + "=" + book.metadata.name.str();
  const auto entries = cached.Metadata(kEntries).List(ctx, {.ns = book.metadata.namespace_.str(), .label_selector = mine});
  if (!entries) return entries.error();
  const auto count = static_cast<std::int32_t>(entries->size());
  const bool full = book.spec.capacity && count >= *book.spec.capacity;

  kube::StatusWriter<Guestbook> status(cached, book);
  status->entries = count;
  status.SetCondition({.type = "Ready",
                       .status = full ? "False" : "True",
                       .reason = full ? "Full" : "Open",
                       .message = full ? "there is no room for another entry" : "guests may sign"});
  if (kube::Result<bool> written = status.Write(ctx); !written) return written.error();
  return kube::Action::Done();
}
// [end]

}  // namespace

kube::Result<void> SetupGuestbookController(kube::Manager& manager) {
  const auto reconcile = [cached = manager.cached()](const kube::Context& ctx, const kube::Request& request) {
    return Reconcile(ctx, cached, request);
  };
  kube::InformerOptions entries = manager.informers().defaults();
  entries.label_selector = kBook;
  return manager.Add(kube::ControllerFor<Guestbook>("guestbook")
                         .WatchesMetadata(kEntries, BookOf, {.informer = entries})
                         .MayWriteStatus()
                         .Reconcile(reconcile));
}
