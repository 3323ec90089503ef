// Response bodies: how they are stored and decompressed. The reader's thread does this, not the thread of the connection.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "kube/base/error.h"
#include "kube/base/result.h"
#include "transport/request/call.h"
#include "transport/request/settings.h"

namespace kube::internal {

// Whether requests with this method can be sent twice without side effects.
bool Repeatable(const std::string& method);
// True unless the request sets its own Accept-Encoding or compression is off.
bool AsksForGzip(const Settings& settings, const HttpRequest& request);
// Called when the head has arrived: determines the form of the body.
void PrepareBody(const Settings& settings, Call& call);
// Reserves memory for the announced size.
void ReserveBody(const Settings& settings, Call& call);
// For a response that is read whole. Returns false if it exceeds the limit.
bool AppendBody(const Settings& settings, Call& call, std::string_view bytes);
Error TooLargeError(const Settings& settings);

// Decompresses gzip incrementally.
class Gunzip {
 public:
  Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;
  ~Gunzip();

  // Sets the next input; the previous one must be used up.
  void Feed(std::string_view bytes);
  // Returns some bytes; 0 if it needs more input. Errors: kProtocol, without a host.
  Result<std::size_t> Take(char* buffer, std::size_t size);
  // The stream is complete.
  bool complete() const { return complete_; }

 private:
  struct State;
  const std::unique_ptr<State> state_;
  bool complete_ = true;
};

Error NotCompressedError(const Settings& settings);
// Decompresses a whole body.
Result<std::string> GunzipAll(const Settings& settings, std::string_view bytes);

}  // namespace kube::internal
