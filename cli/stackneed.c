/* stackneed: see stackneed.h. */
#include "stackneed.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>

enum { WORD = 8, DEEPEST = 1 << 20 /* an offset beyond this is no argument's */ };

struct reading {
    uint64_t least;
    stackneed_visit visit;
    void *context;
};

/* What offsets count from, when a parameter stands at "frame base + offset": the stack as it is at the call (which is where the
 * first of them stands), or a frame pointer behind return address and saved register. */
static bool frame_base(Dwarf_Die *function, int64_t *first)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *ops;
    size_t n;

    if (!dwarf_attr_integrate(function, DW_AT_frame_base, &attribute) || dwarf_getlocation(&attribute, &ops, &n) != 0 || n != 1)
        return false;
#if defined __x86_64__
    *first = 2 * WORD;
    return (ops[0].atom == DW_OP_call_frame_cfa && !(*first = 0)) || ops[0].atom == DW_OP_reg6 /* rbp */;
#else
    *first = 0;
    return ops[0].atom == DW_OP_call_frame_cfa;
#endif
}

/* How large the value of a parameter is; 0: unknown. */
static uint64_t size_of(Dwarf_Die *parameter)
{
    Dwarf_Attribute attribute;
    Dwarf_Die type;
    Dwarf_Word size;

    return dwarf_attr_integrate(parameter, DW_AT_type, &attribute) && dwarf_formref_die(&attribute, &type) &&
           dwarf_aggregate_size(&type, &size) == 0 ? size : 0;
}

/* Where the last byte ends that this parameter has among the arguments on the stack, when the function begins; 0: it has none
 * there, or the function never looks at it. */
static uint64_t end_of(Dwarf_Die *parameter, uint64_t entry, int64_t first)
{
    Dwarf_Attribute attribute;
    uint64_t end = 0;
    Dwarf_Op *ops;
    size_t n;

    if (!dwarf_attr_integrate(parameter, DW_AT_location, &attribute) || dwarf_getlocation_addr(&attribute, entry, &ops, &n, 1) != 1)
        return 0;
    for (size_t i = 0; i < n; i++) {
        int64_t offset = (int64_t)ops[i].number - first;
        uint64_t size = size_of(parameter);
        if (ops[i].atom != DW_OP_fbreg || offset < 0 || offset > DEEPEST)
            continue;
        if (i + 1 < n && ops[i + 1].atom == DW_OP_piece)
            size = ops[i + 1].number; /* the others are elsewhere */
        else if (i + 1 < n)
            size = WORD; /* only the address of the value is there */
        if ((uint64_t)offset + size > end)
            end = (uint64_t)offset + size;
    }
    return end;
}

static int read_function(Dwarf_Die *function, void *context)
{
    const struct reading *r = context;
    uint64_t need = 0;
    Dwarf_Addr entry;
    Dwarf_Die part;
    int64_t first;

    if (dwarf_entrypc(function, &entry) != 0 || !frame_base(function, &first))
        return DWARF_CB_OK;
    for (int more = dwarf_child(function, &part); more == 0; more = dwarf_siblingof(&part, &part)) {
        uint64_t end = dwarf_tag(&part) == DW_TAG_formal_parameter ? end_of(&part, entry, first) : 0;
        if (end > need)
            need = end;
    }
    if (need > r->least)
        r->visit(r->context, entry, need);
    return DWARF_CB_OK;
}

void stackneed_read(Elf *elf, uint64_t least, stackneed_visit visit, void *context)
{
    struct reading r = {.least = least, .visit = visit, .context = context};
    Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit;
    uint8_t type;

    while (dwarf && dwarf_get_units(dwarf, cu, &cu, NULL, &type, &unit, NULL) == 0)
        if (type == DW_UT_compile)
            (void)dwarf_getfuncs(&unit, read_function, &r, 0);
    if (dwarf)
        dwarf_end(dwarf);
}
