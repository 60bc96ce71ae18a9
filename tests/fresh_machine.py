#!/usr/bin/env python3
"""What a machine is told on which the build cannot begin: everything that is missing, at once, and what to do.
usage: fresh_machine.py SOURCE CMAKE CXX"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE, CMAKE, CXX = sys.argv[1:4]
INSTALL = os.path.join(SOURCE, "scripts", "install-deps")


def configure(folder, *arguments):
    """The exit status of a configure and what it says, in one line: CMake breaks lines where it likes."""
    command = [CMAKE, "-S", SOURCE, "-B", folder, "-G", "Ninja", "-DCMAKE_CXX_COMPILER=" + CXX, "-DLUMOS_CHARTS=OFF",
               "-DCMAKE_MAKE_PROGRAM=" + (shutil.which("ninja") or "ninja"), *arguments]
    run = subprocess.run(command, capture_output=True, text=True)
    return run.returncode, " ".join(run.stderr.split())


def install_deps(tools, kind):
    """install-deps where there is nothing but these tools: no apt."""
    with tempfile.TemporaryDirectory() as folder:
        for tool in ["bash", "env", "tr", "fold", "sed", *tools]:
            os.symlink("/bin/true" if tool in tools else shutil.which(tool), os.path.join(folder, tool))
        run = subprocess.run([INSTALL, kind], capture_output=True, text=True, env={"PATH": folder})
    return run.returncode, run.stderr


def debian_packages():
    """The libraries among the packages that install-deps installs for the build; zstd may be missing."""
    with open(INSTALL) as script:
        names = re.search(r'^build="([^"]*)"', script.read(), re.M)[1].split()
    return {name for name in names if name.endswith("-dev")} - {"libzstd-dev"}


def check_nothing_there():
    # No folder of the system is searched: as if no library were installed.
    with tempfile.TemporaryDirectory() as folder:
        status, said = configure(folder, "-DLUMOS_TESTS=OFF", "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF",
                                 "-DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF")
    assert status != 0, "configured without libraries"
    assert said.count("CMake Error") == 1, said
    unnamed = {package for package in debian_packages() if package not in said}
    assert not unnamed, f"{unnamed} missing and not named: {said}"
    assert "scripts/install-deps build" in said and "CMAKE_PREFIX_PATH" in said, said


def check_old_compiler():
    with tempfile.TemporaryDirectory() as folder:
        status, said = configure(folder, "-DLUMOS_TESTS=OFF", "-DLUMOS_OLDEST_GNU=99", "-DLUMOS_OLDEST_CLANG=99")
    assert status != 0, "configured with a compiler that is too old"
    assert said.count("CMake Error") == 1 and CXX in said and "CXX=" in said, said


def check_no_apt():
    status, said = install_deps([], "build")
    assert status == 1 and "no apt" in said and "Missing: c++ cmake ninja pkg-config" in said, said
    assert all(package in said for package in debian_packages()), said
    # With the tools there the rest is for CMake to say.
    assert install_deps(["c++", "cmake", "ninja", "pkg-config"], "test") == (0, "")
    status, said = install_deps(["c++", "cmake", "ninja", "pkg-config"], "browser")
    assert status == 1 and "chromium" in said, said


check_nothing_there()
check_old_compiler()
check_no_apt()
print("a machine that lacks something is told what and what to do")
