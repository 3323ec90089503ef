#include <simdjson.h>

#include "peers.h"

namespace kube::bench {
namespace {

namespace od = simdjson::ondemand;

// NOLINTNEXTLINE(misc-no-recursion)
std::uint64_t Walk(od::value value) {
  std::uint64_t sum = 0;
  switch (value.type()) {
    case od::json_type::object:
      for (auto field : value.get_object()) {
        std::string_view key = field.unescaped_key();
        sum += key.size() + Walk(field.value());
      }
      break;
    case od::json_type::array:
      for (auto element : value.get_array()) sum += Walk(element.value());
      break;
    case od::json_type::string:
      sum += std::string_view(value.get_string()).size();
      break;
    case od::json_type::number:
      sum += static_cast<std::uint64_t>(double(value.get_number().value().as_double()));
      break;
    case od::json_type::boolean:
      sum += bool(value.get_bool()) ? 1 : 0;
      break;
    case od::json_type::null:
      sum += value.is_null() ? 1 : 0;
      break;
  }
  return sum;
}

// NOLINTNEXTLINE(misc-no-recursion)
std::uint64_t Walk(simdjson::dom::element element) {
  std::uint64_t sum = 0;
  switch (element.type()) {
    case simdjson::dom::element_type::OBJECT:
      for (auto field : simdjson::dom::object(element)) sum += field.key.size() + Walk(field.value);
      break;
    case simdjson::dom::element_type::ARRAY:
      for (auto child : simdjson::dom::array(element)) sum += Walk(child);
      break;
    case simdjson::dom::element_type::STRING:
      sum += std::string_view(element).size();
      break;
    case simdjson::dom::element_type::INT64:
      sum += static_cast<std::uint64_t>(std::int64_t(element));
      break;
    case simdjson::dom::element_type::UINT64:
      sum += std::uint64_t(element);
      break;
    case simdjson::dom::element_type::DOUBLE:
      sum += static_cast<std::uint64_t>(double(element));
      break;
    case simdjson::dom::element_type::BOOL:
      sum += bool(element) ? 1 : 0;
      break;
    case simdjson::dom::element_type::NULL_VALUE:
      break;
  }
  return sum;
}

}  // namespace

std::uint64_t SimdjsonWalk(std::string_view text) {
  static od::parser parser;
  od::document document = parser.iterate(text, text.size() + kSimdjsonPadding);
  return Walk(document.get_value());
}

std::uint64_t SimdjsonDomWalk(std::string_view text) {
  static simdjson::dom::parser parser;
  return Walk(parser.parse(text.data(), text.size(), false).value());
}

}  // namespace kube::bench
