// A first training program, in f32 and with AMP (docs/getting_started.md): learns whether a point is inside a circle.
#include <tandem/tandem.h>

#include <cstdio>
#include <string_view>

using namespace tandem;

namespace {

struct Net : nn::Module {
  Net() {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  Tensor forward(const Tensor& x) { return fc2(relu(fc1(x))); }

  nn::Linear fc1{2, 64}, fc2{64, 2};
};

struct Points {
  Tensor x, inside;
};

Points draw(int64_t count, Device device) {
  const Tensor x = rand({count, 2}, device) * 2 - 1;  // f32, [count, 2], uniform in [-1, 1)
  return {x, x.square().sum({1}).lt(0.5).to(kLong)};  // i64, [count]: 1 inside the circle, else 0
}

double train_f32(Net& net, Device device, int64_t steps) {
  optim::AdamW adamw(net.parameters(), optim::AdamWOptions(1e-2));
  Tensor loss;
  for (int64_t step = 0; step < steps; ++step) {
    const Points points = draw(256, device);
    adamw.zero_grad();
    loss = cross_entropy(net.forward(points.x), points.inside);
    loss.backward();
    adamw.step();
  }
  return loss.item<double>();
}

double train_amp(Net& net, Device device, int64_t steps) {
  optim::AdamW adamw(net.parameters(), optim::AdamWOptions(1e-2));
  amp::GradScaler scaler;
  Tensor loss;
  for (int64_t step = 0; step < steps; ++step) {
    const Points points = draw(256, device);
    adamw.zero_grad();
    {
      amp::AutocastGuard autocast(device.type());  // f16 on CUDA, bf16 on the CPU
      loss = cross_entropy(net.forward(points.x), points.inside);
    }
    scaler.scale(loss).backward();
    scaler.step(adamw);
    scaler.update();
  }
  return loss.item<double>();
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
  const Device device = cuda::is_available() ? Device(kCUDA) : Device(kCPU);
  manual_seed(1);
  Net in_f32, with_amp;
  in_f32.to(device);
  with_amp.to(device);
  const double f32 = train_f32(in_f32, device, quick ? 200 : 1000);
  const double amp = train_amp(with_amp, device, quick ? 200 : 1000);
  std::printf("loss in f32 %.2f, with AMP %.2f\n", f32, amp);
  return f32 < 0.3 && amp < 0.3 ? 0 : 1;
}
