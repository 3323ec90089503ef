// One bad object must never stop a cluster: lists and watches in which one object is garbage leave all the others in the cache. The
// bytes come from each server; what a real one would refuse to store is put in between the server and the informer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cache/garbage_test_util.h"
#include "cache/informer_test_util.h"
#include "client/raw_object.h"
#include "client/server_test_util.h"
#include "codec/wire.h"
#include "kube/api/apps/v1.h"
#include "kube/api/core/v1.h"
#include "kube/base/fake_clock.h"
#include "kube/base/thread.h"
#include "kube/base/wait_until.h"
#include "kube/cache/informer_factory.h"
#include "kube/codec/protobuf.h"
#include "kube/config/client_config.h"
#include "kube/serve/certificate.h"
#include "kube/serve/http_server.h"
#include "kube/transport/http_transport.h"
#include "kube/transport/transport.h"

namespace kube {
namespace {

using apps::v1::Deployment;
using internal::Garbage;
using internal::RawList;
using internal::Witness;
using meta::v1::PartialObjectMetadata;

constexpr const char* kJson = "application/json";
constexpr const char* kProtobuf = "application/vnd.kubernetes.protobuf";
const Gvr kDeployments{"apps", "v1", "deployments"};

// All items of all kinds of garbage, or a part of that which takes seconds.
bool Everything() { return std::getenv("KUBEXX_GARBAGE_EVERYTHING") != nullptr; }

std::string Varint(std::size_t n) {
  std::string out;
  for (; n >= 0x80; n >>= 7) out += static_cast<char>(n | 0x80);
  return out + static_cast<char>(n);
}
std::string Field(int number, std::string_view bytes) {
  return Varint(static_cast<std::size_t>(number) << 3 | 2) + Varint(bytes.size()) + std::string(bytes);
}
std::string Envelope(std::string_view kind, std::string_view message) {
  return std::string("k8s\0", 4) + Field(1, Field(1, "apps/v1") + Field(2, kind)) + Field(2, message) + Field(3, "") + Field(4, "");
}

// A list as a server sent it, taken apart.
struct Recorded {
  std::string content_type{};
  std::string before{}, after{};  // of JSON what stands around the items, of protobuf `after` is empty
  std::vector<std::string> items{};

  static Recorded From(std::string content_type, std::string_view body) {
    Recorded out{.content_type = std::move(content_type)};
    RawList raw;
    if (out.json()) {
      EXPECT_TRUE(internal::SplitJsonList(body, raw));
      const std::size_t at = raw.head.find("\"items\":[]") + 9;
      out.before = raw.head.substr(0, at);
      out.after = raw.head.substr(at);
    } else {
      EXPECT_TRUE(internal::SplitProtobufList(ParseProtobufEnvelope(body)->raw, raw));
      out.before = raw.head;
    }
    for (const std::string_view item : raw.items) out.items.emplace_back(item);
    return out;
  }

  bool json() const { return content_type == kJson; }
  std::string Body(const std::vector<std::string>& with) const {
    if (!json()) {
      std::string message = before;
      for (const std::string& item : with) message += Field(2, item);
      return Envelope("DeploymentList", message);
    }
    std::string body = before;
    for (std::size_t i = 0; i < with.size(); ++i) body += (i == 0 ? "" : ",") + with[i];
    return body + after;
  }
  std::vector<std::string> With(std::size_t i, const std::string& garbage) const {
    std::vector<std::string> with = items;
    with[i] = garbage;
    return with;
  }
  // Item `i` at another version.
  std::string At(const std::string& version, std::size_t i) const {
    if (json()) return internal::With(items[i], {"metadata", "resourceVersion"}, '"' + version + '"');
    Deployment d = FromProtobuf<Deployment>(items[i]).value();
    d.metadata.resource_version = version;
    return ToProtobuf(d, {.envelope = false}).value();
  }
  // 410: list again.
  std::string Expired() const {
    if (json()) return Event("ERROR", R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410})");
    meta::v1::Status status;
    status.status = "Failure";
    status.reason = "Expired";
    status.code = 410;
    return Framed("ERROR", ToProtobuf(status).value());
  }
  static std::string Framed(std::string_view type, std::string_view object) {
    const std::string event = Field(1, type) + Field(2, Field(1, object));
    std::string frame(4, '\0');
    for (unsigned i = 0; i < 4; ++i) frame[i] = static_cast<char>(event.size() >> (24 - 8 * i));
    return frame + event;
  }
  std::string Event(std::string_view type, const std::string& object) const {
    if (json()) return "{\"type\":\"" + std::string(type) + "\",\"object\":" + object + "}\n";
    return Framed(type, Envelope("Deployment", object));
  }
};

// A watch that sends these bytes and then nothing more, until it is closed.
class Silence : public BodyStream {
 public:
  explicit Silence(std::string first) : first_(std::move(first)) {}
  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) override {
    MutexLock lock(mu_);
    if (at_ < first_.size()) {
      const std::size_t n = std::min(size, first_.size() - at_);
      std::memcpy(buffer, first_.data() + at_, n);
      at_ += n;
      return n;
    }
    const Result<void> waited = WaitUntil(ctx, mu_, changed_, [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return closed_; });
    if (!waited) return waited.error();
    return Error(ErrorKind::kClosed, "closed");
  }
  void Close() override {
    MutexLock lock(mu_);
    closed_ = true;
    changed_.NotifyAll();
  }

