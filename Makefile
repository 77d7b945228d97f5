# giveback: see README.md. `make` builds build/libgiveback.so and build/giveback.
VERSION := 0.1.0
BUILD ?= build
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
CLI_LIBS := -lelf -ljson-c
TRIPLE := $(shell $(CC) -dumpmachine)
MACHINE := $(firstword $(subst -, ,$(TRIPLE)))

WARN := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
CFLAGS ?= -O2 -g
BASE := -std=gnu11 $(WARN) -D_GNU_SOURCE -DGIVEBACK_VERSION='"$(VERSION)"'
ifdef SANITIZE
comma := ,
override BUILD := $(BUILD)/sanitize-$(subst $(comma),-,$(SANITIZE))
INSTRUMENT := -fsanitize=$(SANITIZE) -fno-sanitize-recover=undefined -fno-omit-frame-pointer
endif
DEPEND = -MMD -MP -MF $@.d
# -iquote, not -I: shim/signal.h must not stand in for <signal.h>.
# What goes into a host: no fortify (__*_chk symbols are missing on musl), no stack protector, own functions hidden.
# A section for each function and datum: scripts/check-objects reads the call graph from the relocations between them.
SHIM := -fPIC -fvisibility=hidden -U_FORTIFY_SOURCE -fno-stack-protector -ffunction-sections -fdata-sections \
  -iquote lib -iquote shim

# Of the tool alone: the library in a host links libc and nothing else.
CLI_LIBS := -ldw -lelf -ljson-c -liberty

