// Markup: what remains is what a reader sees.

#include "tenon/data/wiki_markup.h"

#include <gtest/gtest.h>

#include <chrono>

namespace tenon::data {
namespace {

struct Case {
  const char *markup, *text;
};

void check(std::initializer_list<Case> cases) {
  for (const auto& [markup, text] : cases) EXPECT_EQ(plain_text(markup), text) << markup;
}

TEST(WikiMarkup, QuotesAreTaken) {
  check({{"'''Tea''' is ''hot''.", "Tea is hot."},
         {"'''''both'''''", "both"},
         {"it's the dogs' ball", "it's the dogs' ball"},
         {"L''''amour''' is", "L'amour is"}});
}

TEST(WikiMarkup, LinksShowTheirLabel) {
  check({{"[[tea]]s and [[coffee|black coffee]]", "teas and black coffee"},
         {"[[Paris#History|old Paris]]", "old Paris"},
         {"[[:Category:Tea]]", "Category:Tea"},
         {"[[tea|]]", "tea"},
         {"[[Star Wars: Rogue|Rogue]]", "Rogue"}});
}

TEST(WikiMarkup, FilesCategoriesAndLanguagesVanish) {
  check({{"a [[File:x.jpg|thumb|A [[cup]] of [[tea|hot tea]]]] b", "a b"},
         {"[[Image:x.png|[[a]]|[[b|c]]]]x", "x"},
         {"x[[Category:Drinks]]", "x"},
         {"x[[de:Tee]][[simple:Tea]]", "x"},
         {"[[Datei:x.jpg|mini|x]]y[[Файл:x.jpg]]", "y"}});
}

TEST(WikiMarkup, TemplatesVanishHoweverDeep) {
  check({{"a {{x|{{y|{{z}}}}|b={{w}}}} b", "a b"},
         {"{{Infobox\n| name = [[x]]\n| y = {{z}}\n}}\nText.", "Text."},
         {"{{{parameter|default}}} x", "x"},
         {"{{a|}}b", "b"},
         {"{{a|[[b}} c", "c"}});
}

TEST(WikiMarkup, TemplatesInsideSentencesLeaveNoHoles) {
  check({{"It is {{convert|5|km|mi}} long.", "It is 5 km long."},
         {"{{lang|fr|vin rouge}} is wine.", "vin rouge is wine."},
         {"{{nowrap|10 kg}} of it", "10 kg of it"}});
}

TEST(WikiMarkup, TablesVanish) {
  check({{"a\n{| class=\"x\"\n|-\n! h\n| [[b]] || {{c}}\n|}\nd", "a\n\nd"},
         {"{|\n| {|\n| inner\n|}\n|}\nx", "x"},
         {"{|\n|never closed\nx", "x"}});
}

TEST(WikiMarkup, ReferencesVanish) {
  check({{"Tea.<ref>A book, {{cite|x}}</ref> Hot.", "Tea. Hot."},
         {"Tea<ref name=\"a\" /> and<ref name=b/> milk", "Tea and milk"},
         {"a<ref name=\"x>y\">z</ref>b", "ab"},
         {"a<REF>z</Ref>b", "ab"},
         {"a<references>\n<ref>x</ref>\n</references>b", "ab"},
         {"a <reflist>b", "a b"},
         {"open <ref>text stays", "open text stays"}});
}

TEST(WikiMarkup, CommentsAndRawTags) {
  check({{"a<!-- {{ [[ -->b", "ab"},
         {"a\n<!-- a line -->\nb", "a\nb"},
         {"a<!-- never closed", "a"},
         {"x <math>\\frac{a}{b}</math> y", "x y"},
         {"<gallery>\nFile:a.jpg|b\n</gallery>x", "x"},
         {"<nowiki>[[not a link]] ''x'' &amp;</nowiki>", "[[not a link]] ''x'' &amp;"},
         {"a<nowiki/>b", "ab"},
         {"<source lang=\"c\">int x;</source>y", "y"}});
}

TEST(WikiMarkup, ExternalLinksShowTheirLabel) {
  check({{"See [https://x.org the site].", "See the site."},
         {"See [https://x.org].", "See ."},
         {"[1] and [http://x y", "[1] and [http://x y"},
         {"Visit https://x.org now", "Visit https://x.org now"}});
}

TEST(WikiMarkup, HeadingsAreLinesOfTheirOwn) {
  check({{"Intro.\n== History ==\nOld.\n=== Early ===\nVery.", "Intro.\n\nHistory\n\nOld.\n\nEarly\n\nVery."},
         {"x\n==References==\n{{reflist}}\n==Links==\n[[Category:A]]", "x"},
         {"x\n==Empty==\n==Full==\ny", "x\n\nFull\n\ny"}});
}

TEST(WikiMarkup, ListsAreLines) {
  check({{"* one\n** two\n# three\n; term\n: meaning", "one\ntwo\nthree\nterm\nmeaning"}, {"a\n----\nb", "a\nb"}});
}

TEST(WikiMarkup, TagsAndEntities) {
  check({{"a<br />b <small>c</small> <div class=\"x\">d</div>", "a b c d"},
         {"5 &lt; 6 &amp; 7&nbsp;&ndash;&#160;8 &#x41; &unknown;",
          "5 < 6 & 7 –\xC2\xA0"
          "8 A &unknown;"},
         {"a < b and c > d", "a < b and c > d"},
         {"__NOTOC__x __y__", "x __y__"}});
}

TEST(WikiMarkup, HolesAreClosed) {
  check({{"Tea ({{ipa|x}}) is", "Tea is"}, {"Tea ({{x}}; 1825) , a", "Tea (1825), a"}, {"a  b", "a b"}});
}

TEST(WikiMarkup, ParagraphsStayApart) { check({{"a\n\n\n\nb\nc\n", "a\n\nb\nc"}}); }

TEST(WikiMarkup, RedirectsAreEmpty) { check({{"#REDIRECT [[Tea]]", ""}, {" #redirect [[x]]", ""}}); }

TEST(WikiMarkup, BrokenMarkupIsText) {
  check({{"a ]] b }} c", "a b c"}, {"a [[ b", "a b"}, {"{{ a", "a"}, {"|} x", ""}, {"'''a", "a"}});
}

TEST(WikiMarkup, TimeIsLinearWhateverIsLeftOpen) {
  for (const char* open :
       {"{{", "[[",    "{|\n", "<ref>",  "<ref name=\"", "<!-",   "[http://a ", "''", "&#", "__A", "=",
        "(",  "<a \"", "[[a|", "{{a|[[", "<nowiki>",     "[[a]]", "{{lang|a|",  "]]", "}}", "{{{"}) {
    std::string markup;
    while (markup.size() < 300'000) markup += open;
    const auto begin = std::chrono::steady_clock::now();
    plain_text(markup);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(taken.count(), 5) << open;
  }
}

}  // namespace
}  // namespace tenon::data
