// Malformed archives of PyTorch: every fault is named.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "src/io/legacy_torch.h"
#include "src/io/zip.h"
#include "support/state.h"
#include "support/throws.h"
#include "tandem/io/pickle.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using Records = std::vector<std::pair<std::string, std::string>>;

IValue load_records(const Records& records) {
  const std::string bytes = io::written_bytes([&](const io::Write& write) {
    io::ZipWriter zip(write);
    for (const auto& [name, text] : records) zip.add_stored(name, {text});
    zip.finish();
  });
  return pickle_load({bytes.begin(), bytes.end()});
}

std::string text(const std::string& s) {
  return "X" + std::string(1, static_cast<char>(s.size())) + std::string(3, '\0') + s;
}

std::string tuple(const std::vector<int>& numbers) {
  std::string all = "(";
  for (const int n : numbers) all += n >= 0 ? std::string("K") + static_cast<char>(n) : "J\xff\xff\xff\xff";
  return all + "t";
}

const std::string kStart = "\x80\x02", kHooks = "ccollections\nOrderedDict\n)R";

/// A pickle of a tensor over the storage "0".
struct TensorPickle {
  std::string type = "FloatStorage", key = "0";
  int numel = 6, offset = 0;
  std::vector<int> sizes{2, 3}, strides{3, 1};
  std::string gradient = "\x89", hooks = kHooks;
  std::string storage() const {
    return "(" + text("storage") + "ctorch\n" + type + "\n" + text(key) + text("cpu") + "K" + static_cast<char>(numel) +
           "tQ";
  }
  std::string str() const {
    return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage() + "K" + static_cast<char>(offset) + tuple(sizes) +
           tuple(strides) + gradient + hooks + "tR";
  }
};

/// The bytes of f32 numbers 0 to 5.
std::string floats() {
  std::string bytes(24, '\0');
  for (int i = 0; i < 6; ++i) {
    const auto value = static_cast<float>(i);
    std::memcpy(bytes.data() + 4 * i, &value, sizeof value);
  }
  return bytes;
}

IValue load_pickle_text(const std::string& pickle) {
  return load_records({{"a/data.pkl", kStart + pickle + "."}, {"a/data/0", floats()}});
}

TEST(TorchArchive, TensorsOfHandWrittenPickles) {
  const Tensor expected = arange(6.0).reshape({2, 3}).to(kCPU);
  EXPECT_EQ(difference(load_pickle_text(TensorPickle().str()).toTensor(), expected), "");
  std::string big = floats();
  io::swap_bytes(big.data(), 6, 4);
  const IValue value = load_records({{"a/data.pkl", kStart + TensorPickle().str() + "."},
                                     {"a/byteorder", "big"},
                                     {"a/data/0", big},
                                     {"a/version", "10\n"}});
  EXPECT_EQ(difference(value.toTensor(), expected), "");
}

/// Values of Python and PyTorch that are rare: read, or left out of the dictionary in which they are.
TEST(TorchArchive, RareValuesAreReadOrLeftOut) {
  const auto value_of = [](const std::string& pickle) {
    const IValue value = load_pickle_text("}" + text("kept") + "K\1s" + text("rare") + pickle + "s");
    EXPECT_EQ(value.toGenericDict().at("kept").toInt(), 1) << pickle;
    return value.toGenericDict().contains("rare") ? std::optional(value.toGenericDict().at("rare")) : std::nullopt;
  };
  const std::string three = std::string("\3\0\0\0", 4) + "abc",
                    wide = three.substr(0, 4) + std::string(4, '\0') + "abc";
  EXPECT_EQ(value_of("T" + three)->toStringRef(), "abc");
  EXPECT_EQ(value_of("\x96" + wide)->toBytes(), "abc");
  EXPECT_EQ(value_of("(K\1K\2\x91")->toListRef().size(), 2u);
  EXPECT_EQ(value_of("cbuiltins\nfrozenset\n](K\1K\2e\x85R")->toListRef().size(), 2u);
  EXPECT_EQ(value_of("ccollections\ndefaultdict\ncbuiltins\nlist\n\x85RK\5K\6s")->toGenericDict().at(5).toInt(), 6);
  EXPECT_EQ(value_of("ccollections\nOrderedDict\n]]K\5aK\6aa\x85R")->toGenericDict().at(5).toInt(), 6);
  const auto tensor = [](auto change) {
    TensorPickle pickle;
    change(pickle);
    return pickle.str();
  };
  const std::string whole = TensorPickle().str(),
                    negated = whole.substr(0, whole.size() - 2) + "}" + text("neg") + "\x88stR";
  for (const std::string& left_out : {text("\xff"), "ctorch\ndevice\n" + text("mps") + "\x85R", negated,
                                      tensor([](auto& t) { t.hooks = "}K\1K\1s"; }),
                                      tensor([](auto& t) { t.sizes = t.strides = std::vector<int>(13, 1); })}) {
    EXPECT_FALSE(value_of(left_out)) << left_out;
  }
}

