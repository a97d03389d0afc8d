#include "tandem/io/serialize.h"

#include <filesystem>
#include <sstream>
#include <utility>

#include "src/io/file_kind.h"
#include "src/io/path.h"
#include "src/io/pickle_limits.h"
#include "src/io/shards.h"
#include "src/io/source.h"
#include "tandem/base/check.h"
#include "tandem/io/pickle.h"

namespace tandem {
namespace io {
namespace {

StateDict numbered_state(const std::vector<Tensor>& tensors) {
  StateDict state;
  for (size_t i = 0; i < tensors.size(); ++i) state.insert(std::to_string(i), tensors[i]);
  return state;
}

[[noreturn]] void refuse_arrays(const Source& source) {
  const FirstBytes first = look_at(source);
  TANDEM_THROW(IoError, "{}not a file of a state, but {}; {}", source.where, first.what, first.cure);
}

}  // namespace

void save_state(const StateDict& state, const std::string& path) {
  const OpScope op("save_state");
  is_torch_path(path) ? save_pt(state, path) : save_file(state, path);
}

StateDict load_state(const std::string& path) {
  const OpScope op("load_state");
  check_path(path);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return load_shards(shard_index_in(path));
  const Source source = file_source(path);
  switch (kind_of(source)) {
    case FileKind::safetensors:
      return load_file(path).tensors;
    case FileKind::torch:
    case FileKind::legacy_torch:
      return load_pt(path);
    case FileKind::shard_index:
      return load_shards(path);
    default:
      refuse_arrays(source);
  }
}

void detail::write_bytes(const std::function<void(std::ostream&)>& save,
                         const std::function<size_t(const void* data, size_t bytes)>& write) {
  std::ostringstream stream;
  save(stream);
  const std::string bytes = std::move(stream).str();
  const size_t written = write(bytes.data(), bytes.size());
  const OpScope op("save");
  TANDEM_CHECK(written == bytes.size(), IoError, "the function wrote {} of {} bytes", written, bytes.size());
}

void save_state(const StateDict& state, std::ostream& stream) {
  const OpScope op("save_state");
  write_stream(stream, serialize(state));
}

StateDict load_state(std::istream& stream) {
  const OpScope op("load_state");
  const std::string bytes = read_stream(stream);
  const Source source = memory_source(bytes);
  switch (kind_of(source)) {
    case FileKind::safetensors:
      return deserialize(bytes).tensors;
    case FileKind::torch:
    case FileKind::legacy_torch:
      return to_state_dict(pickle_load({bytes.begin(), bytes.end()}));
    case FileKind::shard_index:
      TANDEM_THROW(IoError, "the stream is the index of a checkpoint in several files; load the index by its path");
    default:
      refuse_arrays(source);
  }
}

}  // namespace io

void save(const Tensor& tensor, const std::string& path) {
  const OpScope op("save");
  io::is_torch_path(path) ? io::save_pickle(tensor, path) : io::save_file({{"0", tensor}}, path);
}

void save(const Tensor& tensor, std::ostream& stream) {
  const OpScope op("save");
  io::save_state({{"0", tensor}}, stream);
}

void save(const std::vector<Tensor>& tensors, const std::string& path) {
  const OpScope op("save");
  const StateDict state = io::numbered_state(tensors);
  if (!io::is_torch_path(path)) return io::save_file(state, path);
  io::check_names(state);
  io::save_pickle(tensors, path);
}

void save(const std::vector<Tensor>& tensors, std::ostream& stream) {
  const OpScope op("save");
  io::save_state(io::numbered_state(tensors), stream);
}

}  // namespace tandem
