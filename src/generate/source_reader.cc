#include "generate/source_reader.h"

#include <optional>
#include <utility>

#include "generate/comment_text.h"
#include "generate/tokens.h"

namespace kube::generate {

void ReadSource(const std::string& path, std::string_view text, const MarkerOptions& options, Model& model, Problems& problems) {
  File& file = model.files.emplace_back();
  file.path = path;
  file.given = false;
  file.source = true;
  Problems of_cxx;  // the compiler's business
  const TokenStream tokens = Tokenize(path, text, of_cxx);
  if (text.size() > kMostHeaderBytes) problems.Warning({tokens.file, 1, 1}, "more than 4 MiB: not searched for markers");
  for (const Token& token : tokens.tokens) {
    if (token.kind != TokenKind::kDirective) continue;
    if (const std::optional<std::string_view> name = IncludedName(token.text)) file.includes.emplace_back(*name);
  }
  for (const Comment& comment : tokens.comments) {
    const std::string_view marker_text = MarkerText(comment);
    if (!marker_text.starts_with("+kubebuilder:")) continue;
    if (MayStand(marker_text, kEverywhere) && !MayStand(marker_text, kInSource)) continue;
    Position at = tokens.At(comment);
    at.column += static_cast<int>(comment.text.find('+'));
    if (std::optional<Marker> marker = ParseMarker(marker_text, at, kInSource, options, problems))
      file.markers.push_back(*std::move(marker));
  }
}

}  // namespace kube::generate
