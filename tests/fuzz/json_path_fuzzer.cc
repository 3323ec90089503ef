// JSONPath of printer columns: first line is the path, the rest an object. Nothing crashes, memory stays in bounds, and the first
// result is the first of all.
#include <cstdint>
#include <string_view>

#include "apiserver/json_path.h"
#include "kube/codec/json.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using kube::Result;
  using kube::Value;
  using kube::apiserver::JsonPath;
  using kube::fuzz::Require;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::size_t line = text.find('\n');
  Result<JsonPath> path = JsonPath::Parse(text.substr(0, line));
  if (!path) return 0;
  Result<Value> object = kube::ParseJson(line == std::string_view::npos ? std::string_view() : text.substr(line + 1));
  static const Value* fallback = new Value(Value::Object({{"a", Value::Array({1, 2.5, "x", true, Value(), Value::Object({{"a", 1}})})}}));
  const Value& in = object ? *object : *fallback;
  Result<std::vector<Value>> all = path->Find(in);
  std::optional<Value> first = path->First(in);
  Require(first.has_value() == (all.ok() && !all->empty()), "First() is there where Find() finds");
  if (!first) return 0;
  Require(*first == all->front(), "First() is the first");
  for (const char* type : {"string", "integer", "number", "boolean", "date"}) {
    kube::apiserver::CellOf(type, *first, kube::Time::FromUnix(1'800'000'000));
  }
  return 0;
}
