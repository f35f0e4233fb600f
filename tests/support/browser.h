#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "support/file_bytes.h"
#include "support/temporary_directory.h"

namespace vdnn::testing {

enum class Scheme { light, dark };

// What headless Chromium (Debian's package) makes of a page in a window of this width: "width" of its
// content, "svg_heights", "background" and "text" colours, "rectangles", "foreign" (scripts and whatever
// would be loaded), and "words", the text a reader sees.
inline nlohmann::json browse(const std::string& page_path, int width, Scheme scheme) {
  const TemporaryDirectory directory;
  const std::string probe = directory.path() + "/probe.html";
  write_file(probe, R"(<!DOCTYPE html><html><body><iframe id="page" style="border:0" height="800" width=")" +
                        std::to_string(width) + "\" src=\"file://" + page_path + R"("></iframe><script>
document.getElementById('page').addEventListener('load', event => {
  const page = event.target.contentDocument, view = event.target.contentWindow;
  const style = view.getComputedStyle(page.body);
  const found = {width: page.documentElement.scrollWidth, background: style.backgroundColor, text: style.color,
    svg_heights: [...page.querySelectorAll('svg')].map(svg => svg.getBoundingClientRect().height),
    rectangles: page.querySelectorAll('rect').length,
    foreign: page.querySelectorAll('script,link,img,iframe').length, words: page.body.innerText};
  document.body.innerHTML = '<pre>' + btoa(unescape(encodeURIComponent(JSON.stringify(found)))) + '</pre>';
});
</script></body></html>)");
  const std::string command =
      std::string("timeout 120 chromium --headless --no-sandbox --disable-gpu ") +
      "--allow-file-access-from-files --virtual-time-budget=10000 --user-data-dir=" + directory.path() +
      "/profile " + (scheme == Scheme::dark ? "--blink-settings=preferredColorScheme=0 " : "") +
      "--dump-dom file://" + probe + " 2>/dev/null";
  FILE* output = popen(command.c_str(), "r");
  std::string dom;
  for (int c = std::fgetc(output); c != EOF; c = std::fgetc(output)) dom += static_cast<char>(c);
  if (pclose(output) != 0) throw std::runtime_error("chromium failed; scripts/setup --tests installs it");
  const auto begin = dom.find("<pre>");
  const auto end = dom.find("</pre>");
  if (begin == std::string::npos || end == std::string::npos)
    throw std::runtime_error("the page did not load: " + dom);
  const std::string encoded = dom.substr(begin + 5, end - begin - 5);
  std::string text;
  int bits = 0;
  unsigned buffer = 0;
  for (const char c : encoded) {
    constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const auto digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) break;
    buffer = (buffer << 6U) | static_cast<unsigned>(digit);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      text += static_cast<char>((buffer >> static_cast<unsigned>(bits)) & 0xffU);
    }
  }
  return nlohmann::json::parse(text);
}

}  // namespace vdnn::testing
