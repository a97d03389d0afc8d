#include <tandem/distributed/distributed.h>
#include <tandem/io/summary_writer.h>
#include <tandem/tandem.h>

#include <cstdio>
#include <map>
#include <set>
#include <string>

// Uses the library's ops, kernels and formatting through the installed package. The arguments name the optional
// libraries that the program must have; it must have no others.
int main(int argc, char** argv) {
  if (tandem::version() != TANDEM_VERSION) return 2;
  const tandem::Tensor x = tandem::ones({2, 3});
  if ((x + x).sum().item<float>() != 12.0f) return 1;

  const std::set<std::string> wanted(argv + 1, argv + argc);
  const std::map<std::string, bool> libraries = {{"JPEG", tandem::data::can_read_jpeg()},
                                                 {"MPI", tandem::distributed::is_mpi_available()},
                                                 {"NCCL", tandem::distributed::is_nccl_available()},
                                                 {"PNG", tandem::data::can_read_png()},
                                                 {"PROTOBUF", tandem::io::SummaryWriter::is_available()}};
  for (const auto& [name, has] : libraries) {
    if (wanted.count(name) == has) continue;
    std::fprintf(stderr, "the program %s %s\n", has ? "has" : "lacks", name.c_str());
    return 3;
  }
  return tandem::distributed::init()->size() == 1 ? 0 : 4;
}
