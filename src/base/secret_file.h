// Files that hold secrets: kubeconfigs, keys, tokens.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "kube/base/export.h"
#include "kube/base/result.h"

namespace kube::internal {

// Writes `text` to a new file beside `path`, which then takes its place: readers see the old one or the new one, and nobody else can read
// the new one at any time. Refuses to write through a symbolic link, into anything but a regular file, and over a file that another user
// owns: whoever put it there would get the secret. If the folder takes no new file (it is not writable, or `path` is a mount), the file is
// overwritten in place, under the same conditions.
// Errors: kConfig, naming the path.
KUBE_EXPORT Result<void> WriteSecretFile(const std::string& path, std::string_view text, mode_t mode = 0600);

// The file that `path` leads to. Links are followed if only this user or root can have made them. Errors: kConfig, for a link of another
// user.
KUBE_EXPORT Result<std::string> FollowOwnLinks(const std::string& path);

}  // namespace kube::internal
