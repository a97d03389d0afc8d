// CIFAR files, CSV tables, lines of text, and folders of pictures: valid, invalid and damaged.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "data/pictures.h"
#include "data/values.h"
#include "support/bad_input.h"
#include "support/temporary_folder.h"
#include "tandem/data/data.h"

namespace tandem::data {
namespace {

using namespace testing;
using datasets::CIFAR10;
using datasets::CIFAR100;
using datasets::ImageFolder;

/// `count` records, whose labels count up and whose pixels are (picture + position) modulo 256.
Bytes cifar_file(size_t count, size_t label_bytes) {
  Bytes bytes;
  for (size_t n = 0; n < count; ++n) {
    for (size_t l = 0; l < label_bytes; ++l) bytes.push_back(static_cast<uint8_t>(n + 5 * l));
    for (size_t i = 0; i < 3072; ++i) bytes.push_back(static_cast<uint8_t>(n + i));
  }
  return bytes;
}

Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

/// Changes 1 to 3 bytes, or removes the end.
Bytes damaged(Bytes bytes, std::mt19937& random) {
  for (uint32_t n = 1 + random() % 3; n > 0 && !bytes.empty(); --n) {
    const size_t at = random() % bytes.size();
    if (random() % 8 == 0) {
      bytes.resize(at);
    } else {
      bytes[at] = static_cast<uint8_t>(random());
    }
  }
  return bytes;
}

TEST(CIFAR, ReadsPicturesAndClasses) {
  const TemporaryFolder folder;
  for (int i = 1; i <= 5; ++i) {
    folder.write("cifar-10-batches-bin/data_batch_" + std::to_string(i) + ".bin", cifar_file(2, 1));
  }
  folder.write("test_batch.bin", cifar_file(3, 1));
  folder.write("cifar-100-binary/train.bin", cifar_file(4, 2));
  CIFAR10 train(folder.path()), test(folder.path(), CIFAR10::Mode::kTest);
  EXPECT_EQ(train.size(), 10U);
  EXPECT_TRUE(train.is_train());
  EXPECT_EQ(integers(train.targets()), (std::vector<int64_t>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(integers(test.targets()), (std::vector<int64_t>{0, 1, 2}));
  const Example<> e = test.get(2);
  EXPECT_EQ(to_string(e.data.sizes()), "[3, 32, 32]");
  EXPECT_FLOAT_EQ(e.data[1][2][3].item<float>(), static_cast<float>((2 + 1024 + 2 * 32 + 3) % 256) / 255);
  EXPECT_EQ(e.target.item<int64_t>(), 2);
  EXPECT_EQ(test.stacked().size(), 3U);
  const auto coarse = CIFAR100(folder.path(), CIFAR100::Mode::kTrain, CIFAR100::Labels::kCoarse);
  EXPECT_EQ(integers(CIFAR100(folder.path()).targets()), (std::vector<int64_t>{5, 6, 7, 8}));
  EXPECT_EQ(integers(coarse.targets()), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(floats(coarse.images()[3]), floats(CIFAR100(folder.path()).images()[3]));
}

TEST(CIFAR, InvalidFilesAreRefused) {
  const TemporaryFolder folder;
  const std::string root = folder.path();
  const auto test = CIFAR10::Mode::kTest;
  expect_refused({BAD_INPUT("CIFAR10", CIFAR10(root, test), IoError, "test_batch.bin", root, "cifar-10-batches-bin")});
  Bytes bytes = cifar_file(2, 1);
  bytes.pop_back();
  folder.write("test_batch.bin", bytes);
  expect_refused({BAD_INPUT("CIFAR10", CIFAR10(root, test), IoError, "6145 bytes", "3073 bytes", "fetch")});
  folder.write("test_batch.bin", cifar_file(11, 1));
  expect_refused({BAD_INPUT("CIFAR10", CIFAR10(root, test), IoError, "picture 10 has class 10", "there are 10")});
  folder.write("test_batch.bin", cifar_file(2, 1));
  expect_refused({BAD_INPUT("StackedDataset", CIFAR10(root, test).get(2), IndexError, "index 2", "2 items")});
}

TEST(CSV, ReadsNumbers) {
  const TemporaryFolder folder;
  const std::string path = folder.write("t.csv", bytes_of("\xef\xbb\xbf"
                                                          "a, \"b,c\" ,d\r\n1,-2.5, 3e2\r\n\r\n+4,\"5\",nan"));
  const CSVTable table = read_csv(path, CSVOptions().header(true));
  EXPECT_EQ(table.names, (std::vector<std::string>{"a", "b,c", "d"}));
  EXPECT_EQ(to_string(table.values.sizes()), "[2, 3]");
  const auto v = floats(table.values);
  EXPECT_EQ(std::vector<float>(v.begin(), v.begin() + 5), (std::vector<float>{1, -2.5, 300, 4, 5}));
  EXPECT_TRUE(std::isnan(v[5]));
  const CSVTable exact =
      read_csv(folder.write("u.csv", bytes_of("0.1;7\n1e-3;8\n")), CSVOptions().separator(';').dtype(kDouble));
  EXPECT_EQ(exact.values[0][0].item<double>(), 0.1);
  EXPECT_EQ(exact.values[1][1].item<double>(), 8);
  EXPECT_EQ(read_csv(folder.write("small.csv", bytes_of("1e-400"))).values.item<float>(), 0);
  EXPECT_EQ(to_string(read_csv(folder.write("empty.csv", {})).values.sizes()), "[0, 0]");
}

TEST(CSV, FaultsHaveLineAndColumn) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text, CSVOptions options = {}) {
    read_csv(folder.write("bad.csv", bytes_of(text)), options);
  };
  const std::string root = folder.path(), none = folder.path("none.csv");
  expect_refused({
      BAD_INPUT("read_csv", read("1,2\n3,x4\n"), IoError, "bad.csv: line 2, column 2: 'x4' is not a number"),
      BAD_INPUT("read_csv", read("1e300\n"), IoError, "'1e300' is out of the range of f32", "dtype(kDouble)"),
      BAD_INPUT("read_csv", read("1e400\n", CSVOptions().dtype(kDouble)), IoError, "out of the range of f64"),
      BAD_INPUT("read_csv", read("a,b\n1,2\n"), IoError, "line 1, column 1: 'a'", "header(true)"),
      BAD_INPUT("read_csv", read("1,2\n\n3,\n"), IoError, "line 3, column 2: '' is not a number"),
      BAD_INPUT("read_csv", read("1,2\n3\n"), IoError, "line 2 has 1 cells", "have 2"),
      BAD_INPUT("read_csv", read("1,2\n3,4,5\n"), IoError, "line 2 has 3 cells", "have 2"),
      BAD_INPUT("read_csv", read("1e999"), IoError, "line 1, column 1: '1e999'", "out of the range"),
      BAD_INPUT("read_csv", read("+-1"), IoError, "'+-1' is not a number"),
      BAD_INPUT("read_csv", read("1", CSVOptions().separator('e')), StateError, "separator is 'e'"),
      BAD_INPUT("read_csv", read("1", CSVOptions().dtype(kLong)), DTypeError, "i64", "f32 or f64"),
      BAD_INPUT("read_csv", read_csv(none), IoError, "none.csv", "no regular file"),
      BAD_INPUT("read_csv", read_csv(root), IoError, "no regular file"),
  });
}

TEST(CSV, RandomDamageIsReadOrRefused) {
  const TemporaryFolder folder;
  std::mt19937 random(3);
  const Bytes good = bytes_of("a,b\n1,-2.5\n\"3\",4e5\n-inf,0.125\n");
  for (int i = 0; i < 2000; ++i) {
    try {
      const CSVTable table = read_csv(folder.write("t.csv", damaged(good, random)), CSVOptions().header(i % 2 == 0));
      ASSERT_EQ(table.values.dim(), 2);
    } catch (const IoError&) {
    }
  }
}

TEST(TextLines, AreReadWithoutTheirEnds) {
  const TemporaryFolder folder;
  datasets::TextLines lines(folder.write("a.txt", bytes_of("one\r\n\ntwo")));
  EXPECT_EQ(lines.lines(), (std::vector<std::string>{"one", "", "two"}));
  EXPECT_EQ(lines.get(2), "two");
  const auto get = [&](size_t i) { lines.get(i); };
  const std::string none = folder.path("b.txt");
  expect_refused({BAD_INPUT("TextLines", get(3), IndexError, "index 3", "3 lines"),
                  BAD_INPUT("read_lines", read_lines(none), IoError, "b.txt", "no regular file")});
}

TEST(Images, ReadsPngFiles) {
  if (!can_read_png()) GTEST_SKIP() << "built without libpng";
  const TemporaryFolder folder;
  const ColourPicture picture = colours(5, 7);
  const Tensor rgb = read_image(folder.write("rgb.png", png_file(picture, 2)));
  EXPECT_EQ(to_string(rgb.sizes()), "[3, 5, 7]");
  EXPECT_EQ(floats(rgb), picture.planes());
  EXPECT_EQ(floats(read_image(folder.write("deep.png", png_file(picture, 2, 16)))), picture.planes());
  // With transparency the colours stay the same.
  EXPECT_EQ(floats(read_image(folder.write("rgba.png", png_file(picture, 6)))), picture.planes());
  const Tensor grey = read_image(folder.write("grey.png", png_file(picture, 0)));
  EXPECT_EQ(floats(grey[0]), floats(grey[2]));
  const std::vector<float> planes = picture.planes();
  EXPECT_EQ(floats(grey[0]), std::vector<float>(planes.begin(), planes.begin() + 35));
}

TEST(Images, ReadsPngFilesWithPalettes) {
  if (!can_read_png()) GTEST_SKIP() << "built without libpng";
  const TemporaryFolder folder;
  const Bytes palette = {10, 20, 30, 255, 0, 7, 3, 2, 1};
  const ColourPicture picture{1, 4, {255, 0, 7, 10, 20, 30, 3, 2, 1, 255, 0, 7}};  // colours 1, 0, 2, 1
  for (const Bytes& alpha : {Bytes{}, Bytes{0, 128}}) {
    const auto read = [&](uint8_t bits, const Bytes& packed) {
      return read_image(folder.write("p.png", palette_png(palette, alpha, 4, bits, packed)));
    };
    EXPECT_EQ(floats(read(8, {1, 0, 2, 1})), picture.planes());
    EXPECT_EQ(floats(read(4, {0x10, 0x21})), picture.planes());
    EXPECT_EQ(floats(read(2, {0x49})), picture.planes());
    EXPECT_THROWS(read(8, {1, 0, 2, 3}), IoError, "p.png: ", "colour 3 of a palette of 3", "fetch the file again");
    EXPECT_THROWS(read(2, {0x4d}), IoError, "colour 3 of a palette of 3");
  }
}

TEST(Images, ReadsJpegFiles) {
  if (!can_read_jpeg()) GTEST_SKIP() << "built without libjpeg";
  const TemporaryFolder folder;
  const ColourPicture picture = colours(18, 21);
  const Tensor image = read_image(folder.write("a.jpg", jpeg_file(picture)));
  EXPECT_EQ(to_string(image.sizes()), "[3, 18, 21]");
  const auto values = floats(image), expected = picture.planes();
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 0.03) << i;
}

TEST(Images, InvalidFilesAreRefused) {
  const TemporaryFolder folder;
  const auto read = [&](const Bytes& bytes) { read_image(folder.write("p", bytes)); };
  const std::string none = folder.path("q"), cut_path = none + '\0';
  expect_refused({BAD_INPUT("read_image", read({}), IoError, "neither a PNG nor a JPEG"),
                  BAD_INPUT("read_image", read_image(none), IoError, "q", "no regular file"),
                  BAD_INPUT("read_image", read_image(cut_path), IoError, "q?", "NUL byte")});
  if (can_read_png()) {
    Bytes cut = png_file(colours(9, 9), 2);
    cut.resize(cut.size() / 2);
    expect_refused({BAD_INPUT("read_image", read(cut), IoError, "PNG file is damaged")});
    const auto large = [&](size_t width, size_t height) {
      Bytes file = png_header(width, height);
      append_chunk(file, "IDAT", {0});
      read(file);
    };
    expect_refused({BAD_INPUT("read_image", large(40000, 2), IoError, "40000 x 2", "32768")});
    expect_refused({BAD_INPUT("read_image", large(30000, 30000), IoError, "30000 x 30000", "elements")});
  }
  if (can_read_jpeg()) {
    Bytes cut = jpeg_file(colours(18, 21));
    cut.resize(cut.size() - 20);
    expect_refused({BAD_INPUT("read_image", read(cut), IoError, "JPEG file is damaged")});
  }
}

TEST(Images, RandomDamageIsReadOrRefused) {
  const TemporaryFolder folder;
  std::mt19937 random(5);
  std::vector<Bytes> files;
  if (can_read_png()) files.push_back(png_file(colours(9, 11), 2));
  if (can_read_png()) files.push_back(palette_png({10, 20, 30, 255, 0, 7}, {0}, 3, 8, {1, 0, 1}));
  if (can_read_jpeg()) files.push_back(jpeg_file(colours(18, 21)));
  for (int i = 0; i < 1500 && !files.empty(); ++i) {
    try {
      const Tensor image = read_image(folder.write("p", damaged(files[static_cast<size_t>(i) % files.size()], random)));
      ASSERT_EQ(image.size(0), 3);
    } catch (const IoError&) {
    } catch (const OutOfMemoryError&) {
    }
  }
}

TEST(ImageFolder, NumbersTheClassesByName) {
  if (!can_read_png()) GTEST_SKIP() << "built without libpng";
  const TemporaryFolder folder;
  folder.write("dog/b.PNG", png_file(colours(4, 4), 2));
  folder.write("cat/deep/a.png", png_file(colours(4, 4), 2));
  folder.write("cat/notes.txt", bytes_of("x"));
  folder.write("dog/a.png", png_file(colours(4, 4), 0));
  ImageFolder pictures(folder.path());
  EXPECT_EQ(pictures.classes(), (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(pictures.size(), 3U);
  EXPECT_EQ(pictures.samples()[1].first, folder.path("dog/a.png"));
  EXPECT_EQ(pictures.get(0).target.item<int64_t>(), 0);
  auto loader = make_data_loader<samplers::SequentialSampler>(
      pictures.map(transforms::Resize<>({2, 2})).map(transforms::Stack<>()), DataLoaderOptions(3).workers(2));
  EXPECT_EQ(to_string(loader->begin()->data.sizes()), "[3, 3, 2, 2]");
  const auto get = [&](size_t i) { pictures.get(i); };
  expect_refused({BAD_INPUT("ImageFolder", get(3), IndexError, "index 3", "3 pictures")});
}

TEST(ImageFolder, InvalidFoldersAreRefused) {
  const TemporaryFolder folder;
  const std::string root = folder.path(), none = folder.path("none");
  expect_refused({BAD_INPUT("ImageFolder", ImageFolder(root), IoError, root, "no folders in it"),
                  BAD_INPUT("ImageFolder", ImageFolder(none), IoError, none, "cannot list"),
                  BAD_INPUT("ImageFolder", ImageFolder(root + '\0'), IoError, "NUL byte")});
  folder.write("cat/notes.txt", bytes_of("x"));
  expect_refused({BAD_INPUT("ImageFolder", ImageFolder(root), IoError, "cat", "no .png, .jpg or .jpeg")});
}

}  // namespace
}  // namespace tandem::data
