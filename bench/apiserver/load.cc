#include "load.h"

#include <curl/curl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

namespace kube::bench {
namespace {

using Clock = std::chrono::steady_clock;

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "bench_apiserver: %s\n", what.c_str());
  std::exit(1);
}

curl_blob Blob(const std::string& text) { return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY}; }

struct Slot {
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  Request request;
  std::string url, answer;
  std::size_t lines = 0;
};

class Multi {
 public:
  explicit Multi(const Target& target) : target_(target), multi_(curl_multi_init()) {
    curl_multi_setopt(multi_, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(multi_, CURLMOPT_MAX_CONCURRENT_STREAMS, 2000L);
  }
  ~Multi() {
    for (auto& slot : slots_) {
      curl_multi_remove_handle(multi_, slot->easy);
      curl_easy_cleanup(slot->easy);
      curl_slist_free_all(slot->headers);
    }
    curl_multi_cleanup(multi_);
  }
  Multi(const Multi&) = delete;
  Multi& operator=(const Multi&) = delete;

  Slot* NewSlot(curl_write_callback write) {
    auto slot = std::make_unique<Slot>();
    slot->easy = curl_easy_init();
    CURL* easy = slot->easy;
    curl_easy_setopt(easy, CURLOPT_PRIVATE, slot.get());
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, write);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, slot.get());
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    curl_blob ca = Blob(target_.ca_pem), certificate = Blob(target_.certificate_pem), key = Blob(target_.key_pem);
    curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &ca);
    if (!target_.certificate_pem.empty()) {
      curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, &certificate);
      curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, &key);
    }
    if (!target_.token.empty()) slot->headers = curl_slist_append(slot->headers, ("Authorization: Bearer " + target_.token).c_str());
    slot->headers = curl_slist_append(slot->headers, "Content-Type: application/json");
    slot->headers = curl_slist_append(slot->headers, "Expect:");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, slot->headers);
    slots_.push_back(std::move(slot));
    return slots_.back().get();
  }

  void Start(Slot& slot, Request request) {
    slot.request = std::move(request);
    slot.url = target_.url + slot.request.path;
    slot.answer.clear();
    curl_easy_setopt(slot.easy, CURLOPT_URL, slot.url.c_str());
    if (slot.request.method == "POST") {
      curl_easy_setopt(slot.easy, CURLOPT_POST, 1L);
      curl_easy_setopt(slot.easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(slot.request.body.size()));
      curl_easy_setopt(slot.easy, CURLOPT_POSTFIELDS, slot.request.body.data());
    } else {
      curl_easy_setopt(slot.easy, CURLOPT_HTTPGET, 1L);
    }
    curl_multi_add_handle(multi_, slot.easy);
  }

  // Lets transfers go on; calls `done` for each that ended.
  void Step(const std::function<void(Slot&, CURLcode)>& done) {
    int running = 0;
    curl_multi_perform(multi_, &running);
    int left = 0;
    bool any = false;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      any = true;
      Slot* slot = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &slot);
      CURLcode code = message->data.result;
      curl_multi_remove_handle(multi_, message->easy_handle);
      done(*slot, code);
    }
    if (!any) curl_multi_poll(multi_, nullptr, 0, 100, nullptr);
  }

 private:
  const Target& target_;
  CURLM* multi_;
  std::deque<std::unique_ptr<Slot>> slots_;
};

std::size_t Keep(char* data, std::size_t size, std::size_t count, void* slot) {
  static_cast<Slot*>(slot)->answer.append(data, size * count);
  return size * count;
}

std::size_t CountLines(char* data, std::size_t size, std::size_t count, void* slot) {
  static_cast<Slot*>(slot)->lines += static_cast<std::size_t>(std::count(data, data + size * count, '\n'));
  return size * count;
}

}  // namespace

double RunLoad(const Target& target, std::size_t count, std::size_t at_once, const std::function<Request(std::size_t)>& make,
               const std::function<bool(long, const std::string&)>& check) {
  Multi multi(target);
  std::size_t next = 0, finished = 0;
  Clock::time_point start = Clock::now();
  for (std::size_t i = 0; i < std::min(at_once, count); ++i) multi.Start(*multi.NewSlot(Keep), make(next++));
  while (finished < count) {
    multi.Step([&](Slot& slot, CURLcode code) {
      if (code != CURLE_OK) Fail(slot.request.method + " " + slot.url + ": " + curl_easy_strerror(code));
      long status = 0;
      curl_easy_getinfo(slot.easy, CURLINFO_RESPONSE_CODE, &status);
      if (!check(status, slot.answer))
        Fail(slot.request.method + " " + slot.url + ": " + std::to_string(status) + " " + slot.answer.substr(0, 300));
      ++finished;
      if (next < count) multi.Start(slot, make(next++));
    });
    if (Since(start) > 900) Fail("a load took more than 15 minutes");
  }
  return Since(start);
}

double RunWatches(const Target& target, std::size_t watchers, const std::string& path, std::size_t events,
                  const std::function<void()>& act) {
  Multi multi(target);
  std::vector<Slot*> slots;
  for (std::size_t i = 0; i < watchers; ++i) {
    slots.push_back(multi.NewSlot(CountLines));
    multi.Start(*slots.back(), {.path = path});
  }
  auto broken = [](Slot& slot, CURLcode code) { Fail("a watch ended: " + slot.url + ": " + curl_easy_strerror(code)); };
  // All are open once each has its answer's head.
  Clock::time_point start = Clock::now();
  for (std::size_t open = 0; open < watchers;) {
    multi.Step(broken);
    long status = 0;
    curl_easy_getinfo(slots[open]->easy, CURLINFO_RESPONSE_CODE, &status);
    while (status == 200 && ++open < watchers) curl_easy_getinfo(slots[open]->easy, CURLINFO_RESPONSE_CODE, &status);
    if (Since(start) > 120) Fail("watches did not open");
  }
  start = Clock::now();
  std::thread actor(act);
  for (std::size_t complete = 0; complete < watchers;) {
    multi.Step(broken);
    while (complete < watchers && slots[complete]->lines >= events) ++complete;
    if (Since(start) > 300) Fail("events did not come");
  }
  double seconds = Since(start);
  actor.join();
  return seconds;
}

}  // namespace kube::bench