 private:
  Mutex mu_;
  CondVar changed_;
  const std::string first_;
  std::size_t at_ KUBE_GUARDED_BY(mu_) = 0;
  bool closed_ KUBE_GUARDED_BY(mu_) = false;
};

// Lists and watches by script; the last answer of each kind is given again and again.
class Replayed : public Transport {
 public:
  std::string content_type;
  std::vector<std::string> lists;
  std::vector<std::string> watches{""};

  Result<HttpResponse> RoundTrip(const Context&, HttpRequest request) override {
    HttpResponse response;
    response.code = 200;
    response.http_major = 2;
    const bool watch = request.streaming;
    MutexLock lock(mu_);
    std::size_t& next = watch ? next_watch_ : next_list_;
    const std::vector<std::string>& answers = watch ? watches : lists;
    const std::string& body = answers[std::min(next++, answers.size() - 1)];
    response.headers.Add("Content-Type", watch && content_type == kProtobuf ? content_type + ";stream=watch" : content_type);
    if (watch) {
      response.stream = std::make_unique<Silence>(body);
    } else {
      response.body = body;
    }
    return response;
  }
  std::size_t watches_asked() const {
    MutexLock lock(mu_);
    return next_watch_;
  }

 private:
  mutable Mutex mu_;
  std::size_t next_list_ KUBE_GUARDED_BY(mu_) = 0;
  std::size_t next_watch_ KUBE_GUARDED_BY(mu_) = 0;
};

// Between a client and a server, over TCP with TLS and HTTP/2: rewrites one object of all that passes, in lists and in the events of
// watches. Sends in pieces that end wherever they end.
class RewritingProxy {
 public:
  explicit RewritingProxy(const Client& upstream) : upstream_(upstream.transport()) {
    const serve::KeyPair keys = ca_.Issue({.common_name = "proxy", .addresses = {"127.0.0.1"}, .server = true}).value();
    server_ =
        serve::HttpServer::Start({.tls = serve::HttpTlsOptions{keys.certificate_pem, keys.key_pem}, .limits = serve::HttpLimits::ForApi()},
                                 [this](const std::shared_ptr<serve::HttpExchange>& exchange) { Answer(exchange); })
            .value();
  }
  RewritingProxy(const RewritingProxy&) = delete;
  RewritingProxy& operator=(const RewritingProxy&) = delete;
  ~RewritingProxy() {
    server_ = nullptr;
    Stop();
  }

  Client MakeClient(const char* content_type) const {
    ClientConfig config;
    config.host = "https://127.0.0.1:" + std::to_string(server_->port());
    config.tls.ca_data = ca_.certificate_pem();
    config.qps = -1;
    config.content_type = content_type;
    return Client::FromConfig(config).value();
  }
  // The object that is rewritten from now on; none: an empty name. Watches end.
  void Rewrite(std::string name, std::function<std::string(const std::string& object)> make) {
    Stop();
    MutexLock lock(mu_);
    rule_ = {std::move(name), std::move(make)};
    running_ = Context::Background().WithCancel();
  }

