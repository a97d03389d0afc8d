// An MLP trained on Fashion-MNIST in f32, bf16 AMP and f16 AMP. The loop: mnist/training.cpp, the network:
// mnist/models.h.
#include "mnist/training.h"

int main(int argc, char** argv) { return mnist::main_of("Trains an MLP on Fashion-MNIST", {mnist::mlp()}, argc, argv); }
