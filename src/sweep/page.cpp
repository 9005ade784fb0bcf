// SPDX-License-Identifier: Apache-2.0
#include "page.h"

#include "page_files.h"

namespace longship::sweep {
namespace {

// A text among HTML, or JSON in a script element, ends neither: "<" is written otherwise.
std::string without_tags(std::string_view text, std::string_view instead) {
  std::string safe;
  for (const char letter : text)
    if (letter == '<')
      safe += instead;
    else
      safe += letter;
  return safe;
}

}  // namespace

std::string page(const formats::Table& study) {
  const auto* name = study.find("name");
  const auto title = without_tags(name != nullptr ? name->text() : "study", "&lt;");
  const auto data = without_tags(formats::dump_json(study), "\\u003c");
  std::string text;
  auto rest = page_template;
  while (!rest.empty()) {
    const auto at = rest.find('@');
    text += rest.substr(0, at);
    if (at == std::string_view::npos) break;
    rest.remove_prefix(at);
    const auto put = [&](std::string_view mark, std::string_view what) {
      if (!rest.starts_with(mark)) return false;
      text += what;
      rest.remove_prefix(mark.size());
      return true;
    };
    if (put("@TITLE@", title) || put("@STYLE@", page_style) || put("@STUDY@", data) ||
        put("@SCRIPT@", page_script))
      continue;
    text += '@';
    rest.remove_prefix(1);
  }
  return text;
}

}  // namespace longship::sweep
