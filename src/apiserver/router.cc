#include "apiserver/router.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "apiserver/errors.h"
#include "apiserver/gzip.h"
#include "apiserver/object_meta.h"
#include "apiserver/table.h"
#include "apiserver/watch.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

using serve::HttpExchange;
using serve::HttpHeaders;
using serve::HttpRequest;
using serve::HttpResponse;

// Answers beyond this size are compressed if the client accepts that, as on the real server.
constexpr std::size_t kGzipFrom = 128 * 1024;
// What the real server gives a request with all its webhooks.
constexpr std::chrono::seconds kMostOfRequest{34};

bool IsConnect(std::string_view subresource) {
  return subresource == "exec" || subresource == "attach" || subresource == "portforward" || subresource == "proxy";
}

void Send(HttpExchange& exchange, int status, Encoded encoded, HttpHeaders headers = {}) {
  headers.Add("content-type", std::move(encoded.content_type));
  headers.Add("cache-control", "no-cache, private");
  if (encoded.body.size() > kGzipFrom && exchange.request().headers.GetAll("accept-encoding").find("gzip") != std::string::npos) {
    headers.Add("content-encoding", "gzip");
    headers.Add("vary", "Accept-Encoding");
    encoded.body = Gzip(encoded.body);
  }
  exchange.Reply({.status = status, .headers = std::move(headers), .body = std::move(encoded.body)});
}

void SendText(HttpExchange& exchange, int status, std::string text) {
  exchange.Reply({.status = status,
                  .headers = {{"content-type", "text/plain; charset=utf-8"}, {"x-content-type-options", "nosniff"}},
                  .body = std::move(text)});
}

void SendError(HttpExchange& exchange, const Error& error, const AnswerForm& form = {}, HttpHeaders headers = {}) {
  Value status = ToStatus(error);
  if (error.payload().retry_after_seconds.value_or(-1) >= 0) {
    headers.Add("retry-after", std::to_string(*error.payload().retry_after_seconds));
  }
  AnswerForm plain = form;
  plain.transform = Transform::kNone;
  int code = static_cast<int>(std::as_const(status)["code"].int_value());
  Send(exchange, code, EncodeValue(status, plain), std::move(headers));
}

std::string VerbOf(const HttpRequest& request, const RequestPath& path, const Query& query) {
  const std::string& m = request.method;
  if (m == "GET") {
    if (path.legacy_watch || (query.Flag("watch") && path.name.empty())) return "watch";
    return path.name.empty() ? "list" : "get";
  }
  if (m == "POST") return "create";
  if (m == "PUT") return "update";
  if (m == "PATCH") return "patch";
  if (m == "DELETE") return path.name.empty() ? "deletecollection" : "delete";
  return "";
}

