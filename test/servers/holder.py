"""A WSGI application that has loaded something and let go of it, and takes a megabyte of scratch for each request."""
LOADED = [bytes(60000) for _ in range(3000)]  # 180 MB, in the heap of malloc
KEPT = LOADED[::600]  # what lies between keeps the rest from going back by itself
del LOADED


def app(environ, start_response):
    scratch = bytearray(1 << 20)
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok" if len(scratch) else b"no"]
