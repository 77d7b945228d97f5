#include "seeds.h"

#include <elf.h>
#include <string.h>

#include "fuzz.h"

const char *const seeds_words[] = {
    " kB\n",
    "RssAnon:\t",
    "VmLck:",
    "Threads:\t",
    "Name:\t",
    "[rollup]\n",
    "LazyFree:",
    "Pss_Anon:",
    ") S ",
    "(",
    "0",
    "-1",
    "9223372036854775807",
    "18446744073709551616",
    "GIVEBACK",
    "GIVEBACK_",
    "exit:",
    "enter:",
    "py:m:f",
    "__main__",
    "->mark",
    "=",
    "SIGNAL=",
    "LOG=",
    "CALL=",
    "ONLY=",
    "RTMIN+",
    "RTMAX-",
    "SIG",
    "none",
    "%p",
    "%n",
    "%%",
    "$LIB",
    "${ORIGIN}",
    "libgiveback.so",
    "./",
    "../",
    "/",
    "*",
    "[!a-z]",
    "\\",
    ",",
    "; ",
    "6.12",
    "mallctl",
    "je_",
    "\xc3\xa4",
    "\xf0\x9f\x98\x80",
    "\xed\xa0\x80",
    "\x1b[31m",
    "\"",
};
const size_t seeds_n_words = sizeof seeds_words / sizeof *seeds_words;

/* A string with the NULs that are written into it. */
#define SEED(target, s)                                                                                                \
    {                                                                                                                  \
        target, s, sizeof s - 1                                                                                        \
    }
static const struct {
    const char *target, *data;
    size_t n;
} seeds[] = {
    SEED("procfs", "Name:\tx\nVmLck:\t       4 kB\nRssAnon:\t  880000 kB\nRssFile:\t   1 kB\nRssShmem:\t 0 kB\n"
                   "VmSwap:\t   20 kB\nThreads:\t12\n"),
    SEED("procfs", "471029 226103 6103 306 0 455535 0\n"),
    SEED("procfs",
         "1-2 ---p 00000000 00:00 0     [rollup]\nRss: 1 kB\nPss_Anon: 2 kB\nLazyFree: 8192 kB\nAnonHugePages: "
         "16384 kB\n"),
    SEED("procfs", "18119 (vic) R 1 (x) S 18110 18110 3672 0 -1 4194304 16522 0 0 0 0 8 0 0 20 0 4 0\n"),
    SEED("uncertain", "6.12.38+deb13-amd64"),
    SEED("uncertain", "3.10.0-1160.el7.x86_64"),
    SEED("options", "PATH=/bin\0GIVEBACK=on\0GIVEBACK_SIGNAL=RTMIN+3\0GIVEBACK_LOG=/tmp/%n.%p\0GIVEBACK_FORMAT=json\0"
                    "GIVEBACK_CALL=mkl_free_buffers,libfoo.so*:foo_trim\0GIVEBACK_ONLY=redis-* nginx"),
    SEED("options", "GIVEBACK_SKIP=[a-c]*;x?\\*\0GIVEBACK_CHILDREN=drop\0GIVEBACK_DETAIL=full\0GIVEBACK_SIGNL=1"),
    SEED("options", "GIVEBACK=off"),
    SEED("event", "weight load=exit:py:a.b:C.load->mark; enter:py:x:f;\"a;b\"=exit:py:\"m\":f->release"),
    SEED("event", "exit:py:__main__:f;exot:py:m:f;exit:py:m:f->"),
    SEED("event", "fd:9;fifo:/run/%n.%p%%->mark;socket;socket:/x;fd:2"),
    SEED("json", "{\"do\":\"release\",\"label\":\"\\u00e4\\ud83d\\ude00\"}\n"),
    SEED("json", " {\"x\":[1,-2.5e3,{\"do\":null}], \"do\":\"status\"}\r"),
    SEED("line", "one\ntwo \xc3\xa4\n\0three\nfour"),
    SEED("pieces", "a label=exit:lib.so:ns::f(int, char const*)->mark;enter:\"C::operator->\\\"\" -> mark ;; exit:f"),
    SEED("code", "\0\0\0\x20\x31\xc0\xff\xc0\x74\x10\xe9\x01\0\0\0\xeb\xf4\xc3\x90\x90\x90\x90\x90\x90\xe8\xee\xff\xff\xff"),
    SEED("code", "\0\1\0\0\1\x1b\3\x3b\x14\0\0\0\1\0\0\0\0\1\0\0\x30\0\0\0\0\0\0\0\x14\0\0\0\0\0\0\0\1zR\0\1x\x10\1\x1b"
                 "\0\0\0\0\0\0\0\x10\0\0\0\x1c\0\0\0\xc8\0\0\0M\0\0\0\0\0\0\0"),
    SEED("event", "rss:2G;x=settle:500ms;every:1m->mark;pressure"),
    SEED("pressure", "c29tZSAyMDAwMDAgMjAwMDAwMAA="),
    SEED("pressure", "9:name=systemd:/\n4:memory:/job\n0::/user.slice/a.service\n"),
    SEED("pressure", "41 31 0:38 / /cg\\040 rw shared:1 master:2 - cgroup2 none rw"),
    SEED("event", "ready=log:\"loaded; x->y\"->mark;mmap:4G;munmap:512MiB->mark;log:a b;mmap:0;log:"),
    SEED("match", "load finished|ready|aab|a\0the load finished\nxload fin\xe8ished aaaaab\n ready"),
    SEED("match", "abcab|bc|cabc|x\0abcabcabcabcxabcab\nabc"),
    SEED("glob", "lib*.so.[0-9]\0libfoo.so.6"),
    SEED("glob", "*a*b*[!c]?\0xxaxxbxxdd"),
    SEED("preload", "/a.so:/opt/x/libgiveback.so /b.so:libgiveback.so\0/opt/x/libgiveback.so"),
    SEED("preload", "${ORIGIN}/libgiveback.so:/opt/$LIB/libgiveback.so:./x/libgiveback.so\0/opt/x/libgiveback.so"),
    SEED("expand", "/var/log/%n.%p%%\0my/program"),
    SEED("record", "weight load\0signal:USR1"),
    SEED("record", "\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\x10"),
    SEED("signal", "SIGRTMIN+12"),
    SEED("signal", "USR1"),
    SEED("text", "\x20plain \xc3\xa4 \xf0\x9f\x98\x80 \x01\"\\\xff"),
};