 private:
  struct Rule {
    std::string name{};
    std::function<std::string(const std::string& object)> make{};
  };

  void Stop() {
    std::vector<Thread> threads;
    {
      MutexLock lock(mu_);
      running_.second.Cancel();
      threads.swap(threads_);
    }
    for (Thread& thread : threads) thread.Join();
  }
  void Answer(const std::shared_ptr<serve::HttpExchange>& exchange) {
    MutexLock lock(mu_);
    threads_.emplace_back("proxy", [this, exchange, ctx = running_.first, rule = rule_] { Forward(ctx, *exchange, rule); });
  }
  void Forward(const Context& ctx, serve::HttpExchange& exchange, const Rule& rule) const {
    const serve::HttpRequest& asked = exchange.request();
    const bool watch = asked.query.find("watch=true") != std::string::npos;
    HttpRequest request;
    request.target = asked.path + "?" + asked.query;
    request.headers.Add("Accept", std::string(asked.headers.Get("accept")));
    request.verb = watch ? "watch" : "list";
    request.streaming = true;
    Result<HttpResponse> answer = upstream_->RoundTrip(ctx, std::move(request));
    if (!answer) return exchange.Abort();
    const std::string content_type(answer->headers.Get("content-type"));
    exchange.Start(answer->code, {{"content-type", content_type}});
    if (watch && answer->code == 200) {
      ForwardEvents(ctx, exchange, *answer->stream, content_type.starts_with(kJson), rule);
    } else {
      const Result<std::string> body = ReadAll(ctx, *answer->stream);
      if (!body) return exchange.Abort();
      Send(exchange, answer->code == 200 ? Rewritten(Recorded::From(content_type, *body), rule) : *body);
    }
    exchange.Finish();
  }
  static void ForwardEvents(const Context& ctx, serve::HttpExchange& exchange, BodyStream& stream, bool json, const Rule& rule) {
    std::string buffer, piece(4096, '\0');
    for (;;) {
      const Result<std::size_t> got = stream.Read(ctx, piece.data(), piece.size());
      if (!got || *got == 0) return;
      buffer.append(piece, 0, *got);
      for (std::size_t size = 0; (size = EventSize(buffer, json)) != 0; buffer.erase(0, size)) {
        if (!Send(exchange, json ? RewrittenJson(buffer.substr(0, size), rule) : RewrittenFrame(buffer.substr(0, size), rule))) return;
      }
    }
  }
  // 0: it is not all there.
  static std::size_t EventSize(const std::string& buffer, bool json) {
    if (json) return buffer.find('\n') + 1;
    if (buffer.size() < 4) return 0;
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(buffer[i]);
    return buffer.size() < size + 4 ? 0 : size + 4;
  }
  static Error NoError() { return Error::Decode("not asked"); }
  static bool Is(const UndecodableObject& object, const Rule& rule) { return !rule.name.empty() && object.key.name.view() == rule.name; }
  static std::string Rewritten(const Recorded& list, const Rule& rule) {
    std::vector<std::string> items = list.items;
    for (std::string& item : items) {
      if (Is(list.json() ? internal::IdentifyJson(item, NoError()) : internal::IdentifyProtobuf(item, NoError()), rule))
        item = rule.make(item);
    }
    return list.Body(items);
  }
  static std::string RewrittenJson(std::string event, const Rule& rule) {
    const std::size_t begin = event.find("\"object\":") + 9;
    const std::string object = event.substr(begin, event.rfind('}') - begin);
    if (Is(internal::IdentifyJson(object, NoError()), rule)) event.replace(begin, object.size(), rule.make(object));
    return event;
  }
  static std::string RewrittenFrame(std::string frame, const Rule& rule) {
    std::string_view type, wrapped, object;
    const auto read = [](std::string_view message, std::uint32_t wanted, std::string_view& field) {
      std::uint32_t number = 0;
      internal::Wire wire{};
      std::string_view bytes;
      for (internal::WireReader reader(message); !reader.AtEnd() && reader.Tag(number, wire) && reader.Bytes(bytes);) {
        if (number == wanted) field = bytes;
      }
    };
    read(std::string_view(frame).substr(4), 1, type);
    read(std::string_view(frame).substr(4), 2, wrapped);
    read(wrapped, 1, object);
    if (!Is(internal::IdentifyProtobuf(object, NoError()), rule)) return frame;
    return Recorded::Framed(type, Envelope("Deployment", rule.make(std::string(ParseProtobufEnvelope(object)->raw))));
  }
  static bool Send(serve::HttpExchange& exchange, const std::string& text) {
    bool open = true;
    for (std::size_t at = 0, size = 1; open && at < text.size(); at += size, size = size * 3 % 1009 + 1) {
      open = exchange.Write(std::make_shared<const std::string>(text.substr(at, size)));
    }
    return open;
  }

