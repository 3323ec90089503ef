#include "generate/schema_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "generate/markdown.h"
#include "kube/codec/json.h"

namespace kube::generate {
namespace {

// For a bound that is also in allOf, keeps only the tighter one.
Value Tightened(const Value& schema) {
  const List<Value>& parts = schema["allOf"].list();
  if (parts.empty()) return schema;
  Value out = schema;
  Value rest = Value::Array();
  for (Value part : parts) {
    for (const char* key : {"minimum", "minLength", "minItems", "minProperties", "maximum", "maxLength", "maxItems", "maxProperties"}) {
      const Value* bound = std::as_const(part).Find(key);
      if (bound == nullptr || part.Find("exclusiveMinimum") != nullptr || part.Find("exclusiveMaximum") != nullptr) continue;
      const Value* other = std::as_const(out).Find(key);
      const bool least = std::string_view(key).starts_with("min");
      const bool tighter =
          other == nullptr || (least ? bound->double_value() > other->double_value() : bound->double_value() < other->double_value());
      if (tighter) out[key] = *bound;
      part.MutableObject().Erase(key);
    }
    rest.MutableList().push_back(std::move(part));
  }
  out["allOf"] = std::move(rest);
  return out;
}

class Words {
 public:
  Words(Value schema, const Value& known) : schema_(std::move(schema)), known_(known) {}

  std::vector<std::string> Run() {
    AddEnum();
    AddNumbers();
    AddSizes();
    AddTexts();
    AddLists();
    AddRules();
    if (New("nullable") != nullptr) Say("May be null.");
    if (New("x-kubernetes-embedded-resource") != nullptr) Say("An object with `apiVersion`, `kind` and `metadata`.");
    if (New("x-kubernetes-preserve-unknown-fields") != nullptr && schema_["type"].string_value() == "object")
      Say("Unknown fields are kept.");
    AddBelow("items", "Each item");
    AddBelow("additionalProperties", "Each value");
    for (const Value& part : schema_["allOf"].list()) {
      for (std::string& word : Words(part, known_).Run()) Say(std::move(word));
    }
    return std::move(out_);
  }

 private:
  void Say(std::string sentence) {
    if (std::find(out_.begin(), out_.end(), sentence) == out_.end()) out_.push_back(std::move(sentence));
  }
  // A member that `known` does not say.
  const Value* New(const char* key) const {
    const Value* found = schema_.Find(key);
    if (found == nullptr || (found->is_bool() && !found->bool_value())) return nullptr;
    const Value* other = known_.Find(key);
    return other != nullptr && *other == *found ? nullptr : found;
  }

  void AddEnum() {
    const Value* values = New("enum");
    if (values == nullptr) return;
    std::vector<std::string> codes;
    for (const Value& value : values->list()) codes.push_back(MarkdownValue(value));
    Say(fmt::format("One of {}.", fmt::join(codes, ", ")));
  }

  void AddNumbers() {
    const Value *least = New("minimum"), *most = New("maximum");
    const bool above = schema_["exclusiveMinimum"].bool_value(), under = schema_["exclusiveMaximum"].bool_value();
    auto lower = [&] { return fmt::format("{} {}", above ? "more than" : "at least", ToJson(*least)); };
    auto upper = [&] { return fmt::format("{} {}", under ? "less than" : "at most", ToJson(*most)); };
    if (least != nullptr && most != nullptr) {
      Say(above || under ? fmt::format("{} and {}.", Capital(lower()), upper()) : fmt::format("{} to {}.", ToJson(*least), ToJson(*most)));
    } else if (least != nullptr) {
      Say(Capital(lower()) + ".");
    } else if (most != nullptr) {
      Say(Capital(upper()) + ".");
    }
    if (const Value* step = New("multipleOf"); step != nullptr && *step != Value(1)) Say(fmt::format("A multiple of {}.", ToJson(*step)));
  }
  static std::string Capital(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
  }

  void AddSizes() {
    AddSize("minLength", "maxLength", "character");
    AddSize("minItems", "maxItems", "item");
    AddSize("minProperties", "maxProperties", schema_.Find("additionalProperties") != nullptr ? "key" : "field");
  }
  void AddSize(const char* least_key, const char* most_key, std::string_view what) {
    const Value *least = New(least_key), *most = New(most_key);
    auto plural = [&](const Value& n) { return n.int_value() == 1 ? std::string(what) : std::string(what) + "s"; };
    if (least != nullptr && least->int_value() == 0) least = nullptr;
    if (least != nullptr && most != nullptr && *least == *most) {
      Say(fmt::format("Exactly {} {}.", ToJson(*least), plural(*least)));
    } else if (least != nullptr && most != nullptr) {
      Say(fmt::format("{} to {} {}.", ToJson(*least), ToJson(*most), plural(*most)));
    } else if (least != nullptr) {
      Say(fmt::format("At least {} {}.", ToJson(*least), plural(*least)));
    } else if (most != nullptr) {
      Say(fmt::format("At most {} {}.", ToJson(*most), plural(*most)));
    }
  }

  void AddTexts() {
    if (const Value* pattern = New("pattern")) Say(fmt::format("Matches {}.", MarkdownCode(pattern->string_value())));
    if (const Value* format = New("format"); format != nullptr && schema_["type"].string_value() == "string") {
      Say(fmt::format("Format {}.", MarkdownCode(format->string_value())));
    }
  }

  void AddLists() {
    std::string_view type = schema_["x-kubernetes-list-type"].string_value();
    if (New("uniqueItems") != nullptr || type == "set") Say("No two items are equal.");
    if (type == "map") {
      std::vector<std::string> keys;
      for (const Value& key : schema_["x-kubernetes-list-map-keys"].list()) keys.push_back(MarkdownCode(key.string_value()));
      Say(fmt::format("No two items have the same {}.", fmt::join(keys, " and ")));
    }
  }

  void AddRules() {
    const List<Value>& known = known_["x-kubernetes-validations"].list();
    for (const Value& rule : schema_["x-kubernetes-validations"].list()) {
      if (std::find(known.begin(), known.end(), rule) != known.end()) continue;
      Say(RuleWords(rule, true));
    }
  }

  void AddBelow(const char* key, std::string_view what) {
    const Value* below = schema_.Find(key);
    if (below == nullptr || !below->is_object()) return;
    for (const std::string& word : SchemaWords(*below, known_[key])) Say(fmt::format("{}: {}", what, word));
  }

  const Value schema_;
  const Value& known_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> SchemaWords(const Value& schema, const Value& known) { return Words(Tightened(schema), known).Run(); }

std::string RuleWords(const Value& rule, bool cell) {
  std::string_view text = rule["rule"].string_value(), message = rule["message"].string_value();
  if (text == "self == oldSelf") return "Cannot be changed once it is set.";
  const std::string code = MarkdownCode(text, cell);
  if (message.empty()) return fmt::format("Rule: {}.", code);
  const std::string words = cell ? MarkdownCell(message) : MarkdownBlock(message);
  return fmt::format("Rule: {} ({}).", std::string_view(words).substr(0, words.find_last_not_of("\n") + 1), code);
}

}  // namespace kube::generate
