set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
if(VDNN_SANITIZE)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${VDNN_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>")
  add_link_options(-fsanitize=${VDNN_SANITIZE})
endif()

# Warnings and language rules for targets whose code is vdnn's own.
function(vdnn_own_code target)
  # Without errno and traps, square roots and comparisons vectorise; values do not change.
  set(options -fno-math-errno -fno-trapping-math -Wall -Wextra -Wshadow -Wno-missing-field-initializers
              -Wnon-virtual-dtor -Woverloaded-virtual)
  # Host code's constexpr functions, such as those of counter-based random numbers, run on the device, too.
  set(cuda_options --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers)
  if(VDNN_WERROR)
    list(APPEND options -Werror)
    list(APPEND cuda_options -Werror=all-warnings)
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${options}>"
                                           "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_options}>")
endfunction()
