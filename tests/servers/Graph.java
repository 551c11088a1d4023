import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

/** Runs Neo4j until it is told to end: its folder, its settings, its password. */
public class Graph {
    public static void main(String[] told) throws Exception {
        Path home = Path.of(told[0]);
        Path known = home.resolve("password.set");
        DatabaseManagementService server =
                new DatabaseManagementServiceBuilder(home)
                        .loadPropertiesFromFile(Path.of(told[1]))
                        .build();
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        try {
            if (!Files.exists(known)) { // the same password once more is refused
                server.database("system")
                        .executeTransactionally(
                                "ALTER USER neo4j SET PASSWORD $to CHANGE NOT REQUIRED",
                                Map.of("to", told[2]));
                Files.writeString(known, "");
            }
            if (!server.database("neo4j").isAvailable(60_000)) {
                throw new IllegalStateException("the database is not available");
            }
        } catch (Exception fault) { // other threads would keep it alive
            fault.printStackTrace();
            System.exit(1);
        }
        System.out.println("READY");
        Thread.currentThread().join();
    }
}