// Header values may hold no line ends, and a quote ends the text.
std::string WarningHeader(std::string_view text) {
  std::string out = "299 - \"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

std::size_t Runes(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// The first `limit` characters.
std::string_view FirstRunes(std::string_view text, std::size_t limit) {
  std::size_t at = 0;
  while (at < text.size() && (limit > 0 || (text[at] & 0xc0) == 0x80)) {
    if ((text[at] & 0xc0) != 0x80) --limit;
    ++at;
    while (at < text.size() && (text[at] & 0xc0) == 0x80) ++at;
  }
  return text.substr(0, at);
}

// Each text once, and none with control characters. Beyond 4096 characters in all, each is cut after 256.
HttpHeaders WarningHeaders(const Call& call) {
  constexpr std::size_t kMostInAll = 4096, kMostOfOne = 256;
  std::vector<std::string_view> texts;
  std::size_t all = 0;
  for (const std::string& warning : call.warnings) {
    const bool control = std::any_of(warning.begin(), warning.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; });
    if (warning.empty() || control || std::find(texts.begin(), texts.end(), warning) != texts.end()) continue;
    texts.emplace_back(warning);
    all += Runes(warning);
  }
  HttpHeaders headers;
  std::size_t written = 0;
  for (std::string_view text : texts) {
    if (all > kMostInAll) text = FirstRunes(text, kMostOfOne);
    if (written >= kMostInAll) break;
    written += Runes(text);
    headers.Add("warning", WarningHeader(std::string(text)));
  }
  return headers;
}

const char* DeprecationOf(const ServedResource& r) {
  if (r.storage == "/endpoints") return "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
  if (r.storage == "/componentstatuses") return "v1 ComponentStatus is deprecated in v1.19+";
  return nullptr;
}

// The reason of a fault with this status code if the fault sets none.
std::string_view ReasonOf(int status) {
  switch (status) {
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "NotFound";
    case 409:
      return "Conflict";
    case 410:
      return "Expired";
    case 429:
      return "TooManyRequests";
    case 500:
      return "InternalError";
    case 503:
      return "ServiceUnavailable";
    case 504:
      return "Timeout";
    default:
      return "";
  }
}

// Whether the namespace and name of the path fit the scope of the resource.
bool FitsScope(const ServedResource& r, const RequestPath& path, const std::string& verb) {
  if (!r.namespaced) return path.ns.empty();
  if (!path.ns.empty()) return true;
  return path.name.empty() && (!r.custom || verb == "list" || verb == "watch");
}

bool ServesCustom(const ServedGroup& group) {
  return group.name.find('.') != std::string::npos && !group.versions.empty() && !group.versions[0].resources.empty() &&
         group.versions[0].resources.begin()->second->custom;
}

std::string AnonymousMessage(const RequestPath& path, const std::string& verb) {
  if (!path.is_resource) return fmt::format("User \"system:anonymous\" cannot get path \"/{}\"", path.parts.empty() ? "" : path.parts[0]);
  std::string resource = path.subresource.empty() ? path.resource : path.resource + "/" + path.subresource;
  std::string where = path.ns.empty() ? "at the cluster scope" : fmt::format("in the namespace \"{}\"", path.ns);
  return fmt::format("User \"system:anonymous\" cannot {} resource \"{}\" in API group \"{}\" {}", verb, resource, path.group, where);
}

}  // namespace

Router::Router(ApiCore& core, Tokens& tokens, Faults& faults, PodEndpoints& pods, AdminActions admin, bool insecure)
    : core_(core), tokens_(tokens), faults_(faults), pods_(pods), admin_(std::move(admin)), insecure_(insecure) {
  metrics_.Describe("apiserver_request_total", "Requests of resources, by verb, resource, scope and HTTP code.");
}

Router::~Router() { CancelDelayed(); }

void Router::CancelDelayed() {
  std::list<Timer> timers;
  {
    MutexLock lock(mu_);
    timers.swap(delayed_);
  }
}

void Router::Later(std::chrono::milliseconds delay, std::function<void()> then) {
  Timer timer = core_.clock()->AddTimerAfter(delay, std::move(then));
  std::list<Timer> done;  // destroyed outside of the lock
  MutexLock lock(mu_);
  for (auto it = delayed_.begin(); it != delayed_.end();) {
    auto next = std::next(it);
    if (!it->pending()) done.splice(done.end(), delayed_, it);
    it = next;
  }
  delayed_.push_back(std::move(timer));
}

std::shared_ptr<const std::string> Router::Document(const std::shared_ptr<const Resources>& resources, const std::string& key,
                                                    const std::function<std::string()>& make) {
  {
    MutexLock lock(mu_);
    if (documented_ != resources) {
      documented_ = resources;
      documents_.clear();
    }
    if (auto it = documents_.find(key); it != documents_.end()) return it->second;
  }
  auto document = std::make_shared<const std::string>(make());
  MutexLock lock(mu_);
  if (documented_ == resources) documents_[key] = document;
  return document;
}

Result<User> Router::Authenticate(const HttpRequest& request) const {
  std::string_view authorization = request.headers.Get("authorization");
  User user;
  if (authorization.size() > 7 && (authorization.starts_with("Bearer ") || authorization.starts_with("bearer "))) {
    std::optional<Tokens::Found> found = tokens_.Find(authorization.substr(7), core_.Now());
    if (!found || !AccountExists(core_, found->user)) return Unauthorized();
    user = std::move(found->user);
  } else if (!authorization.empty()) {
    return Unauthorized();
  } else if (request.client_certificate) {
    user.name = request.client_certificate->common_name;
    user.groups = request.client_certificate->organizations;
    user.groups.push_back("system:authenticated");
  } else if (insecure_) {
    // kubectl sends no credentials over plain HTTP.
    return User{.name = "kubernetes-admin", .uid = "", .groups = {"system:masters", "system:authenticated"}};
  } else {
    user.name = "system:anonymous";
    user.groups = {"system:unauthenticated"};
    return user;
  }
  std::string_view as = request.headers.Get("impersonate-user");
  if (!as.empty()) {
    user = User{.name = std::string(as), .uid = std::string(request.headers.Get("impersonate-uid")), .groups = {}};
    for (const serve::HttpHeader& header : request.headers) {
      if (header.name == "impersonate-group") user.groups.push_back(header.value);
    }
    user.groups.push_back("system:authenticated");
  }
  return user;
}

