// Reading for the commands about CustomResourceDefinitions.
#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "kube/base/result.h"
#include "kube/config/load.h"
#include "kube/control/crds.h"

namespace kube::app {

// A file; "-" is standard input. Errors name it.
Result<std::string> ReadInput(const std::string& file, Streams& io);

// Definitions of a file, a folder, standard input ("-"), or with "cluster:NAME" of the cluster that `cluster` finds.
Result<std::vector<CrdSource>> LoadCrds(const std::string& from, const LoadOptions& cluster, Streams& io);

}  // namespace kube::app
