extern "C" int interpreter_probe(int argc, char** argv);

int main(int argc, char** argv) { return interpreter_probe(argc, argv); }