bool Router::Inject(const Exchange& exchange, const Fault& fault, int fault_id, std::chrono::milliseconds& delay) {
  switch (fault.kind) {
    case FaultKind::kDrop:
      exchange->Abort();
      return true;
    case FaultKind::kStatus: {
      const std::string reason = fault.reason.empty() ? std::string(ReasonOf(fault.status)) : fault.reason;
      std::string message = fault.message.empty() ? fmt::format("fault: the test asked for a {}", fault.status) : fault.message;
      Error::Payload payload = StatusError(fault.status, reason, message).payload();
      if (fault.retry_after_seconds >= 0) payload.retry_after_seconds = fault.retry_after_seconds;
      SendError(*exchange, Error(std::move(payload)));
      return true;
    }
    case FaultKind::kCut:
      exchange->CutAfter(fault.bytes);
      break;
    case FaultKind::kStall:
      exchange->Stall(true);
      exchange->OnClose([exchange] {});  // keeps it until then
      faults_.OnRemove(fault_id, [weak = std::weak_ptr<HttpExchange>(exchange)] {
        if (Exchange stalled = weak.lock()) stalled->Stall(false);
      });
      break;
    case FaultKind::kDelay:
      delay = fault.delay;
      break;
    case FaultKind::kGone:
    case FaultKind::kDropEvent:
    case FaultKind::kDuplicateEvent:
    case FaultKind::kReorderEvents:
      break;
  }
  return false;
}

void Router::Handle(const Exchange& exchange) {
  const HttpRequest& request = exchange->request();
  RequestPath path = ParsePath(request.path);
  if (path.malformed) {
    SendText(*exchange, 400, "400 Bad Request");
    return;
  }
  Query query = Query::Parse(request.query);
  std::string verb = VerbOf(request, path, query);
  std::optional<Fault> fault;
  int fault_id = 0;
  if (path.is_resource) fault = faults_.Take(verb, path.resource, path.ns, path.name, &fault_id);
  std::chrono::milliseconds delay{0};
  if (fault && Inject(exchange, *fault, fault_id, delay)) return;
  auto go = [this, exchange, path, verb] {
    const HttpRequest& r = exchange->request();
    Result<User> user = Authenticate(r);
    if (!user) {
      SendError(*exchange, user.error());
      return;
    }
    bool open = !path.parts.empty() && !path.is_resource &&
                (path.parts[0] == "healthz" || path.parts[0] == "livez" || path.parts[0] == "readyz" || path.parts[0] == "version");
    if (user->name == "system:anonymous" && !open) {
      Error error = path.is_resource ? Forbidden(path.group, path.resource, path.name, AnonymousMessage(path, verb))
                                     : StatusError(403, "Forbidden", "forbidden: " + AnonymousMessage(path, verb));
      SendError(*exchange, error);
      return;
    }
    HandleAdmitted(exchange, path, *user);
  };
  if (delay.count() > 0) {
    Later(delay, std::move(go));
  } else {
    go();
  }
}

void Router::HandleAdmitted(const Exchange& exchange, const RequestPath& path, const User& user) {
  const HttpRequest& request = exchange->request();
  Query query = Query::Parse(request.query);
  if (path.leads_nowhere) {
    SendError(*exchange, ResourceNotFound());
  } else if (path.is_resource) {
    HandleResource(exchange, path, std::move(query), user);
  } else if (!path.parts.empty() && path.parts[0] == "kubexx") {
    HandleAdmin(exchange, path, query, user);
  } else {
    HandleOther(exchange, path, query);
  }
}

