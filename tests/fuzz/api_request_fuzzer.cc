// What the embedded server reads of a request before it knows what to do: a path with its query, an Accept header, a fault; one to a line.
#include <string>
#include <string_view>

#include "apiserver/faults.h"
#include "apiserver/request.h"
#include "kube/codec/json.h"
#include "require.h"

namespace {

std::string_view Line(std::string_view& text) {
  std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace apiserver = kube::apiserver;
  using kube::fuzz::Require;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string_view target = Line(text), accept = Line(text);

  std::size_t question = target.find('?');
  apiserver::RequestPath path = apiserver::ParsePath(target.substr(0, question));
  for (const std::string& part : path.parts) {
    Require(!part.empty() && part.find('/') == std::string::npos, "parts are parts");
    Require(path.leads_nowhere || !path.is_resource || (part != "." && part != ".."), "dots lead nowhere");
  }
  Require(!path.is_resource || (!path.version.empty() && !path.resource.empty()), "a resource has a name");
  Require(path.is_resource || path.resource.empty(), "what is none has none");
  Require(path.subresource.empty() || !path.name.empty(), "a subresource is of an object");
  if (question != std::string_view::npos) {
    apiserver::Query query = apiserver::Query::Parse(target.substr(question + 1));
    for (const char* name : {"watch", "limit", ""}) {
      Require(query.Has(name) == !query.All(name).empty(), "what is there is there");
      Require(!query.Has(name) || query.Get(name) == query.All(name).front(), "the first one counts");
      Require(query.Has(name) || !query.Flag(name), "what is not there is not set");
    }
  }

  double last = 0;
  for (bool first = true; const apiserver::MediaRange& range : apiserver::ParseAccept(accept)) {
    Require(first || !(range.quality > last), "the best one first");
    last = range.quality;
    first = false;
  }
  for (bool custom : {false, true}) {
    for (bool list : {false, true}) {
      kube::Result<apiserver::AnswerForm> form = apiserver::Negotiate(accept, custom, true, list);
      Require(form.ok() || form.error().http_code() == 406, "a form, or 406");
      Require(!form.ok() || !custom || form->encoding != apiserver::Encoding::kProtobuf, "custom resources have no protobuf form");
    }
    kube::Result<apiserver::Encoding> encoding = apiserver::BodyEncoding(accept, custom);
    Require(encoding.ok() || encoding.error().http_code() == 415, "an encoding, or 415");
  }

  kube::Result<kube::Value> json = kube::ParseJson(text);
  if (!json) return 0;
  kube::Result<apiserver::Fault> fault = apiserver::Fault::FromValue(*json);
  if (!fault) {
    Require(fault.error().kind() == kube::ErrorKind::kInvalid, "a bad fault is invalid");
    return 0;
  }
  Require(fault->times == -1 || fault->times > 0, "a fault happens");
  Require(fault->status >= 400 && fault->status < 600, "a fault is an error");
  apiserver::Faults faults;
  int id = faults.Add(*fault);
  (void)faults.Take("get", "pods", "x", "y");
  (void)faults.TakeGone("watch", "pods", "x", "y");
  faults.Remove(id);
  Require(faults.All().empty() && !faults.any_watch_faults(), "what is removed is gone");
  return 0;
}
