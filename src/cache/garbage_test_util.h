// Garbage in the place of an object, for tests of lists and watches: what a decoder may meet that no server should send.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/codec/json.h"

namespace kube::internal {

struct Garbage {
  std::string name;
  std::function<std::string(const std::string& object)> make;
  // It still identifies the object, or does not even identify one: no object may be treated as deleted.
  bool keeps_identity = true;
};

// ---- JSON: brackets and quotes are balanced, as they are in whatever comes out of an encoder ----

// The object with another value at this path; numbers are places in lists.
inline std::string With(const std::string& object, std::vector<std::string> path, std::string_view json) {
  Value value = ParseJson(object).value();
  Value* at = &value;
  for (const std::string& step : path) {
    if (at->is_list()) {
      at = &at->MutableList()[static_cast<std::size_t>(std::stoul(step))];
    } else {
      at = &(*at)[step];
    }
  }
  *at = "@@here@@";
  std::string text = ToJson(value);
  const std::string mark = "\"@@here@@\"";
  return text.replace(text.find(mark), mark.size(), json);
}

inline std::vector<Garbage> JsonGarbage() {
  static const std::string kLongText = '"' + std::string(4096, 'a') + '"';
  std::vector<Garbage> all;
  for (const char* text : {"null",
                           "true",
                           "5",
                           "-1e999",
                           "\"text\"",
                           "[]",
                           "{}",
                           "[{}]",
                           "{\"metadata\":5}",
                           "{\"metadata\":null}",
                           "{\"metadata\":[]}",
                           "{\"metadata\":{\"name\":5}}",
                           "{\"metadata\":{\"name\":{}}}",
                           "{\"a\" 1}",
                           "{,}",
                           "nul",
                           "{\"metadata\":{},}",
                           "01",
                           "\"\\x\"",
                           "{\"kind\":5}"}) {
    all.push_back({text, [text](const std::string&) { return std::string(text); }});
  }
  const std::vector<std::pair<std::vector<std::string>, std::vector<const char*>>> places = {
      {{"spec"}, {"5", "\"x\"", "[]", "true", "tru"}},
      {{"spec", "replicas"}, {"\"three\"", "1.5", "1e100", "99999999999999999999", "{}", "[]", "4294967296"}},
      {{"spec", "template"}, {"5", "[]"}},
      {{"spec", "selector"}, {"\"x\"", "[1]"}},
      {{"spec", "template", "spec", "containers"}, {"{}", "5", "[5]", "[\"x\"]", "[[]]", "[{\"name\":5}]"}},
      {{"spec", "template", "spec", "containers", "0", "ports"},
       {"\"x\"", "[{\"containerPort\":1099511627776}]", "[{\"containerPort\":\"http\"}]"}},
      {{"spec", "template", "spec", "containers", "0", "resources"}, {"{\"limits\":{\"cpu\":\"fast\"}}", "{\"limits\":5}"}},
      {{"metadata", "namespace"}, {"5", "{}", "\"a/b\"", kLongText.c_str()}},
      {{"metadata", "labels"}, {"5", "[]", "{\"a\":5}", "{\"a\":{}}"}},
      {{"metadata", "annotations"},
       {"{\"a\":[]}", "\"x\"", "{\"a\":\"\xff\"}", "{\"a\":\"\\ud800\"}", "{\"a\":\"\x01\"}", "{\"a\":\"\\q\"}"}},
      {{"metadata", "creationTimestamp"}, {"\"yesterday\"", "5", "{}"}},
      {{"metadata", "generation"}, {"\"x\"", "1.5", "9223372036854775808"}},
      {{"metadata", "ownerReferences"}, {"5", "[5]"}},
      {{"metadata", "finalizers"}, {"{\"a\":1}", "[5]"}},
      {{"metadata", "managedFields"}, {"\"x\"", "[{\"fieldsV1\":nope}]"}},
      {{"metadata", "deletionTimestamp"}, {"\"soon\""}},
      {{"status"}, {"5", "\"x\""}},
      {{"status", "replicas"}, {"\"x\"", "{}"}},
      {{"status", "conditions"}, {"5", "[{\"lastTransitionTime\":5}]"}},
      {{"unknown"}, {"{]", "[1 2]", "1e", "-", "\"\\u12\""}},
  };
  for (const auto& [path, values] : places) {
    for (const char* value : values) {
      std::string name;
      for (const std::string& step : path) name += step + ".";
      all.push_back({name + value, [path = path, value](const std::string& object) { return With(object, path, value); }});
    }
  }
  for (const std::size_t depth : {std::size_t{2'000}, std::size_t{20'000}}) {
    const std::string deep = std::string(depth, '[') + std::string(depth, ']');
    all.push_back({"deep " + std::to_string(depth), [deep](const std::string& object) { return With(object, {"unknown"}, deep); }});
    std::string objects;
    for (std::size_t i = 0; i < depth; ++i) objects += "{\"a\":";
    objects += "1" + std::string(depth, '}');
    all.push_back({"deep objects " + std::to_string(depth), [objects](const std::string& o) {
                     return With(o, {"spec", "unknown"}, objects);
                   }});
  }
  return all;
}

// ---- Protobuf: any bytes, for their length stands before them ----

inline std::vector<Garbage> ProtobufGarbage() {
  using Text = std::string;
  std::vector<Garbage> all = {
      {"empty", [](const Text&) { return Text(); }},
      {"zero", [](const Text&) { return Text(1, '\0'); }},
      {"zeros", [](const Text&) { return Text(100'000, '\0'); }},
      {"ones", [](const Text&) { return Text(20, '\xff'); }},
      {"json", [](const Text&) { return Text("{\"metadata\":{}}"); }},
      {"a quarter", [](const Text& o) { return o.substr(0, o.size() / 4); }, false},
      {"half", [](const Text& o) { return o.substr(0, o.size() / 2); }, false},
      {"three quarters", [](const Text& o) { return o.substr(0, o.size() * 3 / 4); }, false},
      {"without its end", [](const Text& o) { return o.substr(0, o.size() - 1); }},
      {"without its begin", [](const Text& o) { return o.substr(1); }, false},
      {"twice", [](const Text& o) { return o + o; }},
      {"backwards", [](const Text& o) { return Text(o.rbegin(), o.rend()); }, false},
      {"metadata that end early",
       [](const Text&) {
         // Behind the name a generateName that is longer than all that follows, then the namespace.
         const Text metadata = Text("\x0a\x02") + "d0" + "\x12\x7f\x1a\x01" + "a";
         return "\x0a" + Text(1, static_cast<char>(metadata.size())) + metadata;
       }},
      {"in an envelope", [](const Text& o) { return Text("k8s\0", 4) + o; }, false},
  };
  const std::vector<std::pair<const char*, Text>> tails = {
      {"half a tag", "\x0a"},
      {"wire type 7", "\x17\x01"},
      {"wire type 6", "\x16\x01"},
      {"end of no group", "\x14"},
      {"group without an end", "\x13\x13\x13"},
      {"field 0", Text("\x02\x00", 2)},
      {"huge length", "\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f"},
      {"length of 2^62", "\x12\x80\x80\x80\x80\x80\x80\x80\x80\x40"},
      {"varint without an end", "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"},
      {"spec as a number", "\x10\x05"},
      {"spec as fixed 64", "\x11\x01\x02\x03\x04\x05\x06\x07\x08"},
      {"spec as fixed 32", "\x15\x01\x02\x03\x04"},
      {"spec of garbage", "\x12\x03\xff\xff\xff"},
      {"status as a number", "\x18\x01"},
      {"status of garbage", "\x1a\x03\xff\xff\xff"},
      {"metadata as a number", "\x08\x01"},
      {"metadata with half a name", "\x0a\x02\x0a\x05"},
      {"metadata with a number as labels", "\x0a\x02\x58\x01"},
      {"metadata with labels of garbage", "\x0a\x04\x5a\x02\xff\xff"},
      {"metadata with a time of garbage", "\x0a\x04\x42\x02\xff\xff"},
      {"replicas as text", "\x12\x03\x0a\x01x"},
      {"a template of garbage", "\x12\x04\x1a\x02\xff\xff"},
      {"a selector of garbage", "\x12\x04\x12\x02\xff\xff"},
      {"text that is no text", "\x0a\x0b\x62\x09\x0a\x04note\x12\x01\xff"},
      {"half a fixed 64", "\x59\x01"},
      {"half a fixed 32", "\x5d\x01"},
  };
  for (const auto& [name, tail] : tails) {
    all.push_back({name, [tail = tail](const Text& o) { return o + tail; }});
  }
  for (unsigned seed = 0; seed < 24; ++seed) {
    all.push_back({"random bytes " + std::to_string(seed),
                   [seed](const Text& o) {
                     std::mt19937 random(seed);
                     Text out = o;
                     for (unsigned i = 0; i <= seed % 6; ++i) out[random() % out.size()] = static_cast<char>(random());
                     return out;
                   },
                   false});
  }
  return all;
}

}  // namespace kube::internal
