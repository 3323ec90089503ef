#pragma once

#include <kube/control/manager.h>
#include <kube/webhook/conversion.h>

// How the versions of Guestbook become one another; tests try it alone.
kube::ConversionSpec GuestbookConversion();

// Adds it; called by SetupProject().
kube::Result<void> SetupGuestbookConversion(kube::Manager& manager);
