// Input of the commands for CustomResourceDefinitions.
#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "kube/base/result.h"
#include "kube/config/load.h"
#include "kube/control/crds.h"

namespace kube::app {

// Reads a file; "-" is standard input. Errors name it.
Result<std::string> ReadInput(const std::string& file, Streams& io);

// Loads definitions from a file, a directory, standard input ("-"), or with "cluster:NAME" from the cluster that `cluster` selects.
Result<std::vector<CrdSource>> LoadCrds(const std::string& from, const LoadOptions& cluster, Streams& io);

}  // namespace kube::app
