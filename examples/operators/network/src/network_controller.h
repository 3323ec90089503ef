#pragma once

#include <kube/control/manager.h>

// Adds the controller of Network objects; called by SetupProject().
kube::Result<void> SetupNetworkController(kube::Manager& manager);
