// Trains an MLP on Fashion-MNIST in f32, bf16 AMP and f16 AMP. The loop is in mnist/training.cpp, the network in
// mnist/models.h.
#include "mnist/training.h"

int main(int argc, char** argv) { return mnist::main_of("Trains an MLP on Fashion-MNIST", {mnist::mlp()}, argc, argv); }
