#include "apiserver/pod_endpoints.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <utility>

#include "apiserver/errors.h"
#include "apiserver/object_meta.h"
#include "kube/codec/json.h"
#include "kube/serve/remote_streams.h"

namespace kube::apiserver {
namespace {

constexpr std::size_t kMaxLogBuffered = std::size_t{1} << 20;

void SendError(serve::HttpExchange& exchange, const Error& error) {
  exchange.Reply({.status = error.http_code() != 0 ? error.http_code() : 500,
                  .headers = {{"content-type", "application/json"}},
                  .body = ToJson(ToStatus(error))});
}

std::optional<std::int64_t> Number(const Query& query, std::string_view name) {
  std::string_view text = query.Get(name);
  std::int64_t out = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

std::vector<std::string> Containers(const Value& pod) {
  std::vector<std::string> out;
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"}) {
    for (const Value& container : pod["spec"][list].list()) out.push_back(container["name"].string_value().str());
  }
  return out;
}

// The container of the request, or the only one. Errors: 400, as the real server words them.
Result<std::string> PickContainer(const Value& pod, const Call& call) {
  std::string wanted(call.query.Get("container"));
  std::string name(NameOf(pod));
  std::vector<std::string> all = Containers(pod);
  if (wanted.empty()) {
    const List<Value>& containers = pod["spec"]["containers"].list();
    if (containers.size() == 1) return containers[0]["name"].string_value().str();
    std::string names;
    for (const Value& c : containers) names += (names.empty() ? "" : " ") + c["name"].string_value().str();
    return BadRequest(fmt::format("a container name must be specified for pod {}, choose one of: [{}]", name, names));
  }
  for (const std::string& container : all) {
    if (container == wanted) return wanted;
  }
  return BadRequest(fmt::format("container {} is not valid for pod {}", wanted, name));
}

}  // namespace

PodStreams::~PodStreams() = default;
PodConnection::~PodConnection() = default;

PodEndpoints::PodEndpoints(ApiCore& core) : PodEndpoints(core, Context::Background().WithCancel()) {}

PodEndpoints::PodEndpoints(ApiCore& core, std::pair<Context, CancelSource> context)
    : core_(core), context_(std::move(context.first)), cancel_(std::move(context.second)) {}

PodEndpoints::~PodEndpoints() { Stop(); }

void PodEndpoints::Stop() {
  cancel_.Cancel();
  std::list<std::shared_ptr<Session>> sessions;
  {
    MutexLock lock(mu_);
    sessions.swap(sessions_);
  }
  for (const std::shared_ptr<Session>& session : sessions) session->thread.Join();
}

void PodEndpoints::SetHandlers(PodHandlers handlers) {
  MutexLock lock(mu_);
  handlers_ = std::move(handlers);
}

PodHandlers PodEndpoints::handlers() const {
  MutexLock lock(mu_);
  return handlers_;
}

bool PodEndpoints::Handles(std::string_view subresource) const {
  return subresource == "log" || subresource == "exec" || subresource == "attach" || subresource == "portforward";
}

void PodEndpoints::Spawn(std::string name, std::function<void(const Context&)> body) {
  auto session = std::make_shared<Session>();
  std::list<std::shared_ptr<Session>> finished;
  MutexLock lock(mu_);
  for (auto it = sessions_.begin(); it != sessions_.end();) {
    auto next = std::next(it);
    if ((*it)->done) finished.splice(finished.end(), sessions_, it);
    it = next;
  }
  sessions_.push_back(session);
  Context context = context_;
  // The flag is set under the lock, so a session that is found done has nothing left to do but return.
  session->thread = Thread(std::move(name), [this, session, context, run = std::move(body)] {
    run(context);
    MutexLock done(mu_);
    session->done = true;
  });
  lock.Unlock();
  // Joined here, outside of the lock: the last one to drop a session must not be its own thread.
  for (const std::shared_ptr<Session>& old : finished) old->thread.Join();
}

void PodEndpoints::Handle(const Exchange& exchange, const Call& call) {
  Result<ObjectPtr> pod = core_.Find(*call.resource, call.ns, call.name);
  if (!pod) {
    SendError(*exchange, pod.error());
    return;
  }
  Value object = (*pod)->Parse();
  std::string container;
  if (call.subresource != "portforward") {
    Result<std::string> picked = PickContainer(object, call);
    if (!picked) {
      SendError(*exchange, picked.error());
      return;
    }
    container = *std::move(picked);
  }
  // Nothing schedules pods here, so a handler of the test answers for those without a node too.
  PodHandlers all = handlers();
  bool handled = call.subresource == "log"      ? true
                 : call.subresource == "exec"   ? all.exec != nullptr
                 : call.subresource == "attach" ? all.attach != nullptr
                                                : all.port_forward != nullptr;
  if (!handled && std::as_const(object)["spec"]["nodeName"].string_value().empty()) {
    SendError(*exchange, BadRequest(fmt::format("pod {} does not have a host assigned", call.name)));
    return;
  }
  if (call.subresource == "portforward") {
    PortForward(exchange, call);
    return;
  }
  if (call.subresource == "log") {
    Log(exchange, call, container);
  } else {
    Command(exchange, call, container);
  }
}

void PodEndpoints::Log(const Exchange& exchange, const Call& call, const std::string& container) {
  PodHandlers all = handlers();
  if (!all.log) {
    SendError(*exchange, StatusError(501, "", "this server has no kubelets: register PodHandlers::log to answer logs"));
    return;
  }
  PodLogRequest request{.ns = call.ns,
                        .pod = call.name,
                        .container = container,
                        .follow = call.query.Flag("follow"),
                        .previous = call.query.Flag("previous"),
                        .timestamps = call.query.Flag("timestamps"),
                        .tail_lines = Number(call.query, "tailLines"),
                        .since_seconds = Number(call.query, "sinceSeconds"),
                        .limit_bytes = Number(call.query, "limitBytes")};
  Spawn("kube-pod-log", [exchange, request, handler = all.log](const Context& server) {
    auto [context, cancel] = server.WithCancel();
    exchange->OnClose([source = std::make_shared<CancelSource>(std::move(cancel))] { source->Cancel(); });
    exchange->Start(200, {{"content-type", "text/plain"}});
    Result<void> done = handler(context, request, [&, &ctx = context](std::string_view text) {
      // A handler that is faster than the client waits for it.
      while (exchange->buffered_bytes() > kMaxLogBuffered && ctx.SleepFor(std::chrono::milliseconds(2))) {
      }
      return !ctx.stopped() && exchange->Write(std::make_shared<const std::string>(text));
    });
    if (!done) exchange->Write(std::make_shared<const std::string>("error: " + done.error().ToString() + "\n"));
    exchange->Finish();
  });
}

namespace {

// A RemoteSession in the words of PodHandlers.
class Streams : public PodStreams {
 public:
  Streams(Context context, serve::RemoteSession& session) : context_(std::move(context)), session_(session) {}
  Result<std::string> ReadStdin() override {
    std::string buffer(32 * 1024, '\0');
    Result<std::size_t> n = session_.ReadStdin(context_, buffer.data(), buffer.size());
    if (!n) return n.error();
    buffer.resize(*n);
    return buffer;
  }
  Result<void> WriteStdout(std::string_view text) override { return session_.WriteStdout(context_, text); }
  Result<void> WriteStderr(std::string_view text) override { return session_.WriteStderr(context_, text); }

