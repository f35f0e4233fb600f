#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "device/cuda/elements/channel_copy.h"
#include "device/cuda/elements/lrn.h"
#include "device/cuda/elements/pooling.h"
#include "device/cuda/elements_support.h"
#include "support/kernel_run.h"
#include "vdnn/graph.h"

namespace vdnn::cuda::testing {
namespace {

using ::testing::ElementsAre;
using ::vdnn::testing::KernelRun;

constexpr int kDraws = 300;

// The shape that the graph gives to the pooled image.
Shape pooled(const Shape& x, const PoolingAttributes& a) {
  GraphBuilder builder("pooled", x);
  return builder.shape(builder.max_pool("pool", builder.input(), a));
}

struct PoolingCase {
  PoolingAttributes attributes;
  Shape x;
  Shape y;

  [[nodiscard]] std::string text() const {
    const auto& a = attributes;
    return fmt::format("{} -> {} k{}x{} s{}x{} p{}x{}{}{}", x.text(), y.text(), a.kernel.height,
                       a.kernel.width, a.stride.height, a.stride.width, a.padding.height, a.padding.width,
                       a.ceil ? " ceil" : "", a.global ? " global" : "");
  }
};

// Windows that overlap or leave gaps, with and without padding.
PoolingCase random_pooling(RandomDraws& draws) {
  PoolingCase result;
  auto& a = result.attributes;
  a.kernel = {draws.between(1, 4), draws.between(1, 4)};
  a.stride = {draws.between(1, 5), draws.between(1, 5)};
  a.padding = {draws.below(a.kernel.height), draws.below(a.kernel.width)};
  a.ceil = draws.chance(0.5);
  a.global = draws.chance(0.1);
  result.x = {draws.between(1, 3), draws.between(1, 5), draws.between(4, 9), draws.between(4, 9)};
  result.y = pooled(result.x, a);
  return result;
}

// Values of which many are equal, most of them negative: padding must not win.
Values few_values(RandomDraws& draws, std::int64_t count) {
  Values values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(draws.between(-3, 0)));
  return values;
}

std::vector<std::uint8_t> bytes_of(const Values& positions, const Layout& layout) {
  const Memory laid = lay(positions, layout);
  return {laid.begin(), laid.end()};
}

TEST(MaxPool, IsTheReferencesBothWays) {
  RandomDraws draws(11);
  for (int draw = 0; draw < kDraws; ++draw) {
    const PoolingCase c = random_pooling(draws);
    const Values x =
        draws.chance(0.5) ? few_values(draws, c.x.elements()) : random_values(draws, c.x.elements());
    const Values dy = random_values(draws, c.y.elements());
    const auto expected =
        KernelRun(OpKind::max_pool, c.attributes).input(c.x, x).output(c.y).output(c.y).run();
    const auto expected_dx = KernelRun(OpKind::max_pool_backward, c.attributes)
                                 .input(c.y, dy)
                                 .input(c.y, expected[1])
                                 .output(c.x)
                                 .run()[0];
    for (const bool channels_last : kChannelsLast) {
      const Layout x_layout{c.x, channels_last};
      const Layout y_layout{c.y, channels_last};
      const Windows windows = make_windows(c.attributes, x_layout, y_layout);
      const Memory in = lay(x, x_layout);
      Memory y = unwritten(c.y.elements());
      std::vector<std::uint8_t> positions(y.size(), 255);
      run_elements(MaxPool<float>{in.data(), y.data(), positions.data(), windows}, c.y.elements());
      ASSERT_EQ(read_back(y, y_layout), expected[0]) << c.text();
      ASSERT_EQ(positions, bytes_of(expected[1], y_layout)) << c.text();

      const Memory gradient = lay(dy, y_layout);
      Memory dx = unwritten(c.x.elements());
      run_elements(MaxPoolBackward<float>{gradient.data(), positions.data(), dx.data(), windows},
                   c.x.elements());
      expect_near(read_back(dx, x_layout), expected_dx, c.text());
    }
  }
}

TEST(MaxPool, KeepsTheFirstOfEqualValuesAndCountsPositionsOnTheWholeWindow) {
  const Layout x{{1, 1, 2, 2}};
  const Layout y{{1, 1, 1, 1}};
  const Memory in = {3, 7, 7, 7};
  Memory out = unwritten(1);
  std::vector<std::uint8_t> positions(1);
  const auto windows =
      make_windows(PoolingAttributes{.kernel = {3, 3}, .stride = {3, 3}, .padding = {1, 1}}, x, y);
  run_elements(MaxPool<float>{in.data(), out.data(), positions.data(), windows}, 1);
  EXPECT_THAT(out, ElementsAre(7));
  EXPECT_THAT(positions, ElementsAre(5));
}

// The largest value is the last of a window over a whole image of so many pixels on a side.
template <class Position>
void expect_last_position_known(std::int64_t side) {
  const Layout x{{1, 1, side, side}};
  const Layout y{{1, 1, 1, 1}};
  const std::int64_t pixels = side * side;
  Memory in(static_cast<std::size_t>(pixels), 0);
  in.back() = 1;
  Memory out = unwritten(1);
  std::vector<Position> positions(1);
  const auto windows = make_windows(PoolingAttributes{.global = true}, x, y);
  EXPECT_EQ(windows.positions(), pixels);
  run_elements(MaxPool<float, Position>{in.data(), out.data(), positions.data(), windows}, 1);
  EXPECT_EQ(positions[0], pixels - 1);
  const Memory dy = {5};
  Memory dx = unwritten(pixels);
  run_elements(MaxPoolBackward<float, Position>{dy.data(), positions.data(), dx.data(), windows}, pixels);
  Memory expected(static_cast<std::size_t>(pixels), 0);
  expected.back() = 5;
  EXPECT_EQ(dx, expected);
}

TEST(MaxPool, TellsAllPositionsApart) {
  expect_last_position_known<std::uint8_t>(16);
  expect_last_position_known<std::int32_t>(20);
}

TEST(MaxPool, HidesNothingThatIsNotANumber) {
  const Layout x{{1, 1, 2, 2}};
  const Layout y{{1, 1, 1, 1}};
  const auto windows = make_windows(PoolingAttributes{.global = true}, x, y);
  for (std::size_t at = 0; at < 4; ++at) {
    Memory in = {1, 5, 3, 2};
    in[at] = std::numeric_limits<float>::quiet_NaN();
    Memory out = unwritten(1);
    std::vector<std::uint8_t> positions(1);
    run_elements(MaxPool<float>{in.data(), out.data(), positions.data(), windows}, 1);
    EXPECT_TRUE(std::isnan(out[0])) << at;
    EXPECT_EQ(positions[0], at);
  }
}

TEST(AveragePool, IsTheReferencesBothWays) {
  RandomDraws draws(12);
  for (int draw = 0; draw < kDraws; ++draw) {
    const PoolingCase c = random_pooling(draws);
    const Values x = random_values(draws, c.x.elements());
    const Values dy = random_values(draws, c.y.elements());
    const auto expected = KernelRun(OpKind::average_pool, c.attributes).input(c.x, x).output(c.y).run()[0];
    const auto expected_dx =
        KernelRun(OpKind::average_pool_backward, c.attributes).input(c.y, dy).output(c.x).run()[0];
    for (const bool channels_last : kChannelsLast) {
      const Layout x_layout{c.x, channels_last};
      const Layout y_layout{c.y, channels_last};
      const Windows windows = make_windows(c.attributes, x_layout, y_layout);
      const Memory in = lay(x, x_layout);
      Memory y = unwritten(c.y.elements());
      run_elements(AveragePool<float>{in.data(), y.data(), windows}, c.y.elements());
      expect_near(read_back(y, y_layout), expected, c.text());

      const Memory gradient = lay(dy, y_layout);
      Memory dx = unwritten(c.x.elements());
      run_elements(AveragePoolBackward<float>{gradient.data(), dx.data(), windows}, c.x.elements());
      expect_near(read_back(dx, x_layout), expected_dx, c.text());
    }
  }
}

TEST(Lrn, IsTheReferencesBothWays) {
  RandomDraws draws(13);
  for (int draw = 0; draw < kDraws; ++draw) {
    const Shape shape{draws.between(1, 2), draws.between(1, 9), draws.between(1, 4), draws.between(1, 4)};
    const LrnAttributes a = {.size = draws.between(1, 6),
                             .alpha = draws.one_of({1e-4, 0.5}),
                             .beta = draws.one_of({0.75, 0.5, 2.0}),
                             .k = draws.one_of({1.0, 2.0})};
    const std::string text =
        fmt::format("{} size {} alpha {} beta {} k {}", shape.text(), a.size, a.alpha, a.beta, a.k);
    const Values x = random_values(draws, shape.elements());
    const Values dy = random_values(draws, shape.elements());
    const auto expected = KernelRun(OpKind::lrn, a).input(shape, x).output(shape).run()[0];
    const auto expected_dx =
        KernelRun(OpKind::lrn_backward, a).input(shape, dy).input(shape, x).output(shape).run()[0];
    for (const bool channels_last : kChannelsLast) {
      const Layout layout{shape, channels_last};
      const auto scales = make_lrn_scales<float>(a, layout);
      const Memory in = lay(x, layout);
      Memory y = unwritten(shape.elements());
      run_elements(Lrn<float>{in.data(), y.data(), scales}, shape.elements());
      expect_near(read_back(y, layout), expected, text);

      const Memory gradient = lay(dy, layout);
      Memory dx = unwritten(shape.elements());
      run_elements(LrnBackward<float>{gradient.data(), in.data(), dx.data(), scales}, shape.elements());
      expect_near(read_back(dx, layout), expected_dx, text);
    }
  }
}

void run_copy(const ChannelCopy<float>& copy) {
  if (copy.is_plain()) {
    std::copy_n(copy.from, copy.values(), copy.to);
  } else {
    run_elements(copy, copy.values());
  }
}

TEST(ChannelCopy, JoinsAndSplitsAsTheReferenceWhateverTheLayouts) {
  RandomDraws draws(14);
  for (int draw = 0; draw < kDraws; ++draw) {
    Shape whole{draws.between(1, 3), 0, draws.between(1, 4), draws.between(1, 4)};
    std::vector<Layout> parts;
    std::vector<Values> values;
    KernelRun concat(OpKind::concat, NoAttributes{});
    std::int64_t channels = 0;
    for (std::int64_t part = draws.between(1, 4); part > 0; --part) {
      const Shape shape{whole[0], draws.between(1, 5), whole[2], whole[3]};
      parts.push_back({shape, draws.chance(0.5)});
      values.push_back(random_values(draws, shape.elements()));
      concat.input(shape, values.back());
      channels += shape[1];
    }
    whole = {whole[0], channels, whole[2], whole[3]};
    const auto expected = concat.output(whole).run()[0];
    const Layout layout{whole, draws.chance(0.5)};
    Memory joined = unwritten(whole.elements());
    std::int64_t at = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Memory from = lay(values[i], parts[i]);
      const std::int64_t count = parts[i].shape[1];
      run_copy({from.data(), map_layout(parts[i]), 0, joined.data(), map_layout(layout), at, count});
      at += count;
    }
    ASSERT_EQ(read_back(joined, layout), expected) << whole.text();
    at = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Memory to = unwritten(parts[i].values());
      const std::int64_t count = parts[i].shape[1];
      run_copy({joined.data(), map_layout(layout), at, to.data(), map_layout(parts[i]), 0, count});
      ASSERT_EQ(read_back(to, parts[i]), values[i]) << whole.text() << " part " << i;
      at += count;
    }
  }
}

