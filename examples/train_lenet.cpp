// Trains a small network of one's own inside 8 MiB, moving feature maps to disk where they do not fit.
#include <vdnn/vdnn.h>
#include <cstdio>

int main() {
  vdnn::GraphBuilder b("lenet", {64, 1, 28, 28});
  auto x = b.relu("relu1", b.convolution("conv1", b.input(), {.channels = 32, .kernel = {5, 5}}));
  x = b.max_pool("pool1", x, {.kernel = {2, 2}, .stride = {2, 2}});
  x = b.relu("relu2", b.convolution("conv2", x, {.channels = 64, .kernel = {5, 5}}));
  x = b.max_pool("pool2", x, {.kernel = {2, 2}, .stride = {2, 2}});
  b.softmax_cross_entropy("loss", b.fully_connected("fc", x, {.features = 10}));

  vdnn::Job job(std::move(b).build(), {.device = "cpu"});
  auto plan = job.plan({.policy = "vdnn-all", .budget_bytes = vdnn::parse_bytes("16MiB")});
  vdnn::Session session(job, std::move(plan), vdnn::open_dataset("synthetic:512", 10, 1),
                        {.learning_rate = 0.01});
  double loss = 0;
  for (int step = 0; step < 10; ++step) loss = session.step().loss;
  std::printf("loss %.4f, peak %s, %s offloaded\n", loss,
              vdnn::format_bytes(session.totals().peak_bytes).c_str(),
              vdnn::format_bytes(session.totals().offloaded_bytes).c_str());
}
