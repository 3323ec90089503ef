// What a request asks for: the path, the query and the media types, taken apart.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/result.h"
#include "kube/serve/http_server.h"

namespace kube::apiserver {

// Who asks. Filled by authentication.
struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  bool InGroup(std::string_view group) const;
};

// The parameters behind '?', decoded. The first of several of one name counts.
class Query {
 public:
  // Malformed escapes are kept as they are, as Go's lenient parser drops only the bad pair.
  static Query Parse(std::string_view text);
  std::string_view Get(std::string_view name) const;
  bool Has(std::string_view name) const;
  std::vector<std::string> All(std::string_view name) const;
  // "true", "1" and so on as Go's ParseBool; anything else that is present counts as set, as the real server has it for booleans.
  bool Flag(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

// The path of an API request: /apis/<group>/<version>/namespaces/<ns>/<resource>/<name>/<subresource>.
struct RequestPath {
  bool is_resource = false;  // else the parts say where it leads
  std::vector<std::string> parts;
  std::string group, version, ns, resource, name, subresource;
  std::vector<std::string> rest;  // behind the subresource: proxy paths
  bool legacy_watch = false;      // /api/v1/watch/...
  bool malformed = false;         // has an escape that is none
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

// How the answer shall look.
struct AnswerForm {
  Encoding encoding = Encoding::kJson;
  Transform transform = Transform::kNone;
  std::string transform_version = "v1";  // of meta.k8s.io
  bool pretty = false;
  std::string_view ContentType() const;
};
// Errors: 406. `custom`: protobuf is not offered. `transforms`: Table and PartialObjectMetadata are.
Result<AnswerForm> Negotiate(std::string_view accept, bool custom, bool transforms, bool is_list);

// The encoding of a body. No content type means JSON. Errors: 415.
Result<Encoding> BodyEncoding(std::string_view content_type, bool custom);

}  // namespace kube::apiserver
