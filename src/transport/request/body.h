// The bodies of answers: how they are kept, and how gzip is undone. That is done by who reads, not by the thread of the connection.
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

// Requests that can be sent twice without doing anything twice.
bool Repeatable(const std::string& method);
// Unless the request asks for an encoding itself, or compression is off.
bool AsksForGzip(const Settings& settings, const HttpRequest& request);
// The head is there: finds out what the body will be.
void PrepareBody(const Settings& settings, Call& call);
// Room for as much as the head announces.
void ReserveBody(const Settings& settings, Call& call);
// Of an answer that is read whole. False where it becomes larger than is allowed.
bool AppendBody(const Settings& settings, Call& call, std::string_view bytes);
Error TooLargeError(const Settings& settings);

// Undoes gzip, bit by bit.
class Gunzip {
 public:
  Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;
  ~Gunzip();

  // What has to be undone next; the last part has to be used up.
  void Feed(std::string_view bytes);
  // Gives some bytes; 0 where it needs more. Errors: kProtocol, without a host.
  Result<std::size_t> Take(char* buffer, std::size_t size);
  // Nothing is missing.
  bool complete() const { return complete_; }

 private:
  struct State;
  const std::unique_ptr<State> state_;
  bool complete_ = true;
};

Error NotCompressedError(const Settings& settings);
// A whole body.
Result<std::string> GunzipAll(const Settings& settings, std::string_view bytes);

}  // namespace kube::internal
