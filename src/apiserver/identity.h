// Identity: what has to stay the same across restarts so that a kubeconfig keeps working.
#pragma once

#include <cstdint>
#include <string>

#include "kube/base/result.h"
#include "kube/serve/certificate.h"

namespace kube::apiserver {

struct Identity {
  std::uint16_t port = 0;
  std::string admin_token{};
  serve::KeyPair ca{};  // empty: only plain HTTP so far
};

// From the folder; an empty one if the folder or its file does not exist. Creates the folder. Errors: kConfig for a file that other users
// can read or write, or that is none of ours.
Result<Identity> ReadIdentity(const std::string& dir);
Result<void> WriteIdentity(const std::string& dir, const Identity& identity);

}  // namespace kube::apiserver
