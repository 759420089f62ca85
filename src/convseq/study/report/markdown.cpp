#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

#include "convseq/study/report/document.h"

namespace convseq::report {
namespace {

std::string escaped(const std::string& text) {  // inside a table
  std::string safe;
  for (const char c : text) {
    if (c == '\n') {
      safe += ' ';
    } else {
      safe += c == '|' ? "\\|" : std::string(1, c);
    }
  }
  return safe;
}

std::string cell_text(const TableCell& cell) {
  return escaped(fmt::format("{}{}{}", cell.text,
                             cell.text.empty() || cell.links.empty() ? "" : " ",
                             fmt::join(cell.links, ", ")));
}

std::string markdown_of(const Paragraph& paragraph) {
  return paragraph.code ? "```\n" + paragraph.text + "\n```\n" : paragraph.text + "\n";
}

std::string markdown_of(const Table& table) {
  std::string text = table.caption.empty() ? "" : "**" + table.caption + "**\n\n";
  text += "|";
  for (const std::string& name : table.header) text += fmt::format(" {} |", escaped(name));
  text += "\n|";
  for (size_t i = 0; i < table.header.size(); ++i) text += "---|";
  text += "\n";
  for (const auto& row : table.rows) {
    text += "|";
    for (const TableCell& cell : row) text += fmt::format(" {} |", cell_text(cell));
    text += "\n";
  }
  return text;
}

std::string markdown_of(const Plot& plot) {
  return fmt::format("![{}](plots/{})\n", plot.caption, plot.name);
}

}  // namespace

std::string plot_file(std::string name) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  };
  for (char& c : name) c = is_plain(c) ? c : '_';
  return name;
}

std::string to_markdown(const Document& document) {
  std::string text = "# " + document.title + "\n";
  for (const Section& section : document.sections) {
    if (!section.title.empty()) text += "\n## " + section.title + "\n";
    if (!section.answer.empty()) text += "\n" + markdown_of(Paragraph{section.answer});
    for (const Block& block : section.blocks) {
      text += "\n" + std::visit([](const auto& each) { return markdown_of(each); }, block);
    }
  }
  return text;
}

}  // namespace convseq::report
