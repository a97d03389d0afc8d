#pragma once
// Function tables through which all calls to a library pass, so that tests can replace them.
#include <atomic>

namespace tandem::cuda {

/// The table of the library's own functions. Specialised for each table type.
template <class Table>
const Table& library_table();

/// The table in use: the library's, unless a TableGuard has replaced it.
template <class Table>
std::atomic<const Table*>& current_table() {
  static std::atomic<const Table*> table{&library_table<Table>()};
  return table;
}
template <class Table>
const Table& table_in_use() {
  return *current_table<Table>().load(std::memory_order_relaxed);
}

/// Replaces the table in use for its lifetime, on all threads. For tests.
template <class Table>
class [[nodiscard]] TableGuard {
 public:
  explicit TableGuard(const Table& table) : previous_(current_table<Table>().exchange(&table)) {}
  ~TableGuard() { current_table<Table>().store(previous_); }
  TableGuard(const TableGuard&) = delete;
  TableGuard& operator=(const TableGuard&) = delete;

 private:
  const Table* previous_;
};

}  // namespace tandem::cuda
