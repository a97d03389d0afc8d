#include "tandem/io/numpy.h"

#include <limits>

#include "src/io/file_kind.h"
#include "src/io/npy.h"
#include "src/io/utf8.h"
#include "src/io/zip.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::io {
namespace {

constexpr std::string_view kSuffix = ".npy";

/// A tensor as NumPy's row-major data on the CPU.
Tensor numpy_data(const Tensor& tensor, const std::string& which) {
  TANDEM_CHECK(tensor.defined(), StateError, "{} is undefined; omit it", which);
  return tensor.detach().to(Device(kCPU)).contiguous();
}

std::string_view bytes_of(const Tensor& t) { return {static_cast<const char*>(t.raw_bytes()), t.nbytes()}; }

}  // namespace

StateDict read_npz(Source source, Device device) {
  const ZipReader zip(std::move(source));
  StateDict arrays;
  std::vector<std::string> left_out;
  for (const ZipEntry& e : zip.entries()) {
    if (!std::string_view(e.name).ends_with(kSuffix) || !is_utf8(e.name)) {
      left_out.push_back(fmt::format("{} (no array: its name does not end in .npy)", shown(e.name)));
      continue;
    }
    TANDEM_CHECK(e.size <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()), IoError,
                 "{}malformed: {} is impossibly large", zip.where(), shown(e.name));
    const Tensor bytes = empty({static_cast<int64_t>(e.size)}, TensorOptions(kByte).device(kCPU));
    zip.read(e, bytes.raw_bytes());
    Source source = memory_source(bytes_of(bytes));
    source.where = fmt::format("{}{}: ", zip.where(), shown(e.name));
    const std::string name = e.name.substr(0, e.name.size() - kSuffix.size());
    try {
      arrays.insert(name, read_npy(source).to(device));
    } catch (const ArrayDtypeError&) {
      left_out.push_back(fmt::format("{} (its dtype)", shown(name)));
    }
  }
  warn_of_left_out(zip.where(), left_out);
  return arrays;
}

Tensor load_npy(const std::string& path, Device device) {
  const OpScope op("load_npy");
  const NoGradGuard no_grad;
  return read_npy(file_source(path)).to(device);
}

void save_npy(const Tensor& tensor, const std::string& path) {
  const OpScope op("save_npy");
  const NoGradGuard no_grad;
  const Tensor data = numpy_data(tensor, "the tensor");
  const std::string header = npy_header(data.dtype(), data.sizes());
  write_file(path, [&](const Write& write) {
    write(header.data(), header.size());
    if (data.nbytes() > 0) write(data.raw_bytes(), data.nbytes());
  });
}

StateDict load_npz(const std::string& path, Device device) {
  const OpScope op("load_npz");
  const NoGradGuard no_grad;
  const Source source = file_source(path);
  check_kind(source, FileKind::npz, "an archive of NumPy arrays");
  return read_npz(source, device);
}

void save_npz(const StateDict& tensors, const std::string& path, bool compressed) {
  const OpScope op("save_npz");
  const NoGradGuard no_grad;
  std::vector<Tensor> data;
  std::vector<std::string> headers;
  for (const auto& item : tensors) {
    TANDEM_CHECK(is_utf8(item.key()), StateError, "the name {} is not UTF-8; rename it", shown(item.key()));
    data.push_back(numpy_data(item.value(), shown(item.key())));
    headers.push_back(npy_header(data.back().dtype(), data.back().sizes()));
  }
  write_file(path, [&](const Write& write) {
    ZipWriter zip(write);
    for (size_t i = 0; i < data.size(); ++i) {
      const std::string name = tensors[i].key() + std::string(kSuffix);
      const std::initializer_list<std::string_view> parts = {headers[i], bytes_of(data[i])};
      compressed ? zip.add_deflated(name, parts) : zip.add_stored(name, parts);
    }
    zip.finish();
  });
}

}  // namespace tandem::io
