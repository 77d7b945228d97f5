// Answers "ok" with a megabyte of scratch for each request. One argument: the port.
require("http").createServer((request, answer) => {
    const scratch = Buffer.alloc(1 << 20, 1);
    answer.end(scratch[5] ? "ok" : "no");
}).listen(Number(process.argv[2]), "127.0.0.1", () => console.log("ready"));
