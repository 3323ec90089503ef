// PodHandlers: functions of a test that answer `kubectl logs`, `exec`, `attach` and `port-forward` on the embedded API server, which has no
// kubelets.
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

// A request for logs.
struct PodLogRequest {
  std::string ns{}, pod{}, container{};
  bool follow = false, previous = false, timestamps = false;
  std::optional<std::int64_t> tail_lines{}, since_seconds{}, limit_bytes{};
};

// A request for exec or attach.
struct PodExecRequest {
  std::string ns{}, pod{}, container{};
  std::vector<std::string> command{};  // empty for attach
  bool tty = false, has_stdin = false, has_stdout = false, has_stderr = false;
};

// The streams of an exec or attach. Functions block; use one thread per direction.
class KUBE_EXPORT PodStreams {
 public:
  virtual ~PodStreams();
  // ReadStdin returns "" at the end of the input; WriteStdout and WriteStderr send to the client. Errors: the client has disconnected.
  virtual Result<std::string> ReadStdin() = 0;
  virtual Result<void> WriteStdout(std::string_view text) = 0;
  virtual Result<void> WriteStderr(std::string_view text) = 0;
};

// One forwarded connection.
class KUBE_EXPORT PodConnection {
 public:
  virtual ~PodConnection();
  // Read returns "" at the end; Write sends to the client. Errors: the client has disconnected.
  virtual Result<std::string> Read() = 0;
  virtual Result<void> Write(std::string_view bytes) = 0;
};

// The handlers of a test. Each call runs on its own thread; its context stops when the client disconnects or the server stops. If a handler
// is not set, the request fails with "no handler is registered", similar to a 501.
struct PodHandlers {
  // Writes the log in pieces with `write`, until that returns false (the client has disconnected) or the log ends.
  std::function<Result<void>(const Context&, const PodLogRequest&, const std::function<bool(std::string_view)>& write)> log{};
  // Returns the exit code.
  std::function<Result<int>(const Context&, const PodExecRequest&, PodStreams&)> exec{};
  std::function<Result<int>(const Context&, const PodExecRequest&, PodStreams&)> attach{};  // the same
  // Serves one connection to a port of the pod.
  std::function<Result<void>(const Context&, const std::string& ns, const std::string& pod, int port, PodConnection&)> port_forward{};
};

}  // namespace kube::apiserver