 private:
  Context context_;
  serve::RemoteSession& session_;
};

class Connection : public PodConnection {
 public:
  Connection(Context context, serve::ForwardedConnection& connection) : context_(std::move(context)), connection_(connection) {}
  Result<std::string> Read() override {
    std::string buffer(32 * 1024, '\0');
    Result<std::size_t> n = connection_.Read(context_, buffer.data(), buffer.size());
    if (!n) return n.error();
    buffer.resize(*n);
    return buffer;
  }
  Result<void> Write(std::string_view bytes) override { return connection_.Write(context_, bytes); }

 private:
  Context context_;
  serve::ForwardedConnection& connection_;
};

}  // namespace

void PodEndpoints::Command(const Exchange& exchange, const Call& call, const std::string& container) {
  PodHandlers all = handlers();
  bool attach = call.subresource == "attach";
  auto handler = attach ? all.attach : all.exec;
  if (!handler) {
    SendError(*exchange,
              StatusError(501, "", fmt::format("this server has no kubelets: register PodHandlers::{0} to answer {0}", call.subresource)));
    return;
  }
  serve::RemoteCommandOptions options = serve::ParseRemoteCommandOptions(exchange->request().query);
  PodExecRequest request{.ns = call.ns,
                         .pod = call.name,
                         .container = container,
                         .command = call.query.All("command"),
                         .tty = options.tty,
                         .has_stdin = options.stdin_stream,
                         .has_stdout = options.stdout_stream,
                         .has_stderr = options.stderr_stream};
  if (!attach && request.command.empty()) {
    SendError(*exchange, BadRequest("you must specify at least 1 command for the container"));
    return;
  }
  if (!serve::IsUpgradeRequest(exchange->request())) {
    SendError(*exchange, BadRequest("Upgrade request required"));
    return;
  }
  Spawn("kube-pod-exec", [exchange, request, handler](const Context& server) {
    Result<std::unique_ptr<serve::RemoteSession>> session = serve::AcceptRemoteCommand(server, exchange);
    if (!session) return;
    std::pair<Context, CancelSource> child = server.WithCancel();
    const Context context = child.first;
    const Context::Registration gone =
        (*session)->alive().OnDone([&source = child.second] { source.Cancel(Error::Cancelled("the client has disconnected")); });
    Streams streams(context, **session);
    Result<int> code = handler(context, request, streams);
    if (code) {
      (void)(*session)->Exit(context, *code);
    } else {
      (void)(*session)->Fail(context, code.error().ToString());
    }
  });
}

void PodEndpoints::PortForward(const Exchange& exchange, const Call& call) {
  PodHandlers all = handlers();
  if (!all.port_forward) {
    SendError(*exchange, StatusError(501, "", "this server has no kubelets: register PodHandlers::port_forward to answer port-forward"));
    return;
  }
  if (!serve::IsUpgradeRequest(exchange->request())) {
    SendError(*exchange, BadRequest("Upgrade request required"));
    return;
  }
  Spawn("kube-pod-fwd", [exchange, ns = call.ns, pod = call.name, handler = all.port_forward](const Context& server) {
    Result<std::unique_ptr<serve::PortForwardSession>> session = serve::AcceptPortForward(server, exchange);
    if (!session) return;
    std::pair<Context, CancelSource> child = server.WithCancel();
    const Context context = child.first;
    const Context::Registration gone =
        (*session)->alive().OnDone([&source = child.second] { source.Cancel(Error::Cancelled("the client has disconnected")); });
    std::list<Thread> connections;  // joined when the session ends, which ends what they wait for
    for (;;) {
      Result<std::unique_ptr<serve::ForwardedConnection>> accepted = (*session)->Accept(context);
      if (!accepted || !*accepted) break;
      std::shared_ptr<serve::ForwardedConnection> connection = *std::move(accepted);
      connections.emplace_back("kube-pod-conn", [connection, context, ns, pod, handler] {
        Connection stream(context, *connection);
        Result<void> done = handler(context, ns, pod, connection->port(), stream);
        if (!done) (void)connection->Fail(context, done.error().ToString());
        (void)connection->Finish(context);
      });
    }
    (*session)->Close();
  });
}

}  // namespace kube::apiserver