struct seeds_object {
    Elf64_Ehdr header;
    Elf64_Phdr segments[2];
    Elf64_Shdr sections[3];
    struct {
        Elf64_Nhdr header;
        char name[4], id[20];
    } note;
    Elf64_Sym symbols[3];
    char strings[64];
};

/* A shared object with a build-id and a symbol table of two functions. */
static size_t seeds_elf(char *buffer, size_t size)
{
#if defined __x86_64__
    const Elf64_Half machine = EM_X86_64;
#else
    const Elf64_Half machine = EM_AARCH64;
#endif
    const struct seeds_object o = {
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                   .e_type = ET_DYN,
                   .e_machine = machine,
                   .e_version = EV_CURRENT,
                   .e_entry = 0x1010,
                   .e_phoff = offsetof(struct seeds_object, segments),
                   .e_shoff = offsetof(struct seeds_object, sections),
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = 2,
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shnum = 3},
        .segments =
            {{.p_type = PT_LOAD, .p_vaddr = 0x1000, .p_filesz = 256, .p_memsz = 256},
             {.p_type = PT_NOTE, .p_offset = offsetof(struct seeds_object, note), .p_filesz = 36, .p_align = 4}},
        .sections = {{.sh_type = SHT_NULL},
                     {.sh_type = SHT_SYMTAB,
                      .sh_offset = offsetof(struct seeds_object, symbols),
                      .sh_size = sizeof o.symbols,
                      .sh_link = 2,
                      .sh_entsize = sizeof(Elf64_Sym)},
                     {.sh_type = SHT_STRTAB, .sh_offset = offsetof(struct seeds_object, strings), .sh_size = 64}},
        .note = {{4, 20, NT_GNU_BUILD_ID}, "GNU", "0123456789abcdefghi"},
        .symbols = {{0},
                    {.st_name = 1, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC), .st_shndx = 1, .st_value = 0x1020},
                    {.st_name = 18, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC), .st_shndx = 1, .st_value = 0x1040}},
        .strings = "\0je_arrow_mallctl\0arrow_mi_collect\0other",
    };

    FUZZ_HOLDS(size >= sizeof o);
    memcpy(buffer, &o, sizeof o);
    return sizeof o;
}

size_t seeds_one(size_t target, size_t which, char *buffer, size_t size)
{
    const char *name = fuzz_targets[target].name;
    size_t n = 0;

    if (strcmp(name, "elffile") == 0)
        return seeds_elf(buffer, size);
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        n += strcmp(seeds[i].target, name) == 0;
    FUZZ_HOLDS(n > 0);
    which %= n;
    for (size_t i = 0;; i++)
        if (strcmp(seeds[i].target, name) == 0 && which-- == 0) {
            memcpy(buffer, seeds[i].data, seeds[i].n);
            return seeds[i].n;
        }
}