  const std::shared_ptr<Transport> upstream_;
  const serve::CertificateAuthority ca_ = serve::CertificateAuthority::Create("proxy").value();
  Mutex mu_;
  Rule rule_ KUBE_GUARDED_BY(mu_);
  std::pair<Context, CancelSource> running_ KUBE_GUARDED_BY(mu_) = Context::Background().WithCancel();
  std::vector<Thread> threads_ KUBE_GUARDED_BY(mu_);
  std::unique_ptr<serve::HttpServer> server_;
};

// An informer over such a server. Of Replayed, time is what the test moves.
template <ObjectType T>
class Playback {
 public:
  Playback(std::shared_ptr<Replayed> server, std::string ns) : Playback(std::move(server), std::make_shared<FakeClock>(), std::move(ns)) {}
  Playback(std::shared_ptr<Replayed> server, const std::shared_ptr<FakeClock>& clock, std::string ns)
      : Playback(Client::FromConfig({.host = "http://replayed"}, {.transport = std::move(server), .clock = clock}).value(), clock,
                 std::move(ns)) {}
  Playback(Client client, std::shared_ptr<FakeClock> clock, std::string ns, bool streams = false)
      : clock_(std::move(clock)),
        both_((clock_ ? Context::Background(clock_) : Context::Background()).WithCancel()),
        ns_(std::move(ns)),
        client_(std::move(client)),
        factory_(client_, {.ns = ns_, .watch_list = streams}),
        informer_(Make()) {
    registration_ = *informer_.AddEventHandler(witness_.Handler());
    factory_.Start(ctx_);
  }
  ~Playback() { cancel_.Cancel(); }

  bool Synced() { return informer_.WaitForSync(Context::Background().WithTimeout(std::chrono::minutes(2))).ok(); }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const Ptr<T>& object : informer_.lister().List()) names.insert(internal::ObjectForm::Of<T>().Name(object.get()).str());
    return names;
  }
  Result<Ptr<T>> Get(const std::string& name) const { return informer_.lister().Get({String(ns_), String(name)}); }
  Witness<T>& witness() { return witness_; }
  // Lets time pass until that is so.
  template <typename F>
  bool Until(F done) {
    const Context patience = Context::Background().WithTimeout(std::chrono::minutes(2));
    for (int i = 0; !done(); ++i) {
      if (patience.stopped()) return false;
      if (i > 3 && clock_) clock_->Advance(std::chrono::milliseconds(500));
      (void)Context::Background().SleepFor(std::chrono::milliseconds(1));
    }
    return true;
  }

 private:
  SharedInformer<T> Make() {
    if constexpr (std::same_as<T, DynamicObject>) {
      return factory_.For(kDeployments);
    } else if constexpr (std::same_as<T, PartialObjectMetadata>) {
      return factory_.ForMetadata(kDeployments);
    } else {
      return factory_.template For<T>();
    }
  }

  const std::shared_ptr<FakeClock> clock_;  // null: the real one
  std::pair<Context, CancelSource> both_;
  Context& ctx_ = both_.first;
  CancelSource& cancel_ = both_.second;
  const std::string ns_;
  Client client_;
  InformerFactory factory_;
  Witness<T> witness_;
  SharedInformer<T> informer_;
  HandlerRegistration registration_;
};

class GarbageServerTest : public internal::ServerTest {
 protected:
  static constexpr std::size_t kItems = 4;

