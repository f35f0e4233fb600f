# Compiles the files of profiles/ into the library, so that the program needs no data files beside it.
file(GLOB profile_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/profiles/*.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${profile_files})
set(entries "")
set(count 0)
foreach(file IN LISTS profile_files)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND entries "    {\"${name}\", R\"profile(${text})profile\"},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/builtin_profiles.cpp @ONLY CONTENT [[
#include "device/profile/builtin_profiles.h"

#include <array>

namespace vdnn {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, @count@> kProfiles = {{
@entries@}};

}  // namespace

std::span<const std::pair<std::string_view, std::string_view>> builtin_profiles() {
  return kProfiles;
}

}  // namespace vdnn
]])
