// Modules, containers and dictionaries reject bad or duplicate names, missing entries, and null modules.
#include "support/bad_input.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using namespace nn;

TEST(ModuleErrors, Names) {
  const Tensor x = ones({2, 3});
  const Linear l(2, 3);
  const char *dot = "has a dot", *taken = "choose another";
  expect_refused({
      BAD_INPUT("register_parameter", l->register_parameter("", x), StateError, "empty", "give it one"),
      BAD_INPUT("register_parameter", l->register_parameter("a.b", x), StateError, "'a.b'", dot),
      BAD_INPUT("register_parameter", l->register_parameter("bias", x), StateError, "'bias'", "a parameter", taken),
      BAD_INPUT("register_buffer", l->register_buffer("", x), StateError, "empty", "give it one"),
      BAD_INPUT("register_buffer", l->register_buffer("a.b", x), StateError, "'a.b'", dot),
      BAD_INPUT("register_buffer", l->register_buffer("bias", x), StateError, "'bias'", "a parameter", taken),
      BAD_INPUT("register_module", l->register_module("", ReLU()), StateError, "empty", "give it one"),
      BAD_INPUT("register_module", l->register_module("a.b", ReLU()), StateError, "'a.b'", dot),
      BAD_INPUT("register_module", l->register_module("bias", ReLU()), StateError, "'bias'", "a parameter", taken),
      BAD_INPUT("replace_module", l->replace_module("q", ReLU()), StateError, "'q'", "register_module"),
      BAD_INPUT("unregister_module", l->unregister_module("q"), StateError, "no submodule 'q'", "named_children()"),
      BAD_INPUT("unregister_parameter", l->unregister_parameter("q"), StateError, "no parameter 'q'",
                "named_parameters()"),
      BAD_INPUT("unregister_buffer", l->unregister_buffer("q"), StateError, "no buffer 'q'", "named_buffers()"),
      BAD_INPUT("register_module", Sequential({{"a", ReLU()}, {"a", ReLU()}}), StateError, "'a'", "a submodule"),
      BAD_INPUT("register_module", Sequential()->push_back("a.b", ReLU()), StateError, "'a.b'", dot),
  });
  EXPECT_EQ(l->named_parameters().size(), 2U) << "refused calls have no effect";
}

TEST(ModuleErrors, TensorsAndModules) {
  const Tensor x = ones({2, 3}), weight = ones({2, 3}).requires_grad_(), result = weight * 2;
  const Linear l(2, 3), none{nullptr};
  const std::shared_ptr<ReLUImpl> null;
  const char* held = "tandem::nn::LinearImpl";
  expect_refused({
      BAD_INPUT("register_parameter", l->register_parameter("q", result), AutogradError, "'q'", "[2, 3] f32",
                "the result of an op", "detach()"),
      BAD_INPUT("register_parameter", l->register_parameter("q", ones({2}, kLong)), DTypeError, "'q' [2] i64",
                "requires_grad = false"),
      BAD_INPUT("register_module", l->register_module("q", null), StateError, "'q' is null", "construct"),
      BAD_INPUT("register_module", l->register_module("q", *l), StateError, "'q'", "itself"),
      BAD_INPUT("replace_module", Sequential({{"q", ReLU()}})->replace_module("q", null), StateError, "'q' is null",
                "construct"),
      BAD_INPUT("Module::to", l->to(kLong), DTypeError, "i64", "floating", "use kFloat"),
      BAD_INPUT("Module::to", l->to(Device(kCPU), kInt), DTypeError, "i32", "floating"),
      BAD_INPUT("modules", LinearImpl(2, 3).modules(), StateError, held, "make_shared", "include_self = false"),
      BAD_INPUT("named_modules", LinearImpl(2, 3).named_modules(), StateError, held, "make_shared",
                "include_self = false"),
      BAD_INPUT("ModuleHolder", none->weight, StateError, held, "nullptr", "assign a module first"),
      BAD_INPUT("ModuleHolder", none(x), StateError, held, "nullptr", "assign a module first"),
      BAD_INPUT("ModuleHolder", none.ptr(), StateError, held, "nullptr", "assign a module first"),
      BAD_INPUT("ModuleHolder", l->register_module("q", none), StateError, held, "nullptr", "assign a module first"),
  });
  EXPECT_EQ(l->weight.dtype(), kFloat);
  if (cuda::is_available()) GTEST_SKIP() << "this machine has a GPU";
  expect_refused(
      {BAD_INPUT("Module::to", l->to(kCUDA), DeviceError, "cuda is not available", "Device(kCPU)"),
       BAD_INPUT("Module::to", l->cuda(), DeviceError, "cuda is not available", "Device(kCPU)"),
       BAD_INPUT("Module::to", l->to(Device(kCUDA), kHalf), DeviceError, "cuda is not available", "Device(kCPU)")});
}

