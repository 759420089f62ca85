#include <fmt/format.h>

#include "convseq/study/report/document.h"
#include "convseq/study/report/markup.h"

namespace convseq::report {
namespace {

constexpr const char* kPageStyle = R"(
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #ffffff; --line: #d8d8d8; --soft: #f4f4f4; --link: #0b57d0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e4e4; --paper: #16181c; --line: #3a3d44; --soft: #20232a; --link: #8ab4f8; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
a { color: var(--link); } pre { background: var(--soft); padding: .75rem; overflow-x: auto; }
.wide { overflow-x: auto; margin: 1rem 0; } table { border-collapse: collapse; font-size: .85rem; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; } th, td { border: 1px solid var(--line); padding: .25rem .5rem; text-align: left; white-space: nowrap; }
th { background: var(--soft); } tr:target td { background: var(--soft); font-weight: 600; } figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; } figcaption { font-size: .9rem; }
nav li { margin: .1rem 0; }
)";

std::string link_to(const std::string& anchor) {
  return fmt::format("<a href=\"#run-{0}\">{0}</a>", escape_markup(anchor));
}

std::string html_of(const Paragraph& paragraph) {
  const char* tag = paragraph.code ? "pre" : "p";
  return fmt::format("<{0}>{1}</{0}>\n", tag, escape_markup(paragraph.text));
}

std::string html_of(const Table& table) {
  std::string text = "<div class=\"wide\"><table>\n";
  if (!table.caption.empty()) text += "<caption>" + escape_markup(table.caption) + "</caption>\n";
  text += "<thead><tr>";
  for (const std::string& name : table.header) text += "<th>" + escape_markup(name) + "</th>";
  text += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    const bool target = !row.empty() && !row.front().anchor.empty();
    text += target ? fmt::format("<tr id=\"run-{}\">", escape_markup(row.front().anchor)) : "<tr>";
    for (const TableCell& cell : row) {
      text += "<td>" + escape_markup(cell.text);
      for (size_t i = 0; i < cell.links.size(); ++i) {
        text += (i > 0 ? ", " : cell.text.empty() ? "" : " ") + link_to(cell.links[i]);
      }
      text += "</td>";
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string html_of(const Plot& plot) {
  return fmt::format("<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n", plot.svg,
                     escape_markup(plot.caption));
}

}  // namespace

std::string to_html(const Document& document) {
  const std::string title = escape_markup(document.title);
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n"
      "<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
      title, kPageStyle);
  std::string contents;
  for (size_t i = 0; i < document.sections.size(); ++i) {
    const std::string& name = document.sections[i].title;
    if (name.empty()) continue;
    contents += fmt::format("<li><a href=\"#section-{}\">{}</a></li>\n", i, escape_markup(name));
  }
  text += "<nav><ul>\n" + contents + "</ul></nav>\n";
  for (size_t i = 0; i < document.sections.size(); ++i) {
    const Section& section = document.sections[i];
    if (!section.title.empty()) {
      text += fmt::format("<h2 id=\"section-{}\">{}</h2>\n", i, escape_markup(section.title));
    }
    if (!section.answer.empty()) text += html_of(Paragraph{section.answer});
    for (const Block& block : section.blocks) {
      text += std::visit([](const auto& each) { return html_of(each); }, block);
    }
  }
  return text + "</body>\n</html>\n";
}

}  // namespace convseq::report
