"""Conan 2 recipe for the sources that this file is in:

    conan create packaging/conan --build=missing

Conan Center has no oneDNN 3, so the recipe downloads the release that cmake/downloads.cmake names, and builds it as a
part of tandem.
"""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get, load, rmdir

required_conan_version = ">=2.0"


class TandemRecipe(ConanFile):
    name = "tandem"
    description = "Mixed-precision training in C++: PyTorch's AMP on a small tensor library"
    license = "MIT"
    topics = ("deep-learning", "mixed-precision", "amp", "autograd", "tensor")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "png": [True, False], "jpeg": [True, False],
               "mpi": [True, False], "protobuf": [True, False]}
    default_options = {"shared": False, "fPIC": True, "png": True, "jpeg": True, "mpi": False, "protobuf": False}
    implements = ["auto_shared_fpic"]

    def _repository(self):
        return os.path.normpath(os.path.join(self.recipe_folder, "..", ".."))

    def set_version(self):
        header = load(self, os.path.join(self._repository(), "include", "tandem", "version.h"))
        self.version = ".".join(re.findall(r"^#define TANDEM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.M))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "THIRD_PARTY_NOTICES.md", "cmake/*", "common/*", "compat/*",
                        "include/*", "kernels/*", "packaging/debian/*", "src/*"):
            copy(self, pattern, src=self._repository(), dst=self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("tandem supports Linux only")
        check_min_cppstd(self, 20)

    def requirements(self):
        self.requires("fmt/[>=9 <12]", transitive_headers=True, transitive_libs=True)
        self.requires("nlohmann_json/[>=3.10 <4]", visible=False)
        self.requires("zlib/[>=1.2.11 <2]")
        if self.options.png:
            self.requires("libpng/[>=1.6 <2]")
        if self.options.jpeg:
            self.requires("libjpeg-turbo/[>=2.1 <4]")
        if self.options.mpi:
            self.requires("openmpi/[>=4.1 <5]")
        if self.options.protobuf:
            self.requires("protobuf/[>=3.21 <7]")

    def build_requirements(self):
        if self.options.protobuf:
            self.tool_requires("protobuf/<host_version>")

    def source(self):
        downloads = load(self, os.path.join(self.source_folder, "cmake", "downloads.cmake"))
        pools = re.search(r"TANDEM_POOLS ([^)]+)\)", downloads).group(1).split()
        path, sha256 = re.search(r"tandem_download\(DNNL::dnnl onednn (\S+)\s+(\w+)\)", downloads).groups()
        get(self, [f"{pool}/{path}" for pool in pools], sha256=sha256, strip_root=True,
            destination=os.path.join(self.source_folder, "onednn"))

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "TANDEM_BUILD_TESTS": False,
            "TANDEM_BUILD_EXAMPLES": False,
            "TANDEM_BUILD_BENCHMARKS": False,
            "TANDEM_BUILD_TOOLS": False,
            "CMAKE_DISABLE_FIND_PACKAGE_dnnl": True,
            "FETCHCONTENT_SOURCE_DIR_ONEDNN": os.path.join(self.source_folder, "onednn").replace("\\", "/"),
            "TANDEM_PNG": bool(self.options.png),
            "TANDEM_JPEG": bool(self.options.jpeg),
            "TANDEM_MPI": bool(self.options.mpi),
            "TANDEM_PROTOBUF": bool(self.options.protobuf),
        })
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        for notice in ("LICENSE", "THIRD_PARTY_NOTICES.md"):
            copy(self, notice, src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        for notice in ("LICENSE", "THIRD-PARTY-PROGRAMS"):
            copy(self, notice, src=os.path.join(self.source_folder, "onednn"),
                 dst=os.path.join(self.package_folder, "licenses", "onednn"))
        for folder in ("cmake", "pkgconfig"):  # Conan makes its own
            rmdir(self, os.path.join(self.package_folder, "lib", folder))
        rmdir(self, os.path.join(self.package_folder, "share"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "tandem")
        self.cpp_info.set_property("pkg_config_name", "tandem")
        library = self.cpp_info.components["library"]
        library.set_property("cmake_target_name", "tandem::tandem")
        library.libs = ["tandem"] if self.options.shared else ["tandem", "dnnl"]
        library.requires = ["fmt::fmt", "nlohmann_json::nlohmann_json", "zlib::zlib"]
        library.system_libs = ["pthread", "dl", "m"]
        if not self.options.shared:
            library.sharedlinkflags = library.exelinkflags = ["-fopenmp"]
        self._component("distributed", {"mpi": "openmpi::openmpi"})
        self._component("io", {"png": "libpng::libpng", "jpeg": "libjpeg-turbo::libjpeg-turbo",
                               "protobuf": "protobuf::libprotobuf-lite"})
        compat = self.cpp_info.components["torch_compat"]
        compat.set_property("cmake_target_name", "tandem::torch_compat")
        compat.includedirs = [os.path.join("include", "tandem", "torch_compat")]
        compat.libdirs = []
        compat.requires = ["library"]

    def _component(self, name, libraries):
        """Adds the component tandem::name, for which the options in `libraries` say what it needs."""
        component = self.cpp_info.components[name]
        component.set_property("cmake_target_name", f"tandem::{name}")
        component.set_property("pkg_config_name", f"tandem-{name}")
        component.requires = ["library"]
        needed = [library for option, library in libraries.items() if self.options.get_safe(option)]
        if needed:  # as in cmake/components.cmake
            component.requires += needed
            folder = os.path.join(self.package_folder, "lib")
            component.sharedlinkflags = component.exelinkflags = [
                f"-Wl,--push-state,--no-as-needed,--whole-archive,-L{folder},-ltandem_{name},--pop-state"]
