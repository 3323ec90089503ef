#include "src/guestbook_conversion.h"

#include "api/v1/guestbook_types.h"
#include "api/v2/guestbook_types.h"

// v1 is the hub: all other versions convert to and from it. Fields of the same name and type are copied before these functions are
// called, which have only the differences; what a version lacks is kept in an annotation.
kube::ConversionSpec GuestbookConversion() {
  kube::ConversionSpec spec = kube::Conversion<webapp::v1::Guestbook>().Spoke<webapp::v2::Guestbook>(
      [](const webapp::v2::Guestbook& from, webapp::v1::Guestbook& to) {
        if (!from.spec.keepers.empty()) to.spec.keeper = from.spec.keepers[0];
      },
      [](const webapp::v1::Guestbook& from, webapp::v2::Guestbook& to) {
        if (!from.spec.keeper.empty()) to.spec.keepers = {from.spec.keeper};
      });
  return spec;
}

kube::Result<void> SetupGuestbookConversion(kube::Manager& manager) {
  return manager.Add(GuestbookConversion());
}
