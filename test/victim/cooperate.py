"""The example of cooperate.c in Python: ctypes lets go of the GIL during a call, so other threads run on."""
import ctypes


class Giveback:
    """The library where it is loaded; where it is not, the same methods do nothing."""

    def __init__(self):
        program = ctypes.CDLL(None)
        self.library = program if hasattr(program, "giveback_release") else None
        if self.library:
            program.giveback_anon.restype = ctypes.c_int64
            program.giveback_last.argtypes = ctypes.c_char_p, ctypes.c_size_t

    def release(self, label=""):
        return self.library.giveback_release(label.encode()) if self.library else 0

    def mark(self, label=""):
        return self.library.giveback_mark(label.encode()) if self.library else 0

    def anon(self):
        return self.library.giveback_anon() if self.library else -1

    def last(self):
        buffer = ctypes.create_string_buffer(4096)
        if self.library:
            self.library.giveback_last(buffer, len(buffer))
        return buffer.value.decode()


if __name__ == "__main__":
    giveback = Giveback()
    rows = [bytes(40000) for _ in range(1000)]
    del rows
    print(giveback.release("load"), giveback.anon() > 0)
    print(giveback.mark("serving"), giveback.last())
