#include "cli/study/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "cli/output.h"
#include "vdnn/bytes.h"

namespace vdnn::cli {
namespace {

std::string for_people(const Cell& cell, Unit unit) {
  if (!cell.number) return cell.text;
  const std::optional<double>& number = cell.number;
  switch (unit) {
    case Unit::bytes:
      return fmt::format("{:.2f} GiB", *number / static_cast<double>(kGiB));
    case Unit::share:
      return fmt::format("{:.1f} %", 100 * *number);
    case Unit::points:
      return fmt::format("{:+.1f}", 100 * *number);
    case Unit::ratio:
      return fmt::format("{:.3f}", *number);
    case Unit::seconds:
      return seconds_text(*number);
    case Unit::count:
    case Unit::text:
      break;
  }
  return fmt::format("{}", *number);
}

std::string as_it_is(const Cell& cell, Unit unit) {
  if (!cell.number) {
    if (cell.text.find_first_of(",\"\n") == std::string::npos) return cell.text;
    std::string quoted = "\"";
    for (const char c : cell.text) quoted.append(c == '"' ? 2 : 1, c);
    return quoted + '"';
  }
  if (unit == Unit::bytes) return fmt::format("{}", std::llround(*cell.number));
  return fmt::format("{:.6g}", *cell.number);
}

// A column's name in a CSV file says its unit.
std::string csv_name(const Column& column) {
  std::string name = column.name;
  for (char& c : name) c = c == ' ' ? '_' : c;
  if (column.unit == Unit::bytes) name += "_bytes";
  if (column.unit == Unit::seconds) name += "_seconds";
  return name;
}

void check(const Table& table) {
  for (const auto& row : table.rows) {
    if (row.size() != table.columns.size())
      throw std::invalid_argument(fmt::format("table {}: a row of {} cells under {} columns", table.name,
                                              row.size(), table.columns.size()));
  }
}

}  // namespace

std::string to_markdown(const Table& table) {
  check(table);
  std::string text = fmt::format("## {}\n\n{}\n\n|", table.title, table.note);
  for (const auto& column : table.columns) text += fmt::format(" {} |", column.name);
  text += "\n|";
  for (const auto& column : table.columns) text += column.unit == Unit::text ? "---|" : "---:|";
  text += '\n';
  for (const auto& row : table.rows) {
    text += '|';
    for (std::size_t c = 0; c < row.size(); ++c)
      text += fmt::format(" {} |", for_people(row[c], table.columns[c].unit));
    text += '\n';
  }
  return text;
}

std::string to_csv(const Table& table) {
  check(table);
  std::vector<std::string> cells;
  for (const auto& column : table.columns) cells.push_back(as_it_is(csv_name(column), Unit::text));
  std::string text = fmt::format("{}\n", fmt::join(cells, ","));
  for (const auto& row : table.rows) {
    cells.clear();
    for (std::size_t c = 0; c < row.size(); ++c) cells.push_back(as_it_is(row[c], table.columns[c].unit));
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return text;
}

std::string to_text(const Table& table) {
  check(table);
  std::vector<std::vector<std::string>> lines(1);
  for (const auto& column : table.columns) lines[0].push_back(column.name);
  for (const auto& row : table.rows) {
    auto& line = lines.emplace_back();
    for (std::size_t c = 0; c < row.size(); ++c) line.push_back(for_people(row[c], table.columns[c].unit));
  }
  std::vector<std::size_t> widths(table.columns.size(), 0);
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
  }
  std::string text = table.title + '\n';
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t c = 0; c < line.size(); ++c) {
      row += table.columns[c].unit == Unit::text ? fmt::format("  {:<{}}", line[c], widths[c])
                                                 : fmt::format("  {:>{}}", line[c], widths[c]);
    }
    text += row.substr(0, row.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

}  // namespace vdnn::cli
