#pragma once

#include <kube/control/manager.h>

// Adds the controller of Guestbook objects; called by SetupProject().
kube::Result<void> SetupGuestbookController(kube::Manager& manager);