  void SetUp() override {
    ServerTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (std::string_view(GetParam()) == "oldest" && !Everything()) GTEST_SKIP() << "the newest has the same form";
    client_.emplace(NewClient());
    core::v1::Namespace ns;
    ns.metadata.generate_name = "garbage-";
    const Result<core::v1::Namespace> made = client_->Create(Patient(), ns);
    ASSERT_TRUE(made) << made.error().ToString();
    ns_ = made->metadata.name.str();
  }
  void TearDown() override {
    if (client_ && !ns_.empty()) (void)client_->Delete<core::v1::Namespace>(Patient(), {"", String(ns_)});
  }

  Deployment Example(std::string_view name) const {
    Deployment d;
    d.metadata.name = String(name);
    d.metadata.namespace_ = ns_;
    d.metadata.annotations["note"] = "a";
    d.spec.selector.Mutable().match_labels["app"] = String(name);
    d.spec.template_.metadata.labels["app"] = String(name);
    d.spec.template_.spec.containers = {
        core::v1::Container{.name = "main", .image = "a", .ports = {core::v1::ContainerPort{.container_port = 80}}}};
    return d;
  }
  void CreateItems() {
    for (std::size_t i = 0; i < kItems; ++i) {
      const Result<Deployment> made = client_->Create(Patient(), Example("d" + std::to_string(i)));
      ASSERT_TRUE(made) << made.error().ToString();
    }
  }
  // What the server answers to a list.
  Recorded Record(const std::string& accept) {
    HttpRequest request;
    request.target = "/apis/apps/v1/namespaces/" + ns_ + "/deployments";
    request.headers.Add("Accept", accept);
    request.verb = "list";
    Result<HttpResponse> answer = client_->transport()->RoundTrip(Patient(), std::move(request));
    EXPECT_TRUE(answer && answer->code == 200);
    Recorded out = Recorded::From(std::string(answer->headers.Get("content-type")), answer->body);
    EXPECT_EQ(out.items.size(), kItems);
    return out;
  }

  // A server that plays back what this one sent.
  static std::shared_ptr<Replayed> Replay(const Recorded& recorded, std::vector<std::string> lists,
                                          std::vector<std::string> watches = {""}) {
    auto server = std::make_shared<Replayed>();
    server->content_type = recorded.content_type;
    server->lists = std::move(lists);
    server->watches = std::move(watches);
    return server;
  }
  template <ObjectType T>
  void ExpectTheOthers(const Playback<T>& run, const Garbage& garbage, std::size_t i) {
    const std::set<std::string> names = run.Names();
    for (std::size_t other = 0; other < kItems; ++other) {
      EXPECT_TRUE(other == i || names.contains("d" + std::to_string(other))) << other;
    }
    const Result<Ptr<T>> bad = run.Get("d" + std::to_string(i));
    EXPECT_TRUE(!garbage.keeps_identity || bad || IsUndecodable(bad.error())) << bad.error().ToString();
  }
  static std::string Trace(const Recorded& recorded, const Garbage& garbage, std::size_t i) {
    return std::string(GetParam()) + ", " + recorded.content_type + ", item " + std::to_string(i) + ": " + garbage.name;
  }

