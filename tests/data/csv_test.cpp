// CSV: what columns hold is found out, and what is wrong is named by line and column.

#include "tenon/data/csv.h"

#include <cmath>

#include "tenon/data/dataset.h"
#include "tests/data/compress.h"
#include "tests/data/support.h"

namespace tenon::data {
namespace {

class Csv : public InFolder {
 protected:
  Table read(const std::string& text, const CsvOptions& options = {}) const { return read_csv(write(text), options); }
  std::string refused(const std::string& text, const CsvOptions& options = {}) const {
    const std::string message = text_of([&] { read(text, options); });
    const std::string front = "[csv] " + path().string() + ": ";
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message.starts_with(front) ? message.substr(front.size()) : message;
  }
};

TEST_F(Csv, FindsOutWhatColumnsHold) {
  const Table table = read("a,b,c,d\n1,1.5,true,x\n-2,2e3,false,y\n");
  EXPECT_EQ(table.rows(), 2);
  EXPECT_EQ(table.names(), (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(table.column("a").dtype(), int64);
  EXPECT_EQ(table.column("a").to_vector<int64_t>(), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(table.column("b").dtype(), float32);
  EXPECT_EQ(table.column("b").to_vector<float>(), (std::vector<float>{1.5, 2000}));
  EXPECT_EQ(table.column("b", float64).dtype(), float64);
  EXPECT_EQ(table.column("c").dtype(), boolean);
  EXPECT_EQ(table.column("c").to_vector<bool>(), (std::vector<bool>{true, false}));
  EXPECT_EQ(table.texts("d"), (std::vector<std::string>{"x", "y"}));
}

TEST_F(Csv, QuotesHoldSeparatorsLinesAndQuotes) {
  const Table table = read("name,n\r\n\"a, b\",1\r\n\"two\nlines\",\"2\"\r\n\"say \"\"hi\"\"\",3");
  EXPECT_EQ(table.texts("name"), (std::vector<std::string>{"a, b", "two\nlines", "say \"hi\""}));
  EXPECT_EQ(table.column("n").to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 3}));
}

TEST_F(Csv, LinesMayEndInAnyWay) {
  for (const char* text : {"a,b\n1,2\n3,4\n", "a,b\r\n1,2\r\n3,4", "a,b\r1,2\r3,4\r",
                           "\xEF\xBB\xBF"
                           "a,b\n\n1,2\n\n\n3,4\n\n"}) {
    EXPECT_EQ(read(text).column("a").to_vector<int64_t>(), (std::vector<int64_t>{1, 3}));
    EXPECT_EQ(read(text).column("b").to_vector<int64_t>(), (std::vector<int64_t>{2, 4}));
  }
}

TEST_F(Csv, MissingNumbersAreNan) {
  const Table table = read("a,b,c\n1,,x\nNA,2.5,\n3,4,z\n");
  EXPECT_EQ(table.type("a"), ColumnType::kReal);
  const std::vector<float> a = table.column("a").to_vector<float>();
  EXPECT_EQ(a[0], 1);
  EXPECT_TRUE(std::isnan(a[1]));
  EXPECT_EQ(table.missing("a").to_vector<bool>(), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(table.missing("b").to_vector<bool>(), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(table.texts("c"), (std::vector<std::string>{"x", "", "z"}));
  EXPECT_EQ(table.categories("c").codes.to_vector<int64_t>(), (std::vector<int64_t>{0, -1, 1}));
}

TEST_F(Csv, WhatStandsForMissingMayBeChosen) {
  const Table table = read("a\n1\n?\n", {.missing = {"?"}});
  EXPECT_EQ(table.missing("a").to_vector<bool>(), (std::vector<bool>{false, true}));
}

TEST_F(Csv, CategoriesAreNumberedByName) {
  const auto [codes, names] = read("kind\nrose\nlily\nrose\niris\n").categories("kind");
  EXPECT_EQ(names, (std::vector<std::string>{"iris", "lily", "rose"}));
  EXPECT_EQ(codes.to_vector<int64_t>(), (std::vector<int64_t>{2, 1, 2, 0}));
}

TEST_F(Csv, ColumnsStandSideBySide) {
  const Tensor x = read("a,t,b\n1,x,0.5\n2,y,1.5\n").columns({"b", "a"});
  EXPECT_EQ(x.shape(), Dims({2, 2}));
  EXPECT_EQ(x.dtype(), float32);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0.5, 1, 1.5, 2}));
}

TEST_F(Csv, NamesMayBeGiven) {
  EXPECT_EQ(read("1,2\n3,4\n", {.header = false}).names(), (std::vector<std::string>{"column 1", "column 2"}));
  EXPECT_EQ(read("1,2\n3,4\n", {.header = false, .names = {"x", "y"}}).column("y").to_vector<int64_t>(),
            (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(read("a,b\n3,4\n", {.names = {"x", "y"}}).column("x").to_vector<int64_t>(), (std::vector<int64_t>{3}));
  EXPECT_EQ(read(",b\n3,4\n").names()[0], "column 1");
}

TEST_F(Csv, TypesMayBeGiven) {
  const Table table = read("id,n\n007,1\n010,2\n", {.types = {{"id", ColumnType::kText}, {"n", ColumnType::kReal}}});
  EXPECT_EQ(table.texts("id"), (std::vector<std::string>{"007", "010"}));
  EXPECT_EQ(table.column("n").dtype(), float32);
}

TEST_F(Csv, SeparatorsAndQuotesMayBeOthers) {
  const Table table = read("a;b\n'x;y';2\n", {.separator = ';', .quote = '\''});
  EXPECT_EQ(table.texts("a")[0], "x;y");
  EXPECT_EQ(read("a\tb\n1\t2\n", {.separator = '\t'}).column("b").item<int64_t>(), 2);
}

TEST_F(Csv, NumbersOfManyKindsAreRead) {
  const Table table = read("a,b\n 12 ,+1.5\n-3,inf\n9223372036854775807,1e-400\n");
  EXPECT_EQ(table.column("a").to_vector<int64_t>(), (std::vector<int64_t>{12, -3, 9223372036854775807}));
  EXPECT_EQ(table.column("b", float64).to_vector<double>(), (std::vector<double>{1.5, INFINITY, 0}));
  EXPECT_EQ(read("a\n9223372036854775808\n").type("a"), ColumnType::kReal);
  EXPECT_EQ(read("a\n0x10\n").type("a"), ColumnType::kText);
}

TEST_F(Csv, MayBeCompressed) {
  EXPECT_EQ(read(gzipped("a\n1\n2\n")).column("a").to_vector<int64_t>(), (std::vector<int64_t>{1, 2}));
}

TEST_F(Csv, BecomesADataset) {
  const Table table = read("a,b,kind\n1,2,x\n3,4,y\n");
  const TensorDataset dataset = {table.columns({"a", "b"}), table.categories("kind").codes};
  EXPECT_EQ(dataset.get(1)[0].to_vector<float>(), (std::vector<float>{3, 4}));
  EXPECT_EQ(dataset.get(1)[1].item<int64_t>(), 1);
}

TEST_F(Csv, WrongValuesAreNamedByLineAndColumn) {
  EXPECT_EQ(refused("n,age\na,1\n\"b\nc\",x1\n", {.types = {{"age", ColumnType::kWhole}}}),
            R"(line 4, column 2 ("age"): "x1" is not what the column holds: whole numbers)");
  EXPECT_EQ(refused("age\n1\nNA\n", {.types = {{"age", ColumnType::kWhole}}}),
            R"(line 3, column 1 ("age"): no value is not what the column holds: whole numbers)");
  EXPECT_EQ(refused("x\n1\n1.5.2\n", {.types = {{"x", ColumnType::kReal}}}),
            R"(line 3, column 1 ("x"): "1.5.2" is not what the column holds: numbers)");
  EXPECT_EQ(refused("x\nyes\n", {.types = {{"x", ColumnType::kBoolean}}}),
            R"(line 2, column 1 ("x"): "yes" is not what the column holds: true or false)");
}

TEST_F(Csv, BrokenTextIsRefused) {
  EXPECT_EQ(refused(""), "is empty");
  EXPECT_EQ(refused("\n\n"), "is empty");
  EXPECT_EQ(refused("a,b\n1,2\n3\n"), "line 3 has 1 field, the first has 2");
  EXPECT_EQ(refused("a,b\n1,2,3\n"), "line 2 has 3 fields, the first has 2");
  EXPECT_EQ(refused("a,b\n1,\"x\n2,3\n"), "line 2, column 2: the quote is never closed");
  EXPECT_EQ(refused("a,b\n\"x\"y,2\n"), R"(line 2, column 1: something follows the closing quote: "y,2\x0a")");
  EXPECT_EQ(refused("a,a\n1,2\n"), R"(two columns are called "a")");
  EXPECT_EQ(refused("\xFF\xFE"
                    "a"),
            "is UTF-16: save it as UTF-8");
  EXPECT_EQ(refused("a,b\n1,2\n", {.names = {"x"}}), "line 1 has 2 fields, 1 names are given");
  EXPECT_EQ(refused("a\n1\n", {.types = {{"b", ColumnType::kReal}}}),
            R"(a type is given for "b", and there is no such column)");
  EXPECT_EQ(refused("a\n1\n", {.separator = '"'}), "the separator and the quote must differ, and be no ends of lines");
}

TEST_F(Csv, TablesHaveAMillionColumnsAtMost) {
  EXPECT_EQ(refused(std::string(1'000'000, ',')), R"(line 1 has more than 1000000 fields: is "," the separator?)");
  EXPECT_EQ(read(std::string(9'999, ',')).names().size(), 10'000u);
}

TEST_F(Csv, SaysWhatATableHas) {
  const Table table = read("a,b\n1,x\n");
  EXPECT_EQ(text_of([&] { table.column("c"); }), R"([table] there is no column "c"; there are "a", "b")");
  EXPECT_EQ(text_of([&] { table.column("b"); }),
            R"([table] column "b" holds text; categories() has it as numbers, texts() as it is)");
  EXPECT_EQ(text_of([&] { table.texts("a"); }),
            R"([table] column "a" holds whole numbers; give read_csv() its type to have it as text)");
}

TEST_F(Csv, TablesMayHaveNoRows) {
  const Table table = read("a,b\n");
  EXPECT_EQ(table.rows(), 0);
  EXPECT_EQ(table.column("a").shape(), Dims({0}));
}

TEST_F(Csv, SmallFilesDoNotUnpackToManyTimesTheirSize) {
  const std::string zeros(80 << 20, '0');
  EXPECT_NE(refused(gzipped("a\n" + zeros)).find("bytes unpacked, the file has"), std::string::npos);
}

}  // namespace
}  // namespace tenon::data
