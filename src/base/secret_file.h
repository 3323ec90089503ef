// Files that hold secrets: kubeconfigs, keys, tokens.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "kube/base/export.h"
#include "kube/base/result.h"

namespace kube::internal {

// Writes `text` to a new file next to `path` and renames it: readers see the old file or the new one, and no other user can read the new
// one at any time. Refuses to write through a symbolic link, to anything but a regular file, and over a file of another user, who would get
// the secret. If no file can be created in the directory (it is not writable, or `path` is a mount), the file is overwritten in place,
// under the same conditions.
// Errors: kConfig, naming the path.
KUBE_EXPORT Result<void> WriteSecretFile(const std::string& path, std::string_view text, mode_t mode = 0600);

// Resolves `path`. Follows only links that this user or root can have created. Errors: kConfig, for a link of another user.
KUBE_EXPORT Result<std::string> FollowOwnLinks(const std::string& path);

}  // namespace kube::internal