  // The first list has garbage.
  template <ObjectType T>
  void List(const Recorded& recorded, const Garbage& garbage, std::size_t i) {
    SCOPED_TRACE(Trace(recorded, garbage, i));
    Playback<T> run(Replay(recorded, {recorded.Body(recorded.With(i, garbage.make(recorded.items[i])))}), ns_);
    ASSERT_TRUE(run.Synced());
    ExpectTheOthers(run, garbage, i);
  }
  // The second list has garbage, although the first was good.
  template <ObjectType T>
  void ListAgain(const Recorded& recorded, const Garbage& garbage, std::size_t i) {
    SCOPED_TRACE(Trace(recorded, garbage, i));
    const std::shared_ptr<Replayed> server =
        Replay(recorded, {recorded.Body(recorded.items), recorded.Body(recorded.With(i, garbage.make(recorded.items[i])))},
               {recorded.Expired(), ""});
    Playback<T> run(server, ns_);
    ASSERT_TRUE(run.Synced());
    ASSERT_TRUE(run.Until([&] { return server->watches_asked() >= 2; }));
    ExpectTheOthers(run, garbage, i);
    if (!garbage.keeps_identity) return;
    EXPECT_EQ(run.Names().size(), kItems);
    for (const std::string& said : run.witness().said()) EXPECT_FALSE(said.starts_with("delete")) << said;
  }
  // An event has garbage; another event comes behind it.
  template <ObjectType T>
  void Event(const Recorded& recorded, const Garbage& garbage, std::size_t i) {
    SCOPED_TRACE(Trace(recorded, garbage, i));
    const std::size_t next = (i + 1) % kItems;
    const std::string marker = recorded.At("999999999", next);
    Playback<T> run(
        Replay(recorded, {recorded.Body(recorded.items), recorded.Body(recorded.With(next, marker))},
               {recorded.Event("MODIFIED", garbage.make(recorded.At("888888888", i))) + recorded.Event("MODIFIED", marker), ""}),
        ns_);
    ASSERT_TRUE(run.Synced());
    ASSERT_TRUE(run.Until([&] {
      const Result<Ptr<T>> got = run.Get("d" + std::to_string(next));
      return got && internal::ObjectForm::Of<T>().ResourceVersion(got->get()) == "999999999";
    }));
    ExpectTheOthers(run, garbage, i);
    EXPECT_TRUE(!garbage.keeps_identity || run.Names().size() == kItems);
  }

  // Changes an item on the server; gives its version.
  String Touch(std::size_t i, std::size_t round) {
    const std::string merge = R"({"metadata":{"annotations":{"note":"round )" + std::to_string(round) + R"("}}})";
    const Result<Deployment> changed =
        client_->Patch<Deployment>(Patient(), {String(ns_), String("d" + std::to_string(i))}, Patch::Merge(merge));
    EXPECT_TRUE(changed) << changed.error().ToString();
    return changed ? changed->metadata.resource_version : String();
  }
  static bool Has(const Playback<Deployment>& run, std::size_t i, const String& version) {
    const Result<Ptr<Deployment>> got = run.Get("d" + std::to_string(i));
    return got && (*got)->metadata.resource_version == version;
  }
  // The list has garbage, and so has the change of that item if its name can be read: without one it would end the watch, and the next list
  // would come after a backoff. The change of another item comes behind it.
  void ThroughProxy(RewritingProxy& proxy, const Client& client, const Garbage& garbage, std::size_t round) {
    const std::size_t i = round % kItems, next = (i + 1) % kItems;
    SCOPED_TRACE(client.config().content_type + ", item " + std::to_string(i) + ": " + garbage.name);
    proxy.Rewrite("d" + std::to_string(i), garbage.make);
    Playback<Deployment> run(client, nullptr, ns_, round / kItems % 2 == 0);
    ASSERT_TRUE(run.Synced());
    ExpectTheOthers(run, garbage, i);
    const Result<Ptr<Deployment>> bad = run.Get("d" + std::to_string(i));
    const bool named = bad || (IsUndecodable(bad.error()) && bad.error().message().find("could not identify") == std::string::npos);
    if (named) Touch(i, round);
    const String version = Touch(next, round);
    ASSERT_TRUE(run.Until([&] { return Has(run, next, version); }));
    ExpectTheOthers(run, garbage, i);
  }

  std::optional<Client> client_;
  std::string ns_;
};
INSTANTIATE_SERVERS(GarbageServerTest);

TEST_P(GarbageServerTest, AListLeavesAllOtherItemsInTheCache) {
  CreateItems();
  const Recorded json = Record(kJson), protobuf = Record(kProtobuf);
  const bool all = Everything() || std::string_view(GetParam()) == "embedded";
  const std::vector<Garbage> of_json = internal::JsonGarbage(), of_protobuf = internal::ProtobufGarbage();
  ASSERT_GE(of_json.size(), 50U);
  ASSERT_GE(of_protobuf.size(), 50U);
  for (std::size_t i = 0; i < kItems; ++i) {
    for (std::size_t k = 0; k < of_json.size(); ++k) {
      if (all || k % kItems == i) List<Deployment>(json, of_json[k], i);
      if (Everything() || k % kItems == i) List<DynamicObject>(json, of_json[k], i);
      if (Everything() || k % kItems == i) List<PartialObjectMetadata>(json, of_json[k], i);
    }
    for (std::size_t k = 0; k < of_protobuf.size(); ++k) {
      if (all || k % kItems == i) List<Deployment>(protobuf, of_protobuf[k], i);
    }
  }
}

