import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;

/** Answers "ok"; its heap and its JIT take what they like. One argument: the port. */
class Holder {
    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 64);
        server.createContext("/", exchange -> {
            byte[] scratch = new byte[1 << 20];
            scratch[scratch.length / 2] = 1;
            exchange.sendResponseHeaders(200, 2);
            try (var body = exchange.getResponseBody()) {
                body.write("ok".getBytes());
            }
        });
        server.setExecutor(java.util.concurrent.Executors.newFixedThreadPool(4));
        server.start();
        System.out.println("ready");
    }
}
