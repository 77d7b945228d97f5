# giveback: see README.md. `make` builds build/libgiveback.so and build/giveback.
VERSION := 0.1.0
CC ?= gcc
BUILD ?= build
PREFIX ?= /usr/local
MACHINE := $(shell $(CC) -dumpmachine | cut -d- -f1)

WARN := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
CFLAGS ?= -O2 -g
BASE := -std=gnu11 $(WARN) -MMD -MP -D_GNU_SOURCE -DGIVEBACK_VERSION='"$(VERSION)"'
ifdef SANITIZE
BASE += -fsanitize=$(SANITIZE) -fno-omit-frame-pointer
LDFLAGS += -fsanitize=$(SANITIZE)
BUILD := $(BUILD)/sanitize
endif
# What goes into a host: no fortify (__*_chk symbols are missing on musl), no stack protector, own functions hidden.
SHIM := -fPIC -fvisibility=hidden -U_FORTIFY_SOURCE -fno-stack-protector -fno-plt -Ilib -Ishim
LIB_SRC := $(wildcard lib/*.c)
SHIM_SRC := $(wildcard shim/*.c) $(wildcard shim/arch/$(MACHINE)*.c) $(wildcard shim/arch/$(MACHINE)*.S)
CLI_SRC := $(wildcard cli/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/obj/%.o)
SHIM_OBJ := $(patsubst %,$(BUILD)/obj/%.o,$(basename $(SHIM_SRC)))
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/obj/%.o)

all: $(BUILD)/libgiveback.so $(BUILD)/giveback

$(BUILD)/obj/lib/%.o: lib/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(CFLAGS) $(SHIM) -c -o $@ $<
$(BUILD)/obj/shim/%.o: shim/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(CFLAGS) $(SHIM) -c -o $@ $<
$(BUILD)/obj/shim/%.o: shim/%.S
	@mkdir -p $(@D)
	$(CC) $(BASE) $(CFLAGS) $(SHIM) -c -o $@ $<
$(BUILD)/obj/cli/%.o: cli/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(CFLAGS) -Ilib -c -o $@ $<

$(BUILD)/libgiveback.so: $(SHIM_OBJ) $(LIB_OBJ) shim/giveback.map
	$(CC) -shared $(LDFLAGS) -Wl,--version-script=shim/giveback.map -Wl,-soname,libgiveback.so \
	  -Wl,-z,now,-z,relro,-z,noexecstack,-z,nodelete,-z,defs,--as-needed -o $@ $(SHIM_OBJ) $(LIB_OBJ)
$(BUILD)/giveback: $(CLI_OBJ) $(LIB_OBJ)
	$(CC) $(LDFLAGS) -o $@ $^

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
.PHONY: all clean
