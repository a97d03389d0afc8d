// Both Fashion-MNIST examples, one after another, with one table at the end. Run by scripts/demo.sh.
#include "mnist/training.h"

int main(int argc, char** argv) {
  return mnist::main_of("Trains an MLP and a CNN on Fashion-MNIST in f32, bf16 AMP and f16 AMP, and compares them",
                        {mnist::mlp(), mnist::cnn()}, argc, argv);
}
