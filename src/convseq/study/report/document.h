#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convseq::report {

// A cell of a table. A row may be the target of links from other tables.
struct TableCell {
  TableCell(std::string shown) : text(std::move(shown)) {}  // NOLINT: a text is a cell
  TableCell(const char* shown) : text(shown) {}             // NOLINT
  TableCell(std::string shown, std::vector<std::string> links_to)
      : text(std::move(shown)), links(std::move(links_to)) {}

  std::string text;
  std::vector<std::string> links = {};  // anchors, shown after the text
  std::string anchor = {};
};

struct Table {
  std::string caption;
  std::vector<std::string> header;
  std::vector<std::vector<TableCell>> rows;
};

struct Paragraph {
  std::string text;
  bool code = false;
};

// The file of a plot: of "tokens my task.svg" "tokens_my_task.svg". Users give models and tasks any
// names.
std::string plot_file(std::string name);

struct Plot {
  std::string name;  // of the file, "gain.svg"
  std::string caption;
  std::string svg;
};

using Block = std::variant<Paragraph, Table, Plot>;

struct Section {
  std::string title;
  std::vector<Block> blocks = {};
  std::string answer = {};  // in a few sentences: the first paragraph

  void add_answer(const std::string& sentence) {
    answer += (answer.empty() || sentence.empty() ? "" : " ") + sentence;
  }
  std::string topic() const { return title.substr(0, title.find(':')); }  // "RQ1"
};

struct Document {
  std::string title;
  std::vector<Section> sections = {};
};

std::string to_markdown(const Document& document);  // refers to plots/NAME
std::string to_html(const Document& document);      // one file, plots inside

}  // namespace convseq::report
