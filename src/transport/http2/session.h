// Http2Session: the client's side of one HTTP/2 connection, by nghttp2. Bytes in, bytes out, calls on the way; no sockets.
//
// nghttp2 keeps frames, header compression, windows and the state of streams. Whatever it wants to send is taken from it at once, into
// output(), so that it holds nothing of a call's but bodies that wait for a window.
//
// Everything here belongs to who does the I/O of the transport: one thread at a time.
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

// Who the calls belong to. Called from inside of the session's functions: must not call back into it.
class CallOwner {
 public:
  virtual ~CallOwner() = default;
  // The head of a streaming answer is there.
  virtual void HeadCame(Call& call) = 0;
  // The answer is complete, or the call has failed.
  virtual void Done(Call& call, std::optional<Error> error) = 0;
  // The server has not taken it, or it can be repeated and got no answer: it is to be sent again, on another connection.
  virtual void SendAgain(std::shared_ptr<Call> call) = 0;
  virtual void PausedChanged(int change) = 0;
};

class Http2Session {
 public:
  Http2Session(const Settings& settings, CallOwner& owner);
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;
  // Requires: nothing is active. End sees to that.
  ~Http2Session();

  // How many more calls may be started.
  std::size_t free_streams() const;
  // As many as the server allows at a time.
  std::size_t limit() const;
  const std::vector<std::shared_ptr<Call>>& active() const { return active_; }
  std::size_t streaming() const { return streaming_; }
  // No new calls: the server said so, or Retire.
  bool retired() const { return retired_; }
  void Retire() { retired_ = true; }

  // Requires: free_streams() > 0.
  void Start(std::shared_ptr<Call> call);
  // Nobody wants its answer any more.
  void Cancel(Call& call);
  // Its reader has taken something: the sender may send more.
  void Credit(Call& call);
  void Ping();

  // False where the connection is to be closed: end() says why, after End.
  bool Receive(std::string_view bytes);
  // What is to be sent. Sent() tells how much of it is.
  std::string_view output() const { return std::string_view(out_).substr(out_sent_); }
  void Sent(std::size_t bytes);
  // Nothing more will be sent or received in this session.
  bool over() const { return over_; }
  // Ends all calls. Without a cause: as it is known here.
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
  // `refused`: the server said that it did nothing.
  bool MaySendAgain(const Call& call, bool refused) const;
  Error ResetError(std::uint32_t code) const;

  const Settings& settings_;
  CallOwner& owner_;
  nghttp2_session* session_ = nullptr;
  std::size_t window_ = 0;  // of a stream, at its beginning
  std::vector<std::shared_ptr<Call>> active_;
  std::size_t streaming_ = 0;  // of them
  bool settled_ = false;       // the server's SETTINGS are there
  bool used_ = false;
  bool retired_ = false;
  bool over_ = false;
  std::optional<std::uint32_t> goaway_;  // its error

  std::string out_;
  std::size_t out_sent_ = 0;
  bool deferred_ = false;  // bodies wait for room in out_

  // Of the request that is being started.
  std::vector<nghttp2_nv> fields_;
  std::string names_;
  std::string path_;
  std::string length_;
};

}  // namespace kube::internal
