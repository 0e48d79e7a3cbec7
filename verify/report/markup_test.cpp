#include "verify/report/markup.h"

#include <gtest/gtest.h>

#include <concepts>
#include <string>
#include <string_view>

namespace octlm::verify {
namespace {

// What nobody escaped is no markup, and cannot be joined to some: it does not compile.
static_assert(!std::constructible_from<Markup, std::string>);
static_assert(!std::constructible_from<Markup, std::string_view>);
static_assert(!std::constructible_from<Markup, const char*>);
static_assert(!std::constructible_from<Markup, char (&)[8]>, "a buffer holds what was put into it");
static_assert(!std::assignable_from<Markup&, std::string>);
template <class Text>
concept Joins = requires(Markup markup, Text text) {
  markup + text;
}
|| requires(Markup markup, Text text) { text + markup; }
|| requires(Markup markup, Text text) { markup += text; };
static_assert(!Joins<std::string>);
static_assert(!Joins<std::string_view>);
static_assert(!Joins<const char*>);
static_assert(!Joins<char>);
static_assert(!Joins<int>);
static_assert(Joins<Markup>);

TEST(Markup, IsMadeOfLiteralsAndWhatWasEscaped) {
  Markup text = "<b>" + for_markup("a<b") + "</b>";
  text += "<i>";
  text += number_markup(-7);
  EXPECT_EQ(text.text(), "<b>a&lt;b</b><i>-7");
  EXPECT_TRUE(Markup().empty());
  EXPECT_EQ(name_markup("<").text(), "&lt;");
  EXPECT_EQ(prose_markup("\"").text(), "&quot;");
}

TEST(Markup, TextIsShownAsItIs) {
  EXPECT_EQ(for_markup("a < b & \"c\" 'd' é 日本").text(),
            "a &lt; b &amp; &quot;c&quot; &#39;d&#39; é 日本");
  EXPECT_EQ(for_markup("</script>").text(), "&lt;/script&gt;");
  EXPECT_EQ(for_markup("a\nb\x7f\xE2\x80\xAE").text(), "a\\nb\\x7f\\u{202e}");
}

TEST(Markup, IsCutBetweenCodePoints) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abé", 3), "ab…");
  EXPECT_EQ(shortened("日本", 4), "日…");
}

}  // namespace
}  // namespace octlm::verify
