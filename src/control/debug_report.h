// What /debug/controllers says, as JSON.
#pragma once

#include <string>
#include <vector>

#include "kube/cache/informer_status.h"
#include "kube/control/controller.h"

namespace kube::internal {

std::string DebugReport(const std::vector<ControllerStatus>& controllers, const std::vector<InformerStatus>& informers, bool leader);

}  // namespace kube::internal
