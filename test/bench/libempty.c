/* libempty: what a preloaded library costs that does nothing. */
static const char empty __attribute__((used)) = 0;
