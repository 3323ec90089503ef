// What is left of a connection that left HTTP: bytes, carried between a blocking UpgradedStream and the I/O thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kube/base/mutex.h"
#include "serve/exchange.h"
#include "serve/session.h"

namespace kube::serve {

// The two directions of an upgraded connection. Both are bounded: reading from the socket stops while the reader is behind, and Write
// returns when the system has the bytes.
//
// Thread safety: from any thread.
class RawPipe {
 public:
  RawPipe(std::shared_ptr<Waker> waker, std::weak_ptr<ExchangeState> exchange);

  // The stream's side.
  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size);
  Result<void> Write(const Context& ctx, std::string_view bytes);
  void CloseFromStream();

  // The connection's side.
  void Deliver(std::string_view bytes);
  void DeliverEnd();
  void CloseFromConnection();
  bool wants_input() const;
  std::size_t held_bytes() const;
  bool closed_by_stream() const;
  // Appends what waits to be sent; what was taken by the call before counts as sent.
  void Take(std::string& out, std::size_t limit);

 private:
  void Wake();

  const std::shared_ptr<Waker> waker_;
  const std::weak_ptr<ExchangeState> exchange_;
  mutable Mutex mu_;
  CondVar changed_;
  std::string in_ KUBE_GUARDED_BY(mu_);
  std::size_t in_taken_ KUBE_GUARDED_BY(mu_) = 0;
  std::string out_ KUBE_GUARDED_BY(mu_);
  std::uint64_t written_ KUBE_GUARDED_BY(mu_) = 0;
  std::uint64_t taken_ KUBE_GUARDED_BY(mu_) = 0;
  std::uint64_t sent_ KUBE_GUARDED_BY(mu_) = 0;
  bool end_ KUBE_GUARDED_BY(mu_) = false;           // the client sends no more
  bool connected_ KUBE_GUARDED_BY(mu_) = true;      // the connection is there
  bool open_ KUBE_GUARDED_BY(mu_) = true;           // the stream is there
  bool input_paused_ KUBE_GUARDED_BY(mu_) = false;  // the connection stopped reading until it is woken
};

std::unique_ptr<UpgradedStream> MakeUpgradedStream(std::shared_ptr<RawPipe> pipe);

// `input`: what was read beyond the head of the request.
std::unique_ptr<Session> MakeRawSession(std::shared_ptr<RawPipe> pipe, std::shared_ptr<ExchangeState> exchange, std::string_view input);

}  // namespace kube::serve
