#pragma once

#include <kube/control/manager.h>

// Adds the controller of Deployment objects; called by SetupProject().
kube::Result<void> SetupDeploymentController(kube::Manager& manager);
