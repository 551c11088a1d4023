import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
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

    public static void main(String[] told) throws Exception {
        MemoryBackend backend = new MemoryBackend();
        backend.version(new Told());
        MongoServer server = new MongoServer(backend);
        server.bind("127.0.0.1", Integer.parseInt(told[0]));
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdownNow));
        Thread.currentThread().join();
    }
}
