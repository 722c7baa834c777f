import com.github.tomakehurst.wiremock.WireMockServer;
import com.github.tomakehurst.wiremock.core.WireMockConfiguration;
import java.nio.file.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.Trigger;

/** Loads the classes that most suites load: a streaming query with an aggregate, and an HTTP server. */
final class FirstQuery {
    public static void main(String[] arguments) throws Exception {
        Path directory = Path.of("first-query").toAbsolutePath();
        SparkSession spark = SparkSession.builder()
                .master("local[2]")
                .config("spark.sql.warehouse.dir", directory.resolve("warehouse").toString())
                .config("spark.sql.shuffle.partitions", "2")
                .getOrCreate();
        spark.readStream().format("rate-micro-batch").option("rowsPerBatch", "10").load()
                .groupBy("value").count()
                .writeStream().format("memory").queryName("counts").outputMode(OutputMode.Complete())
                .option("checkpointLocation", directory.resolve("checkpoint").toString())
                .trigger(Trigger.Once()).start().awaitTermination();
        spark.sql("SELECT count(*), max(value) FROM counts").collect();
        WireMockServer server = new WireMockServer(WireMockConfiguration.options().dynamicPort());
        server.start();
        server.stop();
        spark.stop();
    }
}
