#pragma once
// nn::utils::rnn: batches of sequences of different lengths, padded or packed.
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::nn::utils::rnn {

/// A batch of sequences without padding, for recurrent layers: the elements of the first step of all sequences, then
/// those of the second step of the sequences that have one, and so on, with the sequences sorted by decreasing length.
/// Made by pack_padded_sequence and pack_sequence.
class PackedSequence {
 public:
  /// batch_sizes: i64, on the CPU: the sequences at each step. sorted_indices: the original number of each sequence,
  /// and unsorted_indices the inverse; both undefined if the sequences were given sorted. Of the two, one is enough.
  /// Throws StateError if batch_sizes are not on the CPU or do not sum to the rows of data.
  explicit PackedSequence(Tensor data, Tensor batch_sizes, Tensor sorted_indices = {}, Tensor unsorted_indices = {});

  const Tensor& data() const { return data_; }
  const Tensor& batch_sizes() const { return batch_sizes_; }
  const Tensor& sorted_indices() const { return sorted_indices_; }
  const Tensor& unsorted_indices() const { return unsorted_indices_; }

  /// batch_sizes stay on the CPU.
  PackedSequence to(Device device, DType dtype, bool non_blocking = false) const;
  PackedSequence to(Device device, bool non_blocking = false) const;
  PackedSequence to(DType dtype) const;
  PackedSequence cuda() const { return to(Device(kCUDA)); }
  PackedSequence cpu() const { return to(Device(kCPU)); }
  bool is_cuda() const { return data_.is_cuda(); }

 private:
  Tensor data_, batch_sizes_, sorted_indices_, unsorted_indices_;
};

/// The inverse q of a permutation p [n]: q[p[i]] = i. An undefined p gives an undefined q. Throws IndexError for
/// entries out of range.
Tensor invert_permutation(const Tensor& permutation);

/// Packs a padded batch [T, B, ...], or [B, T, ...] if batch_first; lengths: integers [B], on any device (read on the
/// host). With enforce_sorted, the lengths must not increase; otherwise the sequences are sorted by decreasing length,
/// stably. The gradient of padding is 0. Throws StateError for a length outside [1, T], or increasing ones.
PackedSequence pack_padded_sequence(const Tensor& input, const Tensor& lengths, bool batch_first = false,
                                    bool enforce_sorted = true);

/// The reverse: [T, B, ...], or [B, T, ...] if batch_first, and the lengths (i64, on the CPU), in the original order of
/// the sequences. T is the longest length, or total_length; a smaller total_length throws StateError.
std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first = false,
                                               double padding_value = 0.0,
                                               std::optional<int64_t> total_length = std::nullopt);

/// Stacks sequences [L_i, ...] to [T, B, ...], or [B, T, ...] if batch_first, T the longest. Shorter ones are filled
/// with padding_value at the end, or, with padding_side "left", at the beginning. Throws ShapeError if the other sizes
/// differ, StateError for an empty list or another side.
Tensor pad_sequence(ArrayRef<Tensor> sequences, bool batch_first = false, double padding_value = 0.0,
                    std::string_view padding_side = "right");

/// pack_padded_sequence of pad_sequence. Throws like both.
PackedSequence pack_sequence(ArrayRef<Tensor> sequences, bool enforce_sorted = true);

}  // namespace tandem::nn::utils::rnn
#pragma GCC visibility pop
