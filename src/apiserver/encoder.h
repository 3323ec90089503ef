// Answers as bytes: JSON, YAML or protobuf; as they are, as a Table or as metadata only. Also the frames of a watch.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "apiserver/core.h"
#include "apiserver/request.h"
#include "apiserver/resources.h"
#include "apiserver/store.h"
#include "kube/base/result.h"

namespace kube::apiserver {

struct EncodeContext {
  const ServedResource* resource = nullptr;  // null: the object is of no resource
  AnswerForm form;
  Time now;                    // ages in tables
  std::string include_object;  // of Table: None, Metadata (default), Object
};

// Any object (a Status, a Scale, ...) in the wanted encoding. Kinds without a protobuf form become JSON; `content_type` says what it is.
struct Encoded {
  std::string body;
  std::string content_type;
};
Encoded EncodeValue(const Value& object, const AnswerForm& form);
Result<Encoded> EncodeAnswer(const Answer& answer, const EncodeContext& context);

// One event of a watch. `first`: the frame carries what only the first one does (a Table's columns).
Result<std::shared_ptr<const std::string>> EncodeEvent(std::string_view type, const StoredObject& object, const EncodeContext& context,
                                                       bool first);
// An event whose object is a Value: a bookmark, or an error Status.
std::shared_ptr<const std::string> EncodeEvent(std::string_view type, const Value& object, const EncodeContext& context);
// "application/json;stream=watch" as far as the real server says so.
std::string WatchContentType(const AnswerForm& form);

}  // namespace kube::apiserver