TEST_P(GarbageServerTest, AnotherListDeletesNothing) {
  CreateItems();
  const Recorded json = Record(kJson), protobuf = Record(kProtobuf);
  std::size_t k = 0;
  for (const Garbage& garbage : internal::JsonGarbage()) {
    ListAgain<Deployment>(json, garbage, k % kItems);
    if (Everything()) ListAgain<DynamicObject>(json, garbage, k % kItems);
    ++k;
  }
  for (const Garbage& garbage : internal::ProtobufGarbage()) ListAgain<Deployment>(protobuf, garbage, k++ % kItems);
}

TEST_P(GarbageServerTest, AnEventLeavesAllOtherItemsInTheCache) {
  CreateItems();
  const Recorded json = Record(kJson), protobuf = Record(kProtobuf);
  std::size_t k = 0;
  for (const Garbage& garbage : internal::JsonGarbage()) {
    Event<Deployment>(json, garbage, k % kItems);
    if (Everything()) Event<DynamicObject>(json, garbage, k % kItems);
    ++k;
  }
  for (const Garbage& garbage : internal::ProtobufGarbage()) Event<Deployment>(protobuf, garbage, k++ % kItems);
}

// In front of each server: one object is garbage, in lists, streamed lists and watches; all else is what the server sends at that moment.
TEST_P(GarbageServerTest, AProxyThatRewritesOneObjectLeavesAllOthersInTheCache) {
  CreateItems();
  RewritingProxy proxy(*client_);
  std::size_t round = 0;
  for (const Garbage& garbage : internal::JsonGarbage()) ThroughProxy(proxy, proxy.MakeClient(kJson), garbage, round++);
  for (const Garbage& garbage : internal::ProtobufGarbage()) ThroughProxy(proxy, proxy.MakeClient(kProtobuf), garbage, round++);

  // It heals with its next change.
  proxy.Rewrite("d0", [](const std::string&) { return std::string("\xff\xff"); });
  Playback<Deployment> run(proxy.MakeClient(kProtobuf), nullptr, ns_);
  ASSERT_TRUE(run.Synced());
  EXPECT_TRUE(IsUndecodable(run.Get("d0").error()));
  proxy.Rewrite("", {});
  const String version = Touch(0, round);
  EXPECT_TRUE(run.Until([&] { return Has(run, 0, version); }));
}

// What any tenant of a cluster can do.
TEST_P(GarbageServerTest, TextThatIsNotUtf8StopsNobody) {
  CreateItems();
  Deployment bad = Example("bad-text");
  bad.metadata.annotations["note"] = "a\xff";
  ClientConfig config = Config();
  config.content_type = kProtobuf;
  const Result<Deployment> made = Client::FromConfig(config).value().Create(Patient(), bad);
  ASSERT_TRUE(made) << made.error().ToString();
  EXPECT_EQ(made->metadata.annotations["note"], "a\xff");
  for (const char* accept : {kProtobuf, kJson}) {
    config.content_type = accept;
    InformerFactory factory(Client::FromConfig(config).value(), {.ns = ns_});
    const SharedInformer<Deployment> typed = factory.For<Deployment>();
    const SharedInformer<DynamicObject> dynamic = factory.For(kDeployments);
    const SharedInformer<PartialObjectMetadata> metadata = factory.ForMetadata(kDeployments);
    factory.Start(Patient());
    const Result<void> synced = factory.WaitForSync(Patient());
    ASSERT_TRUE(synced) << synced.error().ToString();
    EXPECT_EQ(typed.indexer().size(), kItems + 1);
    EXPECT_EQ(dynamic.indexer().size(), kItems + 1);
    EXPECT_EQ(metadata.indexer().size(), kItems + 1);
    const Result<Ptr<Deployment>> got = typed.lister().Get({String(ns_), "bad-text"});
    ASSERT_TRUE(got) << got.error().ToString();
    EXPECT_EQ((*got)->metadata.annotations.Get("note"), accept == kProtobuf ? "a\xff" : "a\xef\xbf\xbd");
  }
}

}  // namespace
}  // namespace kube