TEST(ContainerErrors, PositionsTypesAndNull) {
  const Tensor x = ones({2, 3});
  const std::shared_ptr<ReLUImpl> null;
  const Sequential net{ReLU()};
  const ModuleList list{ReLU()};
  const char *relu = "tandem::nn::ReLUImpl", *linear = "tandem::nn::LinearImpl";
  expect_refused({
      BAD_INPUT("Sequential", Sequential()(x), StateError, "no modules", "push_back()"),
      BAD_INPUT("Sequential", net->at<ReLU>(1), IndexError, "module 1", "size is 1", "start at 0"),
      BAD_INPUT("Sequential", net->ptr(3), IndexError, "module 3", "size is 1", "start at 0"),
      BAD_INPUT("Sequential", net[3], IndexError, "module 3", "size is 1", "start at 0"),
      BAD_INPUT("Sequential", net->at<Linear>(0), StateError, relu, linear, "its own type"),
      BAD_INPUT("linear", Sequential(Linear(3, 4), Linear(3, 4))(x), ShapeError, "[2, 4] f32", "[4, 3] f32"),
      BAD_INPUT("register_module", net->push_back("0", ReLU()), StateError, "'0'", "choose another"),
      BAD_INPUT("AnyModule", net->push_back(AnyModule()), StateError, "contains no module", "give it one"),
      BAD_INPUT("AnyModule", net->push_back(null), StateError, "contains no module", "give it one"),
      BAD_INPUT("AnyModule", AnyModule().forward(x), StateError, "contains no module", "give it one"),
      BAD_INPUT("AnyModule", AnyModule().get<ReLU>(), StateError, "nothing", relu),
      BAD_INPUT("AnyModule", AnyModule(ReLU()).get<Linear>(), StateError, relu, linear, "its own type"),
      BAD_INPUT("ModuleList", list->ptr(1), IndexError, "module 1", "size is 1", "start at 0"),
      BAD_INPUT("ModuleList", list[2], IndexError, "module 2", "size is 1", "start at 0"),
      BAD_INPUT("ModuleList", list->insert(3, ReLU()), IndexError, "insert at 3", "size is 1", "from 0 to the size"),
      BAD_INPUT("register_module", list->insert(0, list), StateError, "the module itself", "register a copy"),
      BAD_INPUT("ModuleList", list->insert(0, std::shared_ptr<Module>()), StateError, "null", "construct"),
      BAD_INPUT("ModuleList", list->at<Linear>(0), StateError, relu, linear, "its own type"),
      BAD_INPUT("register_module", list->push_back(std::shared_ptr<Module>()), StateError, "null", "construct"),
      BAD_INPUT("Functional", Functional(FunctionalImpl::Function()), StateError, "empty", "pass one"),
      BAD_INPUT("Functional", Functional(std::function<Tensor(const Tensor&, int)>(), 1), StateError, "empty",
                "pass one"),
      BAD_INPUT("Module::apply", list->apply(Module::ModuleApplyFunction()), StateError, "empty", "pass one"),
      BAD_INPUT("Module::apply", std::as_const(*list).apply(Module::ConstModuleApplyFunction()), StateError, "empty",
                "pass one"),
      BAD_INPUT("Module::apply", list->apply(Module::NamedModuleApplyFunction()), StateError, "empty", "pass one"),
      BAD_INPUT("Module::apply", std::as_const(*list).apply(Module::ConstNamedModuleApplyFunction()), StateError,
                "empty", "pass one"),
  });
  EXPECT_EQ(net->size() + list->size(), 2U);
}