objects = $(patsubst %,$(BUILD)/obj/%.o,$(basename $(1)))
LIB_OBJ := $(call objects,$(wildcard lib/*.c))
SHIM_OBJ := $(call objects,$(wildcard shim/*.c shim/arch/$(MACHINE)*.c shim/arch/$(MACHINE)*.S))
CLI_OBJ := $(call objects,$(wildcard cli/*.c))
UNIT_OBJ := $(call objects,$(wildcard test/unit/*.c))
PRELOAD_OBJ := $(call objects,$(wildcard test/preload/*.c))
FUZZ_OBJ := $(call objects,$(wildcard test/fuzz/*.c))
VICTIMS := $(patsubst test/%.c,$(BUILD)/%,$(filter-out test/victim/lib%,$(wildcard test/victim/*.c))) \
  $(patsubst test/%.cc,$(BUILD)/%,$(wildcard test/victim/*.cc)) \
  $(patsubst test/%.c,$(BUILD)/%.so,$(wildcard test/victim/lib*.c)) $(patsubst test/%,$(BUILD)/%,$(wildcard test/victim/*.py))
AARCH64_VICTIMS := idle hold compute churn restart join errnos die ignore printer
AARCH64_HOOKED := errnos hookabi hookflow hookplugin hookrefused hookrepack hookthreads hooktop libhookplug.so far/libhookplug.so
BENCHES := $(patsubst test/%.c,$(BUILD)/%,$(filter-out test/bench/lib%,$(wildcard test/bench/*.c))) $(BUILD)/bench/libempty.so
INSNS := $(BUILD)/insn/zydis $(BUILD)/insn/unicorn
TSAN_OBJ := $(call objects,$(wildcard test/tsan/*.c))
WORKLOAD_OBJ := $(call objects,$(wildcard test/workload/*.c))
WORKLOAD_NAMES := mkcheckpoint modelserver modelclient
WORKLOADS := $(WORKLOAD_NAMES:%=$(BUILD)/workload/%)
WORKLOAD_SHARED := $(filter-out $(WORKLOAD_NAMES:%=$(BUILD)/obj/test/workload/%.o),$(WORKLOAD_OBJ))

PRESETS := $(patsubst cli/%,$(BUILD)/%,$(wildcard cli/presets/*))

all: $(BUILD)/libgiveback.so $(BUILD)/giveback $(PRESETS)

# Code and headers in one segment: one mapping less at every start of a program, 5 to 15 us (make bench).
$(BUILD)/libgiveback.so: $(SHIM_OBJ) $(LIB_OBJ) shim/giveback.map
	$(CC) -shared $(INSTRUMENT) $(LDFLAGS) -Wl,--version-script=shim/giveback.map -Wl,-soname,libgiveback.so \
	  -Wl,-z,now,-z,relro,-z,noexecstack,-z,nodelete,-z,defs,--as-needed,-z,noseparate-code,--hash-style=gnu,-O1 \
	  -o $@ $(SHIM_OBJ) $(LIB_OBJ)
$(BUILD)/giveback: $(CLI_OBJ) $(LIB_OBJ)
	$(CC) $(INSTRUMENT) $(LDFLAGS) -o $@ $^ $(CLI_LIBS)

$(BUILD)/presets/%: cli/presets/%
	@mkdir -p $(@D)
	cp $< $@

# Objects: each kind has its flags, one recipe compiles them all.
$(LIB_OBJ) $(SHIM_OBJ): KIND := $(SHIM)
$(CLI_OBJ): KIND := -iquote lib -DGIVEBACK_TRIPLE='"$(TRIPLE)"'
$(TSAN_OBJ): KIND := -idirafter lib
$(UNIT_OBJ) $(PRELOAD_OBJ) $(FUZZ_OBJ): KIND = -iquote lib -iquote shim $(CHECK_CFLAGS)
# -ffp-contract=off: server and reference must round alike. -O3: the matrix products are to be vectorized.
$(WORKLOAD_OBJ): KIND := -O3 -ffp-contract=off
$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(INSTRUMENT) $(CFLAGS) $(KIND) $(DEPEND) -c -o $@ $<
$(BUILD)/obj/%.o: %.S
	@mkdir -p $(@D)
	$(CC) $(BASE) $(INSTRUMENT) $(CFLAGS) $(KIND) $(DEPEND) -c -o $@ $<

$(BUILD)/obj/shim/hook_python.o: shim/hook_python.py
$(BUILD)/obj/cli/symbols_python.o: cli/symbols_python.py

# Tests: sources are found by name, one program a folder; every victim and every bench is a program of its own.
CHECK_CFLAGS = $(shell pkg-config --cflags check)
CHECK_LIBS = $(shell pkg-config --libs check)
$(BUILD)/unit/unit: $(UNIT_OBJ) $(LIB_OBJ)
$(BUILD)/preload/preload: $(PRELOAD_OBJ) $(LIB_OBJ)
$(BUILD)/unit/unit $(BUILD)/preload/preload:
	@mkdir -p $(@D)
	$(CC) $(INSTRUMENT) $(LDFLAGS) -o $@ $^ $(CHECK_LIBS) -ldl
$(BUILD)/fuzz/parsers: $(FUZZ_OBJ) $(LIB_OBJ)
	@mkdir -p $(@D)
	$(CC) $(INSTRUMENT) $(LDFLAGS) -o $@ $^
$(filter %.so,$(VICTIMS) $(BENCHES)): $(BUILD)/%.so: test/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(CFLAGS) -iquote lib -fPIC -shared $(SHARED) $(DEPEND) -o $@ $< -pthread -ldl
# A plugin in which there is no room within 128 MiB of a function. (-fno-plt: the ways of ld 2.40 to a far table have no landing pads.)
$(BUILD)/victim/far/libhookplug.so: test/victim/libhookplug.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(CFLAGS) -fPIC -fno-plt -shared $(SHARED) -Wl,-Ttext=0x10000000,-Tbss=0x20000000 -o $@ $< -ldl
$(BUILD)/victim/%.py: test/victim/%.py
	@mkdir -p $(@D)
	cp $< $@
$(BUILD)/victim/%: test/victim/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(CFLAGS) -iquote lib -idirafter lib $(DEPEND) -o $@ $< -pthread -ldl
$(BUILD)/victim/%: test/victim/%.cc
	@mkdir -p $(@D)
	$(CXX) -Wall -Wextra -Wshadow -D_GNU_SOURCE $(CFLAGS) -idirafter lib $(DEPEND) -o $@ $< -pthread -ldl
# -rdynamic: GIVEBACK_CALL must find a function of the latency bench's host.
$(BUILD)/bench/%: test/bench/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(CFLAGS) -iquote lib -rdynamic $(DEPEND) -o $@ $< -pthread -ldl
$(BUILD)/tsan/linked: $(TSAN_OBJ) $(SHIM_OBJ) $(LIB_OBJ)
	@mkdir -p $(@D)
	$(CC) $(INSTRUMENT) $(LDFLAGS) -o $@ $^ -pthread
# -rdynamic: a tool can name repack_weights, in the symbol table of an ordinary executable.
$(WORKLOADS): $(BUILD)/workload/%: $(BUILD)/obj/test/workload/%.o $(WORKLOAD_SHARED)
	@mkdir -p $(@D)
	$(CC) $(INSTRUMENT) $(LDFLAGS) -rdynamic -o $@ $^ -pthread -lm

$(BUILD)/insn/zydis: test/insn/walk.c $(BUILD)/obj/lib/insn_x86_64.o
$(BUILD)/insn/zydis: INSN_LIBS := -lZydis
$(BUILD)/insn/unicorn: test/insn/walk.c $(BUILD)/obj/lib/insn_aarch64.o
$(BUILD)/insn/unicorn: INSN_LIBS := -lcapstone -lunicorn
$(INSNS): $(BUILD)/insn/%: test/insn/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(CFLAGS) -iquote lib $(DEPEND) -o $@ $^ $(INSN_LIBS)

$(BUILD)/insn/begins.so: test/insn/begins.S
	@mkdir -p $(@D)
	aarch64-linux-gnu-gcc -shared -nostdlib -o $@ $<

$(BUILD)/json/read: test/json/read.c $(BUILD)/obj/lib/json.o $(BUILD)/obj/lib/text.o
	@mkdir -p $(@D)
	$(CC) $(BASE) $(INSTRUMENT) $(CFLAGS) -iquote lib $(DEPEND) -o $@ $(filter %.c %.o,$^)

# Hosts with an allocator linked into them.
COPIES := $(BUILD)/copies/hoard_tcmalloc
$(COPIES): test/copies/build test/copies/plugin.c test/victim/hoard.c
	CC='$(CC)' $< $(@D)

# Checks: `make check` runs CHECKS one after the other and adds up; each can be run by itself.
CHECKS := unit json insn objects tool symbols beside docs preload watched metrics workload sanitize fuzz tsan aarch64 wheels
workload: $(WORKLOADS)
victims: $(VICTIMS)
tests: all workload victims $(COPIES) $(BUILD)/unit/unit $(BUILD)/preload/preload $(BUILD)/fuzz/parsers
check: export BUILD := $(BUILD)
check:
	scripts/install-deps build check demo
	scripts/check-all $(CHECKS)
check-unit: $(BUILD)/unit/unit
	$<
check-json: $(BUILD)/json/read
	scripts/check-json $<
# The long form reads some hundred million instructions.
check-insn: $(INSNS) $(BUILD)/insn/begins.so aarch64-guarded
	scripts/check-insn $(BUILD)
check-insn-all: $(INSNS) $(BUILD)/insn/begins.so aarch64-guarded
	scripts/check-insn $(BUILD) all
check-preload: all $(BUILD)/preload/preload $(VICTIMS) $(COPIES)
	scripts/fetch-glibcs $(BUILD)
	$(BUILD)/preload/preload
# The suites that count neither threads nor records, once more with a worker that is there from the start and libc's functions
# of writing and mapping replaced.
check-watched: all $(BUILD)/preload/preload $(VICTIMS) $(COPIES)
	for suite in promise_off promise_wake promise_fork allocators programs; do \
	  TEST_ON='settle:1h;idle:1h;rss:100T;socket:s.%p;fifo:f.%p;log:never said;mmap:100T;munmap:100T' CK_RUN_SUITE=$$suite $(BUILD)/preload/preload || exit 1; done
check-objects: all
	scripts/check-objects $(BUILD)
	CC='$(CC)' scripts/check-objects --self-test $(BUILD)
check-tool: all
	scripts/check-tool $(BUILD)
check-symbols: all $(VICTIMS)
	scripts/check-symbols $(BUILD)
# The long form wants compilers and profilers that nothing else needs.
check-beside: all
	scripts/check-beside $(BUILD)
check-beside-all: all
	scripts/install-deps beside
	scripts/check-beside $(BUILD) all
check-docs: all
	scripts/check-docs $(BUILD)
check-fuzz: $(BUILD)/fuzz/parsers
	$<
check-sanitize:
	$(MAKE) SANITIZE=address,undefined check-unit check-fuzz
check-tsan:
	$(MAKE) SANITIZE=thread tsan
	scripts/check-tsan $(BUILD)/sanitize-thread
tsan: $(BUILD)/tsan/linked
# The library without the tool, whose libraries are there for this machine only; and only the victims that it runs: others use
# system calls that x86-64 alone has.
AARCH64 := CC=aarch64-linux-gnu-gcc CXX=aarch64-linux-gnu-g++
aarch64:
	$(MAKE) $(AARCH64) BUILD=$(BUILD)/aarch64 $(BUILD)/aarch64/libgiveback.so \
	  $(sort $(AARCH64_VICTIMS:%=$(BUILD)/aarch64/victim/%) $(AARCH64_HOOKED:%=$(BUILD)/aarch64/victim/%))
# The cross compiler's start files have no landing pads: without them a library can be one whose pages are guarded.
aarch64-guarded:
	$(MAKE) $(AARCH64) BUILD=$(BUILD)/aarch64-guarded CFLAGS='$(CFLAGS) -mbranch-protection=standard' SHARED='-nostartfiles -Wl,-z,force-bti' \
	  $(BUILD)/aarch64-guarded/libgiveback.so $(AARCH64_HOOKED:%=$(BUILD)/aarch64-guarded/victim/%)
check-aarch64: aarch64 aarch64-guarded
	$(AARCH64) scripts/check-aarch64 $(BUILD)/aarch64 $(BUILD)/aarch64-guarded
check-workload check-torch check-vllm: all workload
	scripts/$@ $(BUILD)
check-metrics: all $(BUILD)/victim/hold $(BUILD)/victim/calls
	scripts/$@ $(BUILD)
check-wheels: all $(BUILD)/victim/plugged
	scripts/$@ $(BUILD)
# Real servers; takes two minutes and a JVM, so it is no part of `make check`.
check-servers: all
	scripts/install-deps servers
	scripts/$@ $(BUILD)

benches: $(BENCHES)
bench: all workload benches
	scripts/install-deps bench
	scripts/bench $(BUILD)
demo:
	scripts/install-deps demo
	$(MAKE) all workload
	scripts/demo $(BUILD)
docs: $(BUILD)/giveback
	scripts/write-docs $<
install: all
	install -D -m 755 $(BUILD)/giveback $(DESTDIR)$(PREFIX)/bin/giveback
	install -D -m 644 $(BUILD)/libgiveback.so $(DESTDIR)$(LIBDIR)/libgiveback.so
	install -D -m 644 lib/giveback.h $(DESTDIR)$(PREFIX)/include/giveback.h
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' lib/giveback.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/giveback.pc
	install -d $(DESTDIR)$(PREFIX)/share/giveback/presets
	install -m 644 cli/presets/* $(DESTDIR)$(PREFIX)/share/giveback/presets
	install -D -m 644 docs/giveback.1 $(DESTDIR)$(PREFIX)/share/man/man1/giveback.1
	install -D -m 644 docs/libgiveback.3 $(DESTDIR)$(PREFIX)/share/man/man3/libgiveback.3
	install -D -m 644 LICENSE $(DESTDIR)$(PREFIX)/share/doc/giveback/LICENSE
install-deps:
	scripts/install-deps build check demo
clean:
	rm -rf $(BUILD)

-include $(patsubst %,%.d,$(LIB_OBJ) $(SHIM_OBJ) $(CLI_OBJ) $(UNIT_OBJ) $(PRELOAD_OBJ) $(FUZZ_OBJ) $(INSNS) $(BUILD)/json/read $(VICTIMS) $(BENCHES) $(TSAN_OBJ) $(WORKLOAD_OBJ))
.PHONY: all aarch64 aarch64-guarded tsan workload victims tests check $(CHECKS:%=check-%) check-insn-all check-beside-all check-torch check-vllm check-servers benches bench demo docs install install-deps clean
