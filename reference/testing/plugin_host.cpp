// A program that is not linked with libpython and opens the probe as a plug-in, its symbols local:
//   plugin_host PLUGIN PYTHON ACTION ...
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  void* plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  void* probe = plugin != nullptr ? dlsym(plugin, "interpreter_probe") : nullptr;
  if (probe == nullptr) {
    std::fprintf(stderr, "plugin_host: %s\n", dlerror());
    return 64;
  }
  return reinterpret_cast<int (*)(int, char**)>(probe)(argc - 1, argv + 1);
}
