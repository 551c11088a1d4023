import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import de.bwaldvogel.mongo.bson.Document;
import io.netty.channel.Channel;
import java.util.List;

/** Answers MongoDB's protocol from memory on one port until it is told to end. */
public class Second {
    /** What it can do is told as the oldest version to which the driver talks at all. */
    private static final class Told implements MongoVersion {
        @Override
        public List<Integer> getVersionArray() {
            return List.of(4, 4, 0);
        }

        @Override
        public int getWireVersion() {
            return 9;
        }
    }

    /** The greeting of today is answered as the one that it replaced, which says the same. */
    private static final class Greeting extends MemoryBackend {
        @Override
        public Document handleCommand(Channel to, String database, String name, Document asked) {
            String known = name.equals("hello") ? "isMaster" : name;
            return super.handleCommand(to, database, known, asked);
        }
    }

    public static void main(String[] told) throws Exception {
        MemoryBackend backend = new Greeting();
        backend.version(new Told());
        MongoServer server = new MongoServer(backend);
        server.bind("127.0.0.1", Integer.parseInt(told[0]));
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdownNow));
        Thread.currentThread().join();
    }
}