TEST(TorchArchiveErrors, Records) {
  const std::string none = kStart + "N.", tensor = kStart + TensorPickle().str() + ".";
  EXPECT_THROWS(load_records({}), IoError, "pickle_load: ", "not a file of PyTorch");
  EXPECT_THROWS(load_records({{"a/b/data.pkl", none}}), IoError, "no data.pkl");
  EXPECT_THROWS(load_records({{"a/data.pkl", none}, {"b/data.pkl", none}}), IoError, "'a/data.pkl' and 'b/data.pkl'");
  EXPECT_THROWS(load_records({{"a/data.pkl", none}, {"a/version", "11\n"}}), IoError, "version is '11?'", "1 to 10");
  EXPECT_THROWS(load_records({{"a/data.pkl", none}, {"a/byteorder", "middle"}}), IoError, "byte order is 'middle'");
  EXPECT_THROWS(load_records({{"a/data.pkl", tensor}}), IoError, "the storage 'a/data/0' is missing");
  EXPECT_THROWS(load_records({{"a/data.pkl", tensor}, {"a/data/0", "1234"}}), IoError,
                "the storage 'a/data/0' has 4 bytes, not 6 elements of dtype f32");
}

/// A file of PyTorch before 1.6 with tensors over the storages "0" and "1", whose list of data has these keys.
IValue load_legacy(const std::string& first, const std::string& second) {
  TensorPickle other;
  other.key = "1";
  const std::string six("\6\0\0\0\0\0\0\0", 8), end = "." + kStart;
  const std::string bytes = kStart + std::string(io::kLegacyMark) + end + "M\xe9\3" + end + "}" + end + "(" +
                            TensorPickle().str() + other.str() + "t" + end + "](" + text(first) + text(second) + "e." +
                            six + floats() + six + floats();
  return pickle_load({bytes.begin(), bytes.end()});
}

TEST(TorchArchiveErrors, LegacyFilesHaveEachStorageOnce) {
  const IValue good = load_legacy("0", "1");
  for (const IValue& t : good.toTupleRef().elements()) {
    EXPECT_EQ(difference(t.toTensor(), arange(6.0).reshape({2, 3}).to(kCPU)), "");
  }
  EXPECT_THROWS(load_legacy("0", "0"), IoError, "the storage '0' is there twice");
}

TEST(TorchArchiveErrors, Tensors) {
  const auto load = [](auto change) {
    TensorPickle pickle;
    change(pickle);
    return load_pickle_text(pickle.str());
  };
  EXPECT_THROWS(load([](auto& t) { t.offset = 1; }), IoError, "the pickle is malformed at byte",
                "[2, 3] with strides [3, 1] from element 1 on is outside its storage of 6 elements");
  EXPECT_THROWS(load([](auto& t) { t.strides = {4, 1}; }), IoError, "outside its storage");
  EXPECT_THROWS(load([](auto& t) { t.strides = {3}; }), IoError, "not as many strides as sizes");
  EXPECT_THROWS(load([](auto& t) { t.sizes = {-1, 3}; }), IoError, "an integer of 0 or more");
  EXPECT_THROWS(load([](auto& t) { t.strides = {-1, 3}; }), IoError, "an integer of 0 or more");
  EXPECT_THROWS(load([](auto& t) { t.sizes = t.strides = std::vector<int>(13, 1); }), IoError,
                "more than 12 dimensions");
  EXPECT_THROWS(load([](auto& t) {
                  t.sizes = std::vector<int>(12, 255);
                  t.strides = std::vector<int>(12, 0);
                }),
                IoError, "impossibly large");
  EXPECT_EQ(load([](auto& t) { t.sizes = {0, 3}, t.offset = 200; }).toTensor().numel(), 0);
  EXPECT_THROWS(load([](auto& t) { t.numel = 5; }), IoError, "24 bytes, not 5 elements");
  EXPECT_THROWS(load([](auto& t) { t.type = "IntStorage", t.gradient = "\x88"; }), IoError, "gradient flag");
  EXPECT_THROWS(load([](auto& t) { t.type = "BoolStorage", t.numel = 24; }), IoError, "a byte other than 0 and 1");
  EXPECT_THROWS(load([](auto& t) { t.type = "QInt8Storage"; }), IoError,
                "'torch.QInt8Storage', which tandem does not load");
  EXPECT_THROWS(load([](auto& t) { t.hooks = "}K\1K\1s"; }), IoError, "hooks");
  EXPECT_THROWS(load([](auto& t) { t.key = "../../etc/passwd"; }), IoError, "'a/data/../../etc/passwd' is missing");
  TensorPickle ints;
  ints.type = "IntStorage";
  EXPECT_THROWS(load_pickle_text(TensorPickle().str() + ints.str() + "\x86"), IoError, "of dtype f32 and of dtype i32");
}