TEST(ModuleErrors, ModuleCannotContainItself) {
  struct Box : Module {
    using Module::register_module;
  };
  const auto outer = std::make_shared<Box>(), inner = std::make_shared<Box>();
  outer->register_module("inner", inner);
  expect_refused({
      BAD_INPUT("register_module", inner->register_module("outer", outer), StateError, "'outer'", "contains it"),
      BAD_INPUT("register_module", inner->register_module("self", inner), StateError, "'self'", "the module itself"),
  });
}

TEST(ModuleErrors, CodeOfTheUserIsNotNamedAfterItsCaller) {
  struct Faulty : Module {
    using Module::to;
    Tensor forward(const Tensor& x) { return softmax(x, 5); }
    void to(DType, bool) override { mm(ones({2}), ones({2})); }
    void zero_grad(bool) override { mm(ones({2}), ones({2})); }
  };
  const Tensor x = ones({2, 3});
  const Sequential net{Faulty()};
  expect_refused({
      BAD_INPUT("softmax", net(x), IndexError, "dimension 5"),
      BAD_INPUT("softmax", AnyModule(Faulty()).forward(x), IndexError, "dimension 5"),
      BAD_INPUT("softmax", Functional([](const Tensor& t) { return softmax(t, 5); })(x), IndexError, "dimension 5"),
      BAD_INPUT("softmax", net->apply([=](Module&) { softmax(x, 5); }), IndexError, "dimension 5"),
      BAD_INPUT("mm", net->to(kDouble), ShapeError, "[2] f32"),
      BAD_INPUT("mm", net->zero_grad(), ShapeError, "[2] f32"),
  });
}

TEST(OrderedDictErrors, KeysAndPositions) {
  const OrderedDict<std::string, int> empty("Entry");
  OrderedDict<std::string, int> one("Entry");
  one.insert("a", 1);
  using Dict = OrderedDict<std::string, int>;
  expect_refused({
      BAD_INPUT("OrderedDict", empty["x"], IndexError, "Entry 'x'", "contains()"),
      BAD_INPUT("OrderedDict", empty[size_t{0}], IndexError, "Entry number 0", "size is 0", "insert()"),
      BAD_INPUT("OrderedDict", empty.front(), IndexError, "Entry number 0", "size is 0", "insert()"),
      BAD_INPUT("OrderedDict", empty.back(), IndexError, "Entry number 0", "size is 0", "insert()"),
      BAD_INPUT("OrderedDict", Dict().front() = Dict::Item("b", 1), IndexError, "Key number 0", "size is 0"),
      BAD_INPUT("OrderedDict", Dict().back() = Dict::Item("b", 1), IndexError, "Key number 0", "size is 0"),
      BAD_INPUT("OrderedDict", Dict(one).erase("x"), IndexError, "Entry 'x'", "contains()"),
      BAD_INPUT("OrderedDict", Dict(one).insert("a", 2), StateError, "Entry 'a'", "unique"),
      BAD_INPUT("OrderedDict", Dict(one).update(one), StateError, "Entry 'a'", "unique"),
      BAD_INPUT("OrderedDict", (Dict{{"a", 1}, {"a", 2}}), StateError, "Key 'a'", "unique"),
  });
  EXPECT_THROWS(one.update(Dict({{"b", 2}, {"a", 3}})), StateError, "Entry 'a'");
  EXPECT_EQ(one.size(), 1U) << "a refused update adds nothing";
}

}  // namespace
}  // namespace tandem::testing
