#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vdnn::cli {

// How a column's numbers are written: for people (GiB, per cent, ...) or, in CSV, as they are (bytes,
// shares).
enum class Unit { text, bytes, share, points, ratio, seconds, count };

struct Column {
  std::string name;
  Unit unit = Unit::text;
};

// A text, or a number in its column's unit; neither where there is nothing to say. points: a difference of
// two shares.
struct Cell {
  // NOLINTBEGIN(google-explicit-constructor): rows are written as lists of texts and numbers
  Cell() = default;
  Cell(const char* what) : text(what) {}
  Cell(std::string what) : text(std::move(what)) {}
  Cell(double value) : number(value) {}
  Cell(std::optional<double> value) : number(value) {}
  // NOLINTEND(google-explicit-constructor)

  std::string text;
  std::optional<double> number;
};

struct Table {
  std::string name;  // of its files
  std::string title;
  std::string note;  // what it means and how it was computed; one paragraph
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

// Throws std::invalid_argument where a row has not as many cells as there are columns.
std::string to_markdown(const Table& table);
std::string to_csv(const Table& table);
std::string to_text(const Table& table);  // aligned, for a terminal

}  // namespace vdnn::cli
