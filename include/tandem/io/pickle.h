#pragma once
// PyTorch's files: reads and writes what torch.save and torch.load(weights_only=True) exchange, and reads the archives
// that libtorch's torch::save and TorchScript write.
#include <string>
#include <vector>

#include "tandem/io/ivalue.h"
#include "tandem/tensor/state_dict.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Returns the bytes of a file with this value, as libtorch's torch::pickle_save. Tensors that share memory share it in
/// the file, too; whole storages are saved, so clone() a small view of a large tensor first. Throws StateError for an
/// undefined tensor, for tensors of two dtypes that share memory, for text that is not UTF-8, for TorchScript objects,
/// for values that nest more than 100 deep, and for more than pickle_load accepts: 2^24 values, or 2^28 bytes without
/// the data of tensors.
std::vector<char> pickle_save(const IValue& value);

/// Returns the value in the bytes of a file that torch.save, torch::save, torch::pickle_save or torch.jit.save wrote,
/// also before PyTorch 1.6; tensors are on `device`. Tensors that share memory in the file share it afterwards.
/// TorchScript objects become maps of their attributes; their code only tells which are parameters and buffers.
///
/// The bytes are not trusted: only tensors, plain values and containers are read, as by torch.load(weights_only=True);
/// nothing is called by name, and memory is allocated only for data that the file contains. Entries of dictionaries
/// that tandem has no counterpart of are left out, and a warning names them: instances of classes, complex, quantized
/// and sparse tensors, other dtypes that tandem does not have, integers of more than 64 bits, tuples as keys. In lists,
/// None stands for them. Throws IoError for a malformed file, and if all of the value would be left out, such as a
/// pickled model: save its state_dict() instead.
IValue pickle_load(const std::vector<char>& data, Device device = Device(kCPU));

namespace io {

/// The same with a file, which is written atomically (io/safetensors.h). Storages are moved to `device`, so tensors
/// that share memory also share it there.
void save_pickle(const IValue& value, const std::string& path);
/// Reads such a file.
IValue load_pickle(const std::string& path, Device device = Device(kCPU));

/// Returns the tensors and numbers in a value by name: nested keys, positions and attributes are joined by dots, as in
/// "model.fc1.weight" or "layers.0.bias"; a value that is a tensor itself is named "0". Numbers become tensors of rank
/// 0, and lists of integers i64 tensors of rank 1. Other values, such as texts, are left out. Of a TorchScript object,
/// the parameters and buffers are returned, as by PyTorch's state_dict(). The dictionaries of torch.optim's optimizers
/// and schedules get tandem's names, so that load_state_dict accepts them; their options are all kept: lists of doubles
/// as f64 tensors of rank 1, texts, None and other values as the bytes of a pickle, with "._pickle" after the name.
/// Throws StateError if two values get the same name.
StateDict to_state_dict(const IValue& value);
/// Returns the dictionary that torch.load gives for a state: that of torch.optim for the state of an optimizer, or of a
/// schedule that has loaded PyTorch's, otherwise the tensors by name.
IValue to_torch_dict(const StateDict& state);

/// Returns to_state_dict(load_pickle(path, device)): `model->load_state_dict(io::load_pt("model.pt"))`
StateDict load_pt(const std::string& path, Device device = Device(kCPU));
/// Writes to_torch_dict(state), which Python reads with torch.load(path, weights_only=True):
/// `io::save_pt(model->state_dict(), "model.pt")`
void save_pt(const StateDict& state, const std::string& path);

}  // namespace io
}  // namespace tandem
#pragma GCC visibility pop