// What reorders and taking over the staged batch are.
TEST(ChannelCopy, ReordersWholeTensors) {
  RandomDraws draws(15);
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{3, 1, 2, 2}, Shape{2, 6, 1, 1}, Shape{1, 1, 1, 1}}) {
    for (const bool from_last : kChannelsLast) {
      for (const bool to_last : kChannelsLast) {
        const Layout from{shape, from_last};
        const Layout to{shape, to_last};
        const Values values = random_values(draws, shape.elements());
        const Memory in = lay(values, from);
        Memory out = unwritten(shape.elements());
        const ChannelCopy<float> copy{in.data(), map_layout(from), 0, out.data(), map_layout(to),
                                      0,         shape[1]};
        EXPECT_EQ(copy.is_plain(), from.is_row_major() == to.is_row_major()) << shape.text();
        run_copy(copy);
        EXPECT_EQ(read_back(out, to), values) << shape.text();
      }
    }
  }
}

TEST(MapLayout, AgreesWithTheLayout) {
  for (const bool channels_last : kChannelsLast) {
    const Layout layout{{2, 3, 4, 5}, channels_last};
    const MapLayout map = map_layout(layout);
    ASSERT_EQ(map.values(), layout.values());
    for (std::int64_t i = 0; i < map.values(); ++i) {
      ASSERT_EQ(map.offset_of_row_major(i), layout.offset(i));
      ASSERT_EQ(map.offset(map.place(i)), i);
    }
  }
  const MapLayout vectors = map_layout({{4, 7}, false});
  EXPECT_EQ(vectors.values(), 28);
  EXPECT_EQ(vectors.offset({3, 2, 0}), 23);
}

}  // namespace
}  // namespace vdnn::cuda::testing
