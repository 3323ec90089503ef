// The tag of a container image's name: what decides how often it is pulled.
#pragma once

#include <string_view>

namespace kube::apiserver {

// "nginx:1.25" has "1.25", "nginx" has "latest"; empty for one with a digest and no tag, and for text that names no image.
std::string_view ImageTag(std::string_view image);

}  // namespace kube::apiserver
