// Http2Session: the client side of one HTTP/2 connection, implemented with nghttp2. Bytes in, bytes out, callbacks in between; no sockets.
//
// nghttp2 handles frames, header compression, windows and stream states. Its output is moved to output() at once, so it holds no data of a
// call except bodies that wait for a window.
//
// Everything here belongs to the thread that does the I/O of the transport: one thread at a time.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"
#include "transport/request/call.h"
#include "transport/request/settings.h"

namespace kube::internal {

// The owner of the calls. Called from the session's functions, and must not call back into the session.
class CallOwner {
 public:
  virtual ~CallOwner() = default;
  // The head of a streaming response has arrived.
  virtual void HeadCame(Call& call) = 0;
  // The response is complete, or the call has failed.
  virtual void Done(Call& call, std::optional<Error> error) = 0;
  // The server did not process the call, or it can be repeated and got no response: send it again on another connection.
  virtual void SendAgain(std::shared_ptr<Call> call) = 0;
  virtual void PausedChanged(int change) = 0;
};

class Http2Session {
 public:
  Http2Session(const Settings& settings, CallOwner& owner);
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;
  // Requires: no calls are active; End ensures this.
  ~Http2Session();

  // How many more calls can be started.
  std::size_t free_streams() const;
  // The server's limit of concurrent streams.
  std::size_t limit() const;
  const std::vector<std::shared_ptr<Call>>& active() const { return active_; }
  std::size_t streaming() const { return streaming_; }
  // No new calls are accepted, because of a GOAWAY or Retire.
  bool retired() const { return retired_; }
  void Retire() { retired_ = true; }

  // Requires: free_streams() > 0.
  void Start(std::shared_ptr<Call> call);
  // Cancels a call whose response is no longer needed.
  void Cancel(Call& call);
  // The reader has consumed data, so the sender may send more.
  void Credit(Call& call);
  void Ping();

  // Returns false if the connection must be closed; after End, end() has the reason.
  bool Receive(std::string_view bytes);
  // The bytes to send. Sent() reports how many were sent.
  std::string_view output() const { return std::string_view(out_).substr(out_sent_); }
  void Sent(std::size_t bytes);
  // The session will neither send nor receive any more.
  bool over() const { return over_; }
  // Ends all calls. Without a cause, uses the session's own.
  void End(const std::optional<Error>& cause);

 private:
  static Http2Session& Self(void* self) { return *static_cast<Http2Session*>(self); }
  static const nghttp2_session_callbacks* Callbacks();
  Call* Find(std::int32_t id) const { return static_cast<Call*>(nghttp2_session_get_stream_user_data(session_, id)); }

  void OnBeginHeaders(const nghttp2_frame& frame);
  int OnHeader(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  void OnFrame(const nghttp2_frame& frame);
  void OnHeadEnd(Call& call);
  int OnData(std::int32_t id, std::string_view bytes);
  void OnStreamClose(std::int32_t id, std::uint32_t code);
  ssize_t OfferBody(Call& call, std::size_t length, std::uint32_t* flags);
  int SendBody(const nghttp2_frame& frame, const std::uint8_t* head, std::size_t length, Call& call);

  void BuildHeaders(const HttpRequest& request, bool with_body);
  void TakeOutput();
  void Reset(Call& call, std::uint32_t code);
  std::shared_ptr<Call> Remove(Call& call);
  void SetPaused(Call& call, bool paused);
  // `refused`: the server stated that it did not process the call.
  bool MaySendAgain(const Call& call, bool refused) const;
  Error ResetError(std::uint32_t code) const;

  const Settings& settings_;
  CallOwner& owner_;
  nghttp2_session* session_ = nullptr;
  std::size_t window_ = 0;  // initial window of a stream
  std::vector<std::shared_ptr<Call>> active_;
  std::size_t streaming_ = 0;  // how many of them are streaming
  bool settled_ = false;       // the server's SETTINGS have arrived
  bool used_ = false;
  bool retired_ = false;
  bool over_ = false;
  std::optional<std::uint32_t> goaway_;  // its error code

  std::string out_;
  std::size_t out_sent_ = 0;
  bool deferred_ = false;  // bodies are waiting for room in out_

  // For the request that is being started.
  std::vector<nghttp2_nv> fields_;
  std::string names_;
  std::string path_;
  std::string length_;
};

}  // namespace kube::internal
