#include "object_reader.h"

#include <algorithm>
#include <optional>

#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"
#include "kube/codec/yaml.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/resource.h"
#include "kube/meta/v1.h"

namespace kube::app {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kStrictPrefix = "strict decoding error: ";
constexpr int kMostNestedLists = 32;

// An object that has not been decoded. Exactly one of `json`, `protobuf` and `yaml` is set.
struct Raw {
  std::string_view json;
  std::string_view protobuf;
  const YamlDocument* yaml = nullptr;
};

// The JSON values of a text, in order; nullopt if it is not made of objects and lists only.
std::optional<std::vector<std::string_view>> SplitJson(std::string_view text) {
  std::vector<std::string_view> values;
  for (std::size_t i = text.find_first_not_of(kSpace); i < text.size(); i = text.find_first_not_of(kSpace, i)) {
    if (text[i] != '{' && text[i] != '[') return std::nullopt;
    std::size_t start = i;
    std::size_t depth = 0;
    bool in_string = false;
    for (; i < text.size(); ++i) {
      char c = text[i];
      if (in_string) {
        if (c == '\\') ++i;
        in_string = c != '"';
      } else if (c == '"') {
        in_string = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if ((c == '}' || c == ']') && --depth == 0) {
        ++i;
        break;
      }
    }
    i = std::min(i, text.size());
    values.push_back(text.substr(start, i - start));
  }
  return values;
}

class Reader {
 public:
  Reader(std::string_view file, bool strict, const TypeRegistry& registry, ReadResult& out)
      : file_(file), strict_(strict), registry_(registry), out_(out) {}

  void Run(std::string_view bytes) {
    if (HasProtobufEnvelope(bytes)) {
      // etcdctl appends a line feed to the value.
      if (bytes.back() == '\n' && !ParseProtobufEnvelope(bytes) && ParseProtobufEnvelope(bytes.substr(0, bytes.size() - 1))) {
        bytes.remove_suffix(1);
      }
      Top({.protobuf = bytes}, 0, 1);
    } else if (!RunJson(bytes)) {
      RunYaml(bytes);
    }
    if (out_.objects.empty() && out_.problems.empty()) out_.problems.push_back(file_ + ": contains no object");
  }

 private:
  const std::string file_;
  const bool strict_;
  const TypeRegistry& registry_;
  ReadResult& out_;

  // Returns false if the text should be read as YAML.
  bool RunJson(std::string_view text) {
    if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
    auto values = SplitJson(text);
    if (!values || values->empty()) return false;
    // YAML may start with a brace too.
    if (values->size() == 1 && !ParseJson(values->front()) && ReadYaml(text)) return false;
    for (std::size_t i = 0; i < values->size(); ++i) Top({.json = (*values)[i]}, i, values->size());
    return true;
  }

  void RunYaml(std::string_view text) {
    Result<std::vector<YamlDocument>> documents = ReadYaml(text);
    if (!documents) {
      out_.problems.push_back(file_ + ": " + documents.error().ToString());
      return;
    }
    auto end = std::remove_if(documents->begin(), documents->end(), [](const YamlDocument& d) { return d.value.is_null(); });
    documents->erase(end, documents->end());
    for (std::size_t i = 0; i < documents->size(); ++i) Top({.yaml = &(*documents)[i]}, i, documents->size());
  }

  void Top(const Raw& raw, std::size_t index, std::size_t count) {
    std::string where = file_;
    if (count > 1 && raw.yaml != nullptr) {
      where += ": document " + std::to_string(index + 1) + " at line " + std::to_string(raw.yaml->line);
    } else if (count > 1) {
      where += ": object " + std::to_string(index + 1);
    }
    ReadObject object;
    if (Read(raw, where, 0, object)) out_.objects.push_back(std::move(object));
  }

  bool Fail(const std::string& where, const std::string& message) {
    out_.problems.push_back(where + ": " + message);
    return false;
  }

  // A strict error lists several fields; each becomes a problem of its own.
  bool Fail(const std::string& where, const Error& error) {
    std::string message = error.ToString();
    if (message.substr(0, kStrictPrefix.size()) != kStrictPrefix) return Fail(where, message);
    message.erase(0, kStrictPrefix.size());
    for (std::size_t start = 0; start < message.size();) {
      std::size_t end = std::min(message.find(", unknown field \"", start + 1), message.find(", duplicate field \"", start + 1));
      Fail(where, message.substr(start, end == std::string::npos ? end : end - start));
      start = end == std::string::npos ? message.size() : end + 2;
    }
    return false;
  }

  bool Read(const Raw& raw, const std::string& where, int depth, ReadObject& out) {
    if (!raw.protobuf.empty()) return ReadProtobuf(raw.protobuf, where, depth, out);
    Value value;
    if (raw.yaml != nullptr) {
      value = raw.yaml->value;
    } else {
      Result<Value> parsed = ParseJson(raw.json);
      if (!parsed) return Fail(where, parsed.error());
      value = *std::move(parsed);
    }
    if (!value.is_object()) return Fail(where, "expected a Kubernetes object, got a " + std::string(value.kind_name()));
    Result<DynamicObject> dynamic = DynamicObject::FromValue(value);
    // Problems of the metadata are reported below, with their path.
    DynamicObject view(value);
    if (view.api_version().empty() || view.kind().empty()) {
      return Fail(where, std::string("the object has no ") + (view.kind().empty() ? "kind" : "apiVersion"));
    }
    Result<Gvk> gvk = Gvk::Parse(view.api_version().view(), view.kind().view());
    if (!gvk) return Fail(where, gvk.error());
    out.gvk = *gvk;
    out.key = view.key();
    out.where = where + " (" + out.Name() + ')';

    const TypeInfo* type = registry_.Find(out.gvk);
    bool fine = true;
    if (strict_ && raw.yaml != nullptr) {
      for (const std::string& duplicate : raw.yaml->duplicates) fine = Fail(out.where, "duplicate field " + duplicate);
    }
    if (type == nullptr) {
      if (!dynamic) return Fail(out.where, dynamic.error());
      if (strict_ && raw.yaml == nullptr) {
        if (auto r = ParseJson(raw.json, {.strict = true}); !r) return Fail(out.where, r.error());
      }
      if (strict_) out_.notes.push_back(out.where + ": not a built-in kind; its fields were not checked");
      out.dynamic = std::move(value);
      return fine;
    }
    out.typed = AnyObject(*type);
    DecodeOptions options{.strict = strict_};
    Result<void> decoded = raw.yaml != nullptr ? DecodeValue(*type, out.typed.mutable_data(), value, options)
                                               : DecodeJson(*type, out.typed.mutable_data(), raw.json, options);
    if (!decoded) return Fail(out.where, decoded.error());
    return ReadItems(out, depth) && fine;
  }

  bool ReadProtobuf(std::string_view bytes, const std::string& where, int depth, ReadObject& out) {
    Result<ProtobufEnvelope> envelope = ParseProtobufEnvelope(bytes);
    if (!envelope) return Fail(where, envelope.error());
    if (envelope->content_type == "application/json") return Read({.json = envelope->raw}, where, depth, out);
    if (envelope->kind.empty()) return Fail(where, "the object has no kind");
    Result<Gvk> gvk = Gvk::Parse(envelope->api_version.view(), envelope->kind.view());
    if (!gvk) return Fail(where, gvk.error());
    out.gvk = *gvk;
    out.where = where + " (" + out.Name() + ')';
    const TypeInfo* type = registry_.Find(out.gvk);
    if (type == nullptr) {
      return Fail(out.where, "not a built-in kind: protobuf cannot be read without knowing the fields; use JSON or YAML for it");
    }
    out.typed = AnyObject(*type);
    if (auto r = DecodeProtobuf(*type, out.typed.mutable_data(), bytes, {.strict = strict_}); !r) return Fail(out.where, r.error());
    if (const meta::v1::ObjectMeta* metadata = MetadataOf(out.typed)) out.key = KeyOf(*metadata);
    out.where = where + " (" + out.Name() + ')';
    return ReadItems(out, depth);
  }

  // A v1 List has items of any kind: each is decoded by its kind and put back as JSON.
  bool ReadItems(ReadObject& out, int depth) {
    if (&out.typed.type() != &meta::v1::List::kType) return true;
    out.is_mixed_list = true;
    if (depth >= kMostNestedLists) return Fail(out.where, "lists of lists, nested too deep");
    auto& list = *static_cast<meta::v1::List*>(out.typed.mutable_data());
    bool fine = true;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      String text = std::as_const(list.items)[i].text();
      std::string where = out.where + ": items[" + std::to_string(i) + ']';
      ReadObject item;
      Raw raw = HasProtobufEnvelope(text.view()) ? Raw{.protobuf = text.view()} : Raw{.json = text.view()};
      if (!Read(raw, where, depth + 1, item)) {
        fine = false;
        continue;
      }
      Result<Value> value = ToValue(item);
      if (!value) {
        fine = Fail(item.where, value.error());
        continue;
      }
      list.items[i] = ToRawJson(*value);
      out.items.push_back(std::move(item));
    }
    return fine;
  }
};

}  // namespace

std::string ReadObject::Name() const {
  std::string out = gvk.api_version().str() + ' ' + gvk.kind.str();
  if (!key.name.empty()) out += ' ' + key.ToString();
  return out;
}

Result<Value> ToValue(const ReadObject& object) {
  if (!object.typed) return object.dynamic;
  return kube::ToValue(object.typed.type(), object.typed.data());
}

ReadResult ReadObjects(std::string_view file, std::string_view bytes, bool strict, const TypeRegistry& registry) {
  ReadResult out;
  Reader(file, strict, registry, out).Run(bytes);
  return out;
}

}  // namespace kube::app
