// Load: many HTTP requests at a time from one thread, over HTTP/2 if the server supports it. For benchmarks.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace kube::bench {

struct Target {
  std::string url{};
  std::string ca_pem{};
  std::string token{};
  std::string certificate_pem{}, key_pem{};
};

struct Request {
  std::string method = "GET";
  std::string path{};
  std::string body = {};
};

// Sends `count` requests, at most `at_once` at a time. `check` sees each answer; false ends the program with a message, since a figure
// over failed requests says nothing. Returns the seconds it took.
double RunLoad(const Target& target, std::size_t count, std::size_t at_once, const std::function<Request(std::size_t)>& make,
               const std::function<bool(long status, const std::string& body)>& check);

// Opens `watchers` watches of `path`, calls `act` once all are open, and waits until each has seen `events` lines. Returns the seconds
// from `act` to the last event.
double RunWatches(const Target& target, std::size_t watchers, const std::string& path, std::size_t events,
                  const std::function<void()>& act);

}  // namespace kube::bench
