"""elf: sections, symbols, relocations and dynamic entries of a 64-bit little-endian ELF file. Enough for check-objects."""
import struct
from collections import namedtuple

Section = namedtuple("Section", "index name type flags offset size link info entry")
Symbol = namedtuple("Symbol", "name kind binding section value")  # section 0: undefined
Relocation = namedtuple("Relocation", "offset kind symbol addend")

X86_64, AARCH64 = 62, 183
SHT_RELA, SHT_NOBITS = 4, 8
SHF_EXECINSTR, SHF_ALLOC, SHF_WRITE = 4, 2, 1
SHN_LORESERVE = 0xFF00
STT_SECTION, STT_FILE = 3, 4
STB_LOCAL, STB_GLOBAL, STB_WEAK = 0, 1, 2


class Elf:
    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path}: no 64-bit little-endian ELF file")
        self.machine, = struct.unpack_from("<H", self.data, 18)
        phoff, shoff = struct.unpack_from("<QQ", self.data, 32)
        phentsize, phnum, shentsize, shnum, shstrndx = struct.unpack_from("<HHHHH", self.data, 54)
        rows = [struct.unpack_from("<IIQQQQIIQQ", self.data, shoff + i * shentsize) for i in range(shnum)]
        names = rows[shstrndx][4] if rows else 0
        self.sections = [Section(i, self.text(names + r[0]), r[1], r[2], r[4], r[5], r[6], r[7], r[9])
                         for i, r in enumerate(rows)]
        # (type, flags, memory size)
        self.segments = [(t, f, m) for t, f, _, _, _, _, m, _ in
                         (struct.unpack_from("<IIQQQQQQ", self.data, phoff + i * phentsize) for i in range(phnum))]

    def text(self, offset):
        return self.data[offset:self.data.index(b"\0", offset)].decode()

    def section(self, name):
        return next((s for s in self.sections if s.name == name), None)

    def symbols(self, table):
        strings = self.sections[table.link].offset
        for at in range(table.offset, table.offset + table.size, 24):
            name, info, _, section, value, _ = struct.unpack_from("<IBBHQQ", self.data, at)
            yield Symbol(self.text(strings + name), info & 15, info >> 4, section, value)

    def relocations(self, section):
        for at in range(section.offset, section.offset + section.size, 24):
            offset, info, addend = struct.unpack_from("<QQq", self.data, at)
            yield Relocation(offset, info & 0xFFFFFFFF, info >> 32, addend)

    def dynamic(self):
        section = self.section(".dynamic")
        for at in range(section.offset, section.offset + section.size, 16):
            tag, value = struct.unpack_from("<qQ", self.data, at)
            if tag == 0:
                return
            yield tag, value

    def dynamic_text(self, offset):
        return self.text(self.section(".dynstr").offset + offset)

    def versions(self):
        """Version index of each symbol of .dynsym -> (library or None, version): needed and defined ones."""
        names = {}
        for section, at_name, at_next, at_rows, row_size in ((".gnu.version_r", 4, 12, 8, 16), (".gnu.version_d", None, 16, 12, 8)):
            table = self.section(section)
            at = table.offset if table else 0
            for _ in range(table.info if table else 0):
                row = at + struct.unpack_from("<I", self.data, at + at_rows)[0]
                following, = struct.unpack_from("<I", self.data, at + at_next)
                if at_name is None:  # Verdef: its first auxiliary row is the name
                    index, = struct.unpack_from("<H", self.data, at + 4)
                    names[index] = (None, self.dynamic_text(struct.unpack_from("<I", self.data, row)[0]))
                else:
                    library = self.dynamic_text(struct.unpack_from("<I", self.data, at + at_name)[0])
                    for _ in range(struct.unpack_from("<H", self.data, at + 2)[0]):
                        index, name, step = struct.unpack_from("<HII", self.data, row + 6)
                        names[index] = (library, self.dynamic_text(name))
                        row += step
                at += following
        return names

    def dynamic_symbols(self):
        """Each named one of .dynsym with its version ("" when it has none)."""
        names = self.versions()
        table = self.section(".gnu.version")
        for i, symbol in enumerate(self.symbols(self.section(".dynsym"))):
            index = struct.unpack_from("<H", self.data, table.offset + 2 * i)[0] & 0x7FFF if table else 0
            if symbol.name:
                yield symbol, names.get(index, (None, ""))[1] if index > 1 else ""
