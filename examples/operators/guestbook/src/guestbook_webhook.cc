#include "src/guestbook_webhook.h"

#include <kube/meta/validation.h>
#include <kube/webhook/webhook.h>

#include <string>

#include "api/v1/guestbook_types.h"

using webapp::v1::Guestbook;

namespace {

// [functions]
// Fills in what the user left out, before the object is checked and stored.
void SetDefaults(Guestbook& book) {
  if (book.spec.keeper.empty()) book.spec.keeper = "reception";
}

// Refuses what markers cannot express. `old` is null if the object is new. A capacity that stays as it is is not checked: the title of an
// overfull book can be changed.
kube::Admission Validate(const Guestbook* old, const Guestbook* book) {
  kube::Admission answer;
  if (old == nullptr) {
    // Entries have the name in a label. Schemas say nothing about names.
    const kube::String& name = book->metadata.name;
    if (name.size() > kube::kMaxLabelNameLength) answer.Invalid("metadata.name", name, "must be no more than 63 characters");
    return answer;
  }
  const std::int32_t entries = old->status.entries.value_or(0);
  const auto& capacity = book->spec.capacity;
  if (capacity != old->spec.capacity && capacity && *capacity < entries)
    answer.Invalid("spec.capacity", *capacity, "the book has " + std::to_string(entries) + (entries == 1 ? " entry" : " entries"));
  return answer;
}
// [end]

}  // namespace

// [spec]
kube::WebhookSpec GuestbookWebhook() {
  return kube::WebhookFor<Guestbook>("guestbooks.webapp.my.domain").Default(SetDefaults).Validate(Validate);
}
// [end]

kube::Result<void> SetupGuestbookWebhook(kube::Manager& manager) {
  return manager.Add(GuestbookWebhook());
}
