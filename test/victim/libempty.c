/* A library that does nothing: what any preloaded library costs. */
extern const int libempty_nothing;
const int libempty_nothing = 0;
