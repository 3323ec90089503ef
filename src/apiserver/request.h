// The parsed parts of a request: path, query and media types.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/result.h"
#include "kube/serve/http_server.h"

namespace kube::apiserver {

// The user of the request. Set by authentication.
struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  bool InGroup(std::string_view group) const;
};

// The decoded query parameters. If a name occurs several times, the first value counts.
class Query {
 public:
  // Malformed escapes are kept: Go's lenient parser drops only the bad pair.
  static Query Parse(std::string_view text);
  std::string_view Get(std::string_view name) const;
  bool Has(std::string_view name) const;
  std::vector<std::string> All(std::string_view name) const;
  // Parses "true", "1" and so on like Go's ParseBool. Any other value that is present counts as true, as in the real server.
  bool Flag(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

// The path of an API request: /apis/<group>/<version>/namespaces/<ns>/<resource>/<name>/<subresource>.
struct RequestPath {
  bool is_resource = false;  // otherwise the other members describe the path
  std::vector<std::string> parts;
  std::string group, version, ns, resource, name, subresource;
  std::vector<std::string> rest;  // after the subresource: proxy paths
  bool legacy_watch = false;      // /api/v1/watch/...
  bool malformed = false;         // has an invalid escape
  bool leads_nowhere = false;     // an API path with empty parts, "." or ".."
};
// Decodes, then splits, as the real server does.
RequestPath ParsePath(std::string_view raw);
std::string PercentDecode(std::string_view text, bool plus_is_space);

// One alternative of an Accept header.
struct MediaRange {
  std::string type;  // "application/json"
  std::vector<std::pair<std::string, std::string>> parameters;
  double quality = 1;
  std::string_view Get(std::string_view name) const;
};
// In order of preference.
std::vector<MediaRange> ParseAccept(std::string_view header);

enum class Encoding { kJson, kYaml, kProtobuf };
enum class Transform { kNone, kTable, kPartialMetadata };

// The requested form of the answer.
struct AnswerForm {
  Encoding encoding = Encoding::kJson;
  Transform transform = Transform::kNone;
  std::string transform_version = "v1";  // of meta.k8s.io
  bool pretty = false;
  std::string_view ContentType() const;
};
// Errors: 406. `custom`: protobuf is not offered. `transforms`: Table and PartialObjectMetadata are.
Result<AnswerForm> Negotiate(std::string_view accept, bool custom, bool transforms, bool is_list);

// The encoding of a body; JSON without a content type. Errors: 415.
Result<Encoding> BodyEncoding(std::string_view content_type, bool custom);

}  // namespace kube::apiserver
