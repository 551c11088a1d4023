import org.codelibs.opensearch.runner.OpenSearchRunner;

/** Runs one node of OpenSearch until it is told to end: its folder, its port, the other's port. */
public class Search {
    public static void main(String[] told) throws Exception {
        OpenSearchRunner server = new OpenSearchRunner();
        server.setMaxHttpPort(65_535);
        server.onBuild(
                (number, settings) -> {
                    settings.put("network.host", "127.0.0.1");
                    settings.put("http.port", told[1]);
                    settings.put("transport.port", told[2]);
                    settings.put("discovery.type", "single-node");
                    settings.put("node.store.allow_mmap", false);
                    settings.put("cluster.routing.allocation.disk.threshold_enabled", false);
                });
        server.build(
                OpenSearchRunner.newConfigs()
                        .basePath(told[0])
                        .numOfNode(1)
                        .clusterName("canonry-tests")
                        .baseHttpPort(Integer.parseInt(told[1]) - 1));
        Runtime.getRuntime()
                .addShutdownHook(
                        new Thread(
                                () -> {
                                    try {
                                        server.close();
                                    } catch (java.io.IOException fault) {
                                        fault.printStackTrace();
                                    }
                                }));
        Thread.currentThread().join();
    }
}