void Router::HandleResource(const Exchange& exchange, const RequestPath& path, Query query, const User& user) {
  const HttpRequest& request = exchange->request();
  std::shared_ptr<const Resources> resources = core_.registry().current();
  const ServedGroup* group = resources->FindGroup(path.group);
  if (group == nullptr) {
    SendText(*exchange, 404, "404 page not found\n");
    return;
  }
  ResourcePtr resource = resources->Find(path.group, path.version, path.resource);
  std::string verb = VerbOf(request, path, query);
  // A path that no route has: wrong resource, wrong scope, wrong subresource.
  bool routed = resource != nullptr && FitsScope(*resource, path, verb);
  if (routed && resource->custom && !path.subresource.empty() && resource->Subresource(path.subresource) == nullptr) {
    SendError(*exchange, NotFound(resource->group, resource->resource, path.name));
    return;
  }
  if (routed && !path.subresource.empty() && resource->Subresource(path.subresource) == nullptr) routed = false;
  if (!routed) {
    // Custom groups are served by another handler of the real server, with another answer.
    if (ServesCustom(*group)) {
      SendText(*exchange, 404, "404 page not found\n");
    } else {
      SendError(*exchange, ResourceNotFound());
    }
    return;
  }
  const std::vector<std::string>& verbs = path.subresource.empty() ? resource->verbs : resource->Subresource(path.subresource)->verbs;
  bool allowed = IsConnect(path.subresource) || std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
  if (path.subresource.empty() && resource->namespaced && path.ns.empty() && verb != "list" && verb != "watch") allowed = false;
  // The handler of custom resources looks at the verb alone.
  if (resource->custom && path.name.empty() && (verb == "update" || verb == "patch")) {
    SendError(*exchange, BadRequest("name must be provided"));
    return;
  }
  if (resource->custom && !allowed) {
    SendError(*exchange, MethodNotSupported(resource->group, resource->resource, verb));
    return;
  }
  if (path.subresource.empty() && path.name.empty() && (verb == "update" || verb == "patch")) allowed = false;
  if (path.subresource.empty() && !path.name.empty() && verb == "create" && !resource->custom) allowed = false;
  if (!allowed) {
    SendError(*exchange, MethodNotAllowed());
    return;
  }
  if (request.body_too_large) {
    SendError(*exchange, TooLarge("limit is 3145728"));
    return;
  }
  Call call{.resources = std::move(resources),
            .resource = std::move(resource),
            .ns = path.ns,
            .name = path.name,
            .subresource = path.subresource,
            .query = std::move(query),
            .user = user,
            .user_agent = std::string(request.headers.Get("user-agent")),
            .content_type = std::string(request.headers.Get("content-type")),
            .body = request.body,
            .warnings = {}};
  Dispatch(exchange, std::move(call), verb);
}

bool Router::MayWait(const Call& call, const std::string& verb) const {
  if (call.resource->custom && call.resource->custom->conversion) return true;
  const bool reads = verb == "get" || verb == "list" || verb == "watch";
  return (!reads || IsConnect(call.subresource)) && core_.hooks().Any(*call.resource);
}

void Router::Dispatch(const Exchange& exchange, Call call, const std::string& verb) {
  call.admit = true;
  if (MayWait(call, verb)) {
    DispatchLater(exchange, std::move(call), verb);
  } else {
    Serve(exchange, std::move(call), verb);
  }
}

void Router::DispatchLater(const Exchange& exchange, Call call, const std::string& verb) {
  auto task = [this, exchange, call = std::move(call), verb]() mutable {
    auto [cancelled, cancel] = core_.workers().context().WithCancel();
    // A client that goes away needs no answer of webhooks either. The end of a good answer comes here too, and finds nothing to stop.
    exchange->OnClose([source = std::make_shared<CancelSource>(std::move(cancel))] { source->Cancel(); });
    call.ctx = cancelled.WithTimeout(kMostOfRequest);
    Serve(exchange, std::move(call), verb);
  };
  if (!core_.workers().TryRun(std::move(task))) {
    SendError(*exchange, TooManyRequests("too many requests, please try again later", 1));
  }
}

