// What answers `kubectl logs`, `exec`, `attach` and `port-forward` on the embedded API server, which has no kubelets: functions of the
// test.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"

namespace kube::apiserver {

struct PodLogRequest {
  std::string ns{}, pod{}, container{};
  bool follow = false, previous = false, timestamps = false;
  std::optional<std::int64_t> tail_lines{}, since_seconds{}, limit_bytes{};
};

struct PodExecRequest {
  std::string ns{}, pod{}, container{};
  std::vector<std::string> command{};  // empty for attach
  bool tty = false, has_stdin = false, has_stdout = false, has_stderr = false;
};

// The far end of an exec or attach. Functions block; one thread per direction.
class KUBE_EXPORT PodStreams {
 public:
  virtual ~PodStreams();
  // Empty at the end of the input. Errors: the client is gone.
  virtual Result<std::string> ReadStdin() = 0;
  virtual Result<void> WriteStdout(std::string_view text) = 0;
  virtual Result<void> WriteStderr(std::string_view text) = 0;
};

// The far end of one forwarded connection.
class KUBE_EXPORT PodConnection {
 public:
  virtual ~PodConnection();
  // Empty at the end. Errors: the client is gone.
  virtual Result<std::string> Read() = 0;
  virtual Result<void> Write(std::string_view bytes) = 0;
};

// Each call runs on a thread of its own; the context ends when the client goes or the server stops. A handler that is not set answers
// 501-like: "no handler is registered".
struct PodHandlers {
  // Gives the log in pieces by calling `write`, until it returns false (the client is gone) or the log ends.
  std::function<Result<void>(const Context&, const PodLogRequest&, const std::function<bool(std::string_view)>& write)> log{};
  // Returns the exit code.
  std::function<Result<int>(const Context&, const PodExecRequest&, PodStreams&)> exec{};
  std::function<Result<int>(const Context&, const PodExecRequest&, PodStreams&)> attach{};
  // Serves one connection to a port of the pod.
  std::function<Result<void>(const Context&, const std::string& ns, const std::string& pod, int port, PodConnection&)> port_forward{};
};

}  // namespace kube::apiserver
