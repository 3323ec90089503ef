#include "apiserver/request.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "apiserver/errors.h"

namespace kube::apiserver {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string_view Trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

std::string Lower(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

MediaRange ParseMediaRange(std::string_view text) {
  MediaRange range;
  std::size_t end = text.find(';');
  range.type = Lower(Trim(text.substr(0, end)));
  while (end != std::string_view::npos) {
    text.remove_prefix(end + 1);
    end = text.find(';');
    std::string_view parameter = Trim(text.substr(0, end));
    std::size_t equals = parameter.find('=');
    if (equals == std::string_view::npos) continue;
    std::string name = Lower(Trim(parameter.substr(0, equals)));
    std::string_view value = Trim(parameter.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    if (name == "q") {
      if (value.empty()) continue;
      // What is no number counts as none, as in the real server. (NaN would leave the ranges without an order.)
      const std::string number(value);
      char* parsed = nullptr;
      range.quality = std::strtod(number.c_str(), &parsed);
      if (*parsed != '\0' || std::isnan(range.quality)) range.quality = 0;
    } else {
      range.parameters.emplace_back(std::move(name), std::string(value));
    }
  }
  return range;
}

}  // namespace

bool User::InGroup(std::string_view group) const { return std::find(groups.begin(), groups.end(), group) != groups.end(); }

std::string PercentDecode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 && HexDigit(text[i + 2]) >= 0) {
      out += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else {
      out += text[i];
    }
  }
  return out;
}

Query Query::Parse(std::string_view text) {
  Query out;
  while (!text.empty()) {
    std::size_t end = text.find('&');
    std::string_view pair = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (pair.empty()) continue;
    std::size_t equals = pair.find('=');
    std::string name = PercentDecode(pair.substr(0, equals), true);
    std::string value = equals == std::string_view::npos ? std::string() : PercentDecode(pair.substr(equals + 1), true);
    out.values_.emplace_back(std::move(name), std::move(value));
  }
  return out;
}

std::string_view Query::Get(std::string_view name) const {
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
  }
  return {};
}

bool Query::Has(std::string_view name) const {
  return std::any_of(values_.begin(), values_.end(), [&](const auto& pair) { return pair.first == name; });
}

std::vector<std::string> Query::All(std::string_view name) const {
  std::vector<std::string> out;
  for (const auto& [key, value] : values_) {
    if (key == name) out.push_back(value);
  }
  return out;
}

bool Query::Flag(std::string_view name) const {
  if (!Has(name)) return false;
  std::string value = Lower(Get(name));
  return value != "false" && value != "0" && value != "f";
}

RequestPath ParsePath(std::string_view raw) {
  RequestPath out;
  for (std::size_t i = raw.find('%'); i != std::string_view::npos; i = raw.find('%', i + 1)) {
    if (i + 2 >= raw.size() || HexDigit(raw[i + 1]) < 0 || HexDigit(raw[i + 2]) < 0) out.malformed = true;
  }
  std::string path = PercentDecode(raw, false);
  if (path.find("//") != std::string::npos) out.leads_nowhere = true;
  std::size_t start = 0;
  while (start <= path.size()) {
    std::size_t end = path.find('/', start);
    if (end == std::string::npos) end = path.size();
    if (end > start) out.parts.push_back(path.substr(start, end - start));
    start = end + 1;
  }
  for (const std::string& part : out.parts) out.leads_nowhere = out.leads_nowhere || part == "." || part == "..";
  const std::vector<std::string>& p = out.parts;
  if (p.empty() || (p[0] != "api" && p[0] != "apis")) out.leads_nowhere = false;
  std::size_t i = 0;
  if (p.size() >= 3 && p[0] == "api") {
    out.version = p[1];
    i = 2;
  } else if (p.size() >= 4 && p[0] == "apis") {
    out.group = p[1];
    out.version = p[2];
    i = 3;
  } else {
    return out;
  }
  out.is_resource = true;
  if (p[i] == "watch" && p.size() > i + 1) {
    out.legacy_watch = true;
    ++i;
  }
  if (p[i] == "namespaces" && p.size() > i + 2 && !(p.size() == i + 3 && (p[i + 2] == "status" || p[i + 2] == "finalize"))) {
    out.ns = p[i + 1];
    i += 2;
  }
  out.resource = p[i++];
  if (i < p.size()) out.name = p[i++];
  if (i < p.size()) out.subresource = p[i++];
  out.rest.assign(p.begin() + static_cast<std::ptrdiff_t>(i), p.end());
  return out;
}

