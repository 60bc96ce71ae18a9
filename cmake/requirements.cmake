# What the build needs from the system, looked for before anything is compiled, so that one message names all that is
# missing and says what to do. scripts/install-deps installs it; the names in brackets are Debian's.
set(missing "")

# lumos_require(FOUND WHAT): WHAT is missing unless the variable or target FOUND says otherwise.
macro(lumos_require found what)
  if(NOT TARGET ${found} AND NOT ${found})
    string(APPEND missing "\n    ${what}")
  endif()
endmacro()

# lumos_require_header(HEADER WHAT): of a library that is headers alone, wherever CMAKE_PREFIX_PATH has it.
macro(lumos_require_header header what)
  string(MAKE_C_IDENTIFIER "LUMOS_${header}_FOLDER" folder)
  find_path(${folder} ${header})
  mark_as_advanced(${folder})
  lumos_require(${folder} "${what}")
  if(${folder})
    include_directories(SYSTEM ${${folder}})
  endif()
endmacro()

set(LUMOS_OLDEST_GNU 12 CACHE STRING "The oldest g++ that builds Lumos")
set(LUMOS_OLDEST_CLANG 14 CACHE STRING "The oldest clang that builds Lumos")
mark_as_advanced(LUMOS_OLDEST_GNU LUMOS_OLDEST_CLANG)
set(compiler "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
if(compiler MATCHES "^GNU " AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS LUMOS_OLDEST_GNU OR
   compiler MATCHES "^Clang " AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS LUMOS_OLDEST_CLANG)
  string(APPEND missing
    "\n    g++ ${LUMOS_OLDEST_GNU} or clang ${LUMOS_OLDEST_CLANG}, or newer: ${CMAKE_CXX_COMPILER} is ${compiler}."
    "\n      With another one: rm -rf ${CMAKE_BINARY_DIR}; CXX=g++-${LUMOS_OLDEST_GNU} make build")
endif()

find_package(Threads QUIET)
find_package(fmt 9 QUIET)
find_package(simdjson QUIET)
find_package(PkgConfig QUIET)
lumos_require(Threads::Threads "POSIX threads")
lumos_require(fmt::fmt "fmt 9 or newer (libfmt-dev)")
lumos_require(simdjson::simdjson "simdjson 3 or newer (libsimdjson-dev)")
lumos_require(PKG_CONFIG_FOUND "pkg-config (pkg-config)")
if(PKG_CONFIG_FOUND)
  pkg_check_modules(ISAL QUIET IMPORTED_TARGET libisal)
  pkg_check_modules(ZSTD QUIET IMPORTED_TARGET libzstd)  # only traces compressed with it need it
endif()
lumos_require(ISAL_FOUND "ISA-L (libisal-dev)")
lumos_require_header(tsl/robin_map.h "robin-map (robin-map-dev)")
lumos_require_header(tl/expected.hpp "tl-expected (libexpected-dev)")
lumos_require_header(toml++/toml.h "toml++ 3 (libtomlplusplus-dev)")
lumos_require_header(CLI/CLI.hpp "CLI11 2 (libcli11-dev)")
lumos_require_header(protozero/pbf_reader.hpp "protozero (libprotozero-dev)")
set(installs build)
if(LUMOS_TESTS)
  set(installs test)
  find_package(GTest QUIET)
  find_package(rapidcheck QUIET)
  find_package(Python3 QUIET COMPONENTS Interpreter)
  lumos_require(GTest::gtest_main "GoogleTest (libgtest-dev), for the tests")
  lumos_require(rapidcheck "RapidCheck (librapidcheck-dev), for the tests")
  lumos_require(Python3_FOUND "Python 3 (python3), for the tests")
endif()
if(LUMOS_BENCH)
  set(installs test)
  find_package(benchmark QUIET)
  lumos_require(benchmark::benchmark_main "Google Benchmark (libbenchmark-dev), for the benchmarks")
endif()

if(missing)
  message(FATAL_ERROR "Lumos cannot be built here yet. Missing:${missing}\n"
    "  On Debian 12, Ubuntu 24.04 and newer 'scripts/install-deps ${installs}', as root, installs all packages.\n"
    "  Elsewhere install them by hand or build in a container of debian:12. What is not in the standard\n"
    "  folders is found with CMAKE_FLAGS=-DCMAKE_PREFIX_PATH=... Then repeat the command.")
endif()
