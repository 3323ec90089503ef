// The field tables of a header's structs: the text of a `.kube.cc` file, in the format of kube/value/generated_table.h.
#pragma once

#include <string>
#include <string_view>

#include "generate/model.h"
#include "generate/problems.h"

namespace kube::generate {

// `include`: how the source includes the header, "api/v1/network_types.h". Empty if the header has no structs.
std::string WriteTables(const Model& model, std::size_t file, std::string_view include, Problems& problems);

// "network_types.kube.cc" for "api/v1/network_types.h", with directories if headers have the same name: "api_v1_network_types.kube.cc".
std::string TableFileName(std::string_view header);

}  // namespace kube::generate