std::string_view MediaRange::Get(std::string_view name) const {
  for (const auto& [key, value] : parameters) {
    if (key == name) return value;
  }
  return {};
}

std::vector<MediaRange> ParseAccept(std::string_view header) {
  std::vector<MediaRange> out;
  while (!header.empty()) {
    std::size_t end = header.find(',');
    std::string_view item = Trim(header.substr(0, end));
    header = end == std::string_view::npos ? std::string_view() : header.substr(end + 1);
    if (!item.empty()) out.push_back(ParseMediaRange(item));
  }
  // The more specific range of equal quality comes first; else as written.
  auto rank = [](const MediaRange& r) { return r.type == "*/*" ? 0 : r.type.ends_with("/*") ? 1 : 2; };
  std::stable_sort(out.begin(), out.end(), [&](const MediaRange& a, const MediaRange& b) {
    if (a.quality != b.quality) return a.quality > b.quality;
    return rank(a) > rank(b);
  });
  return out;
}

std::string_view AnswerForm::ContentType() const {
  switch (encoding) {
    case Encoding::kYaml:
      return "application/yaml";
    case Encoding::kProtobuf:
      return "application/vnd.kubernetes.protobuf";
    case Encoding::kJson:
      break;
  }
  return "application/json";
}

Result<AnswerForm> Negotiate(std::string_view accept, bool custom, bool transforms, bool is_list) {
  AnswerForm out;
  if (Trim(accept).empty()) return out;
  std::vector<std::string> offered = {"application/json", "application/yaml"};
  if (!custom) offered.push_back("application/vnd.kubernetes.protobuf");
  bool any_known = false;
  for (const MediaRange& range : ParseAccept(accept)) {
    if (range.quality <= 0) continue;
    AnswerForm form;
    if (range.type == "application/json" || range.type == "*/*") {
      form.encoding = Encoding::kJson;
    } else if (range.type == "application/yaml") {
      form.encoding = Encoding::kYaml;
    } else if (range.type == "application/vnd.kubernetes.protobuf" && !custom) {
      form.encoding = Encoding::kProtobuf;
    } else {
      continue;
    }
    any_known = true;
    form.pretty = range.Get("pretty") == "1" || range.Get("pretty") == "true";
    std::string_view as = range.Get("as");
    if (!as.empty()) {
      if (!transforms || range.Get("g") != "meta.k8s.io") continue;
      form.transform_version = range.Get("v");
      if (form.transform_version != "v1" && form.transform_version != "v1beta1") continue;
      if (as == "Table") {
        form.transform = Transform::kTable;
      } else if (as == (is_list ? "PartialObjectMetadataList" : "PartialObjectMetadata")) {
        form.transform = Transform::kPartialMetadata;
      } else {
        continue;
      }
    }
    return form;
  }
  return any_known ? NotAcceptable(offered) : NoSuchRepresentation(offered);
}

Result<Encoding> BodyEncoding(std::string_view content_type, bool custom) {
  std::string type = ParseMediaRange(content_type).type;
  if (type.empty() || type == "application/json") return Encoding::kJson;
  if (type == "application/yaml") return Encoding::kYaml;
  if (type == "application/vnd.kubernetes.protobuf" && !custom) return Encoding::kProtobuf;
  std::vector<std::string> accepted = {"application/json", "application/yaml"};
  if (!custom) accepted.push_back("application/vnd.kubernetes.protobuf");
  return UnsupportedMediaType(accepted);
}

}  // namespace kube::apiserver
