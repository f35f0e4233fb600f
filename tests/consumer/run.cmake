# Installs the build tree BUILD under a scratch prefix, builds the consumer against it and runs it.
set(scratch ${BUILD}/consumer)
file(REMOVE_RECURSE ${scratch})

function(run output_variable)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "'${command}' ended with ${status}:\n${output}")
  endif()
  set(${output_variable} "${output}" PARENT_SCOPE)
endfunction()

function(expect output pattern)
  if(NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "expected '${pattern}' in:\n${output}")
  endif()
endfunction()

run(ignored ${CMAKE_COMMAND} --install ${BUILD} --prefix ${scratch}/prefix)
run(ignored ${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR} -B ${scratch}/build
    -D CMAKE_BUILD_TYPE=Release -D CMAKE_PREFIX_PATH=${scratch}/prefix)
run(ignored ${CMAKE_COMMAND} --build ${scratch}/build)
run(output ${scratch}/build/train_lenet)
expect("${output}" "loss|GiB")
run(output ${scratch}/prefix/bin/vdnn --version)
expect("${output}" "${VERSION}")
