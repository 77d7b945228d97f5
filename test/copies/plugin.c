/* An object with an allocator of its own inside, of which it exports nothing: only plugin_alloc and plugin_free. */
#include <stddef.h>

void *ALLOC(size_t n);
void FREE(void *p);
void *plugin_alloc(size_t n);
void plugin_free(void *p);

#ifdef PADDING /* another build: everything behind this lies elsewhere */
const char plugin_padding[PADDING] = "other";
#endif

void *plugin_alloc(size_t n)
{
    return ALLOC(n);
}

void plugin_free(void *p)
{
    FREE(p);
}
