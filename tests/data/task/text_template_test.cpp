#include "convseq/data/task/text_template.h"

#include <gtest/gtest.h>

#include "convseq/base/error.h"
#include "temp_folder.h"

namespace convseq {
using testing::message_of;

namespace {
Row pair() {
  Row row;
  row.add("premise", "A dog {runs}.");
  row.add("hypothesis", "An animal moves.");
  return row;
}
}  // namespace

TEST(TextTemplate, PutsFieldsInAndSaysWhere) {
  const TextTemplate pattern("nli: {premise} so: {hypothesis}!");
  const auto rendered = pattern.render(pair());
  EXPECT_EQ(rendered.text, "nli: A dog {runs}. so: An animal moves.!");
  EXPECT_EQ(pattern.fields(), (std::vector<std::string>{"premise", "hypothesis"}));
  ASSERT_EQ(rendered.spans.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const auto [begin, end] = rendered.spans[i];
    EXPECT_EQ(rendered.text.substr(begin, end - begin), pair().text(pattern.fields()[i]));
  }
}

TEST(TextTemplate, DoubledBracesStandForThemselves) {
  EXPECT_EQ(TextTemplate("{{{premise}}}").render(pair()).text, "{A dog {runs}.}");
  EXPECT_EQ(TextTemplate("no field").render(pair()).text, "no field");
}

TEST(TextTemplate, NamesWhatIsWrong) {
  EXPECT_EQ(message_of<Error>([] { TextTemplate("{text").render(pair()); }),
            "the template \"{text\" has a { that begins or ends no {field}; write {{ for the "
            "character itself");
  for (const char* bad : {"text}", "{}", "{a{b}", "{a}}"}) {
    EXPECT_THROW(TextTemplate{bad}, Error) << bad;
  }
  EXPECT_EQ(message_of<Error>([] { TextTemplate("{text}").render(pair()); }),
            "has no column text; it has: premise, hypothesis");
}

}  // namespace convseq