TEST(TorchArchiveErrors, Pickles) {
  const auto load = load_pickle_text;
  EXPECT_THROWS(load("cos\nsystem\n(" + text("rm") + "tR"), IoError, "it contains 'os.system'",
                "torch.save(model.state_dict()");
  EXPECT_THROWS(load("cbuiltins\neval\n"), IoError, "'builtins.eval'");
  EXPECT_THROWS(load(text("os") + text("system") + "\x93"), IoError, "'os.system'");
  EXPECT_THROWS(load("c__torch__\nModule\n(K\1tR"), IoError, "calls '__torch__.Module', which is not a function");
  EXPECT_THROWS(load("c__torch__\nModule\nK\1\x85\x81"), IoError, "makes an object with arguments");
  EXPECT_THROWS(load("ccollections\nOrderedDict\n"), IoError, "'collections.OrderedDict' in the place of a value");
  EXPECT_THROWS(load(TensorPickle().storage()), IoError, "a storage in the place of a value");
  EXPECT_THROWS(load("0"), IoError, "its stack is empty");
  EXPECT_THROWS(load("NN"), IoError, "does not end with one value");
  EXPECT_THROWS(load("(N"), IoError, "does not end with one value");
  EXPECT_THROWS(load("t"), IoError, "no mark");
  EXPECT_THROWS(load("(0"), IoError, "its stack is empty");
  EXPECT_THROWS(load("h\5"), IoError, "refers to a value that it does not have");
  EXPECT_TRUE(load("}]Ns").toGenericDict().empty());  // the entry is left out
  EXPECT_THROWS(load("}(Nu"), IoError, "a key has no value");
  EXPECT_THROWS(load("]NNs"), IoError, "sets items of something else than a dictionary");
  EXPECT_THROWS(load("}Na"), IoError, "appends to something else than a list");
  EXPECT_THROWS(load("]q\1h\1a"), IoError, "contains a value that contains itself");
  EXPECT_THROWS(load("]q\1\x85h\1Na\x86"), IoError, "contains a value that contains itself");
  EXPECT_THROWS(load("X\1\0\0"), IoError, "it is cut off");
  EXPECT_THROWS(load(text("\xff")), IoError, "not UTF-8");
  EXPECT_THROWS(load(text("\xed\xa0\x80")), IoError, "not UTF-8");
  EXPECT_THROWS(load("NQ"), IoError, "not that of a storage");
  EXPECT_THROWS(load("NNR"), IoError, "calls something that is not a function");
  EXPECT_THROWS(load("I1\n"), IoError, "the opcode 0x49");
  EXPECT_THROWS(load("\x8a\x09" + std::string(9, '\1')), IoError, "contains an integer of more than 64 bits");
  EXPECT_THROWS(load("c_codecs\nencode\n" + text("a") + text("utf-8") + "\x86R"), IoError, "latin1");
  EXPECT_THROWS(load("ctorch\ndevice\n" + text("tpu") + "\x85R"), IoError, "the device 'tpu'");
  EXPECT_THROWS(load_records({{"a/data.pkl", "N."}}), IoError, "at byte 0: it is of protocol 0 or 1");
  EXPECT_THROWS(load_records({{"a/data.pkl", "\x80\x01N."}}), IoError, "protocol is 1, not 2 to 5");
  EXPECT_THROWS(load_records({{"a/data.pkl", kStart + "N.N"}}), IoError, "bytes follow its end");
  EXPECT_EQ(load(")").toTupleRef().size(), 0u);
}

}  // namespace
}  // namespace tandem::testing
