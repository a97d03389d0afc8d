// Trains embeddings and an MLP on a table: the price of 53,940 diamonds from cut, colour, clarity and measures.
#include "models/tabular.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "networks/experiment.h"

namespace {

/// The file's columns; prices are predicted as logarithms, normalised like the other numbers.
struct Diamonds {
  torch::Tensor categories, numbers, prices;  ///< i64 [n, 3], f32 [n, 6], f32 [n]
  std::vector<int64_t> sizes;                 ///< number of categories of each column
  double deviation;                           ///< of the logarithm of the price

  static Diamonds read(const std::string& data) {
    const auto lines = tandem::data::read_lines(data + "/diamonds.csv");
    std::vector<std::vector<std::string>> names(3);
    std::vector<int64_t> categories;
    std::vector<float> values;
    for (size_t i = 1; i < lines.size(); ++i) {  // after the header
      std::istringstream line(lines[i]);
      std::string cell;
      for (int column = 0; std::getline(line, cell, ','); ++column) {
        if (column >= 1 && column <= 3) {  // cut, colour, clarity
          auto& known = names[static_cast<size_t>(column - 1)];
          const auto found = std::find(known.begin(), known.end(), cell);
          categories.push_back(found - known.begin());
          if (found == known.end()) known.push_back(cell);
        } else {
          const float value = std::stof(cell);
          values.push_back(column == 6 ? std::log(value) : value);
        }
      }
    }
    const int64_t rows = static_cast<int64_t>(lines.size()) - 1;
    auto table = torch::tensor(values).view({rows, 7});
    const auto [deviation, mean] = torch::std_mean(table, 0);
    table = (table - mean) / deviation;
    // The file is sorted by price.
    const auto order = torch::randperm(rows, torch::Generator(1));
    table = table.index_select(0, order);
    // carat, depth, table, price, x, y, z
    return {torch::tensor(categories).view({rows, 3}).index_select(0, order),
            torch::cat({table.narrow(1, 0, 3), table.narrow(1, 4, 3)}, 1),
            table.select(1, 3).contiguous(),
            {static_cast<int64_t>(names[0].size()), static_cast<int64_t>(names[1].size()),
             static_cast<int64_t>(names[2].size())},
            deviation[3].item<double>()};
  }
};

class Prices : public networks::Supervised {
 public:
  explicit Prices(const networks::Setting& setting)
      : Supervised(setting), table(Diamonds::read(setting.data)), model(table.sizes, 6, setting.small ? 32 : 256) {
    table.categories = table.categories.to(setting.device);
    table.numbers = table.numbers.to(setting.device);
    table.prices = table.prices.to(setting.device);
    train(model.ptr(), 3e-3, /*weight_decay=*/0.01);
  }

  double metric() override {
    const double error = evaluate(1, [&](int64_t) { return error_of(torch::arange(trained(), rows(), index())); });
    return std::sqrt(error) * table.deviation;
  }
  double baseline() override {  // the mean of the logarithm of the price
    return table.prices.narrow(0, trained(), rows() - trained()).std().item<double>() * table.deviation;
  }
  int64_t steps_per_epoch() const override { return trained() / kBatch; }
  std::vector<torch::Tensor> data() const override { return {table.categories, table.numbers, table.prices}; }

 protected:
  torch::Tensor loss() override { return error_of(torch::randint(0, trained(), {kBatch}, index())); }

 private:
  static constexpr int64_t kBatch = 256;
  int64_t rows() const { return table.prices.size(0); }
  int64_t trained() const { return rows() * 9 / 10; }
  torch::TensorOptions index() const { return table.categories.options(); }
  torch::Tensor error_of(const torch::Tensor& rows) {
    const auto prices = model->forward(table.categories.index_select(0, rows), table.numbers.index_select(0, rows));
    return torch::nn::functional::mse_loss(prices.to(torch::kFloat), table.prices.index_select(0, rows));
  }

  Diamonds table;
  models::Tabular model;
};

}  // namespace

int main(int argc, char** argv) {
  const auto make = [](const networks::Setting& setting) { return std::make_unique<Prices>(setting); };
  return networks::main_of({.name = "tabular",
                            .metric = "error (RMSE) of the price's logarithm",
                            .lower_is_better = true,
                            .steps = 10 * 189,
                            .small_steps = 400,
                            .make = make},
                           argc, argv);
}
