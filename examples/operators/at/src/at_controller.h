#pragma once

#include <kube/control/manager.h>

// Adds the controller of At objects; called by SetupProject().
kube::Result<void> SetupAtController(kube::Manager& manager);
