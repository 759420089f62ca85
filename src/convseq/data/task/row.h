#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convseq {

// One line of a table: named fields, each a text or a list of texts.
class Row {
 public:
  struct Field {
    std::string name;
    std::string text;                // for a list: its items, joined by ", "
    std::vector<std::string> items;  // for a text: only that text
  };

  void clear() { fields_.clear(); }
  void add(std::string name, std::string text);
  void add(std::string name, std::vector<std::string> items);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  // A missing field is an Error that names it and the existing fields.
  const Field& field(std::string_view name) const;
  const std::string& text(std::string_view name) const { return field(name).text; }

  const std::vector<Field>& fields() const { return fields_; }

 private:
  const Field* find(std::string_view name) const;

  std::vector<Field> fields_;
};

}  // namespace convseq