void Router::Serve(const Exchange& exchange, Call call, const std::string& verb) {
  core_.Use(*call.resource);
  const HttpRequest& request = exchange->request();
  if (call.resource->storage == "/pods" && !call.subresource.empty() && pods_.Handles(call.subresource)) {
    if (IsConnect(call.subresource)) {
      if (Result<void> ok = AdmitConnect(core_, call); !ok) {
        SendError(*exchange, ok.error(), {}, WarningHeaders(call));
        return;
      }
    }
    pods_.Handle(exchange, call);
    return;
  }
  bool is_list = verb == "list" || verb == "deletecollection";
  Result<AnswerForm> form = Negotiate(request.headers.GetAll("accept"), call.resource->custom != nullptr, true, is_list);
  if (!form) {
    SendError(*exchange, form.error());
    return;
  }
  if (call.query.Flag("pretty")) form->pretty = true;
  if (form->transform == Transform::kTable) {
    if (auto ok = CheckIncludeObject(call.query.Get("includeObject")); !ok) {
      SendError(*exchange, ok.error(), *form);
      return;
    }
  }
  EncodeContext encode{
      .resource = call.resource.get(), .form = *form, .now = core_.Now(), .include_object = std::string(call.query.Get("includeObject"))};
  if (const char* warning = DeprecationOf(*call.resource)) call.warnings.emplace_back(warning);
  if (call.resource->custom && call.resource->custom->deprecated) call.warnings.push_back(call.resource->custom->deprecation_warning);
  if (verb == "watch") {
    auto ok = StartWatch(core_, call, encode, exchange, WarningHeaders(call), faults_);
    Count(call, verb, ok ? 200 : ok.error().http_code());
    if (!ok) SendError(*exchange, ok.error(), *form);
    return;
  }
  if (verb == "list" && faults_.TakeGone("list", call.resource->resource, call.ns, call.name)) {
    SendError(*exchange, Expired("The resourceVersion for the provided list is too old."), *form);
    return;
  }
  Result<Answer> answer = call.subresource.empty() ? Run(call, verb) : RunSubresource(call, verb);
  if (answer) {
    if (Result<void> ok = core_.InVersion(call, *answer); !ok) answer = ok.error();
  }
  HttpHeaders headers = WarningHeaders(call);
  Count(call, verb, answer ? answer->status : answer.error().http_code());
  if (!answer) {
    SendError(*exchange, answer.error(), *form, std::move(headers));
    return;
  }
  Result<Encoded> encoded = EncodeAnswer(*answer, encode);
  if (!encoded) {
    SendError(*exchange, encoded.error(), *form);
    return;
  }
  Send(*exchange, answer->status, *std::move(encoded), std::move(headers));
}

void Router::Count(const Call& call, const std::string& verb, int code) {
  std::string upper = verb;
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  const char* scope = !call.name.empty() ? "resource" : !call.ns.empty() ? "namespace" : "cluster";
  std::string number = std::to_string(code);
  metrics_.Add("apiserver_request_total",
               {{"verb", upper},
                {"group", call.resource->group},
                {"version", call.resource->version},
                {"resource", call.resource->resource},
                {"subresource", call.subresource},
                {"scope", scope},
                {"code", number}},
               1);
}

Result<Answer> Router::Run(Call& call, const std::string& verb) {
  if (verb == "get") return core_.Get(call);
  if (verb == "list") return core_.List(call);
  if (verb == "create") {
    if (IsReview(*call.resource)) return CreateReview(core_, call, tokens_);
    if (call.resource->resource == "bindings" && call.resource->group.empty()) return CreateBinding(core_, call);
    return core_.Create(call);
  }
  if (verb == "update") return core_.Update(call);
  if (verb == "patch") return core_.Patch(call);
  if (verb == "delete") return core_.Delete(call);
  if (verb == "deletecollection") return core_.DeleteCollection(call);
  return MethodNotAllowed();
}

Result<Answer> Router::RunSubresource(Call& call, const std::string& verb) {
  const std::string& name = call.subresource;
  if (name == "scale") {
    if (verb == "get") return GetScale(core_, call);
    return WriteScale(core_, call, verb == "patch");
  }
  if (name == "eviction") return CreateEviction(core_, call);
  if (name == "binding") return CreateBinding(core_, call);
  if (name == "token") return CreateToken(core_, call, tokens_);
  if (verb == "get") return core_.Get(call);
  if (verb == "update") return core_.Update(call);
  if (verb == "patch") return core_.Patch(call);
  return MethodNotAllowed();
}

}  // namespace kube::apiserver
