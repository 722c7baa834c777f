import io.debezium.embedded.Connect;
import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * Reads slots with Debezium's embedded engine, as records of Kafka Connect that nobody converts or keeps. Arguments: port,
 * publication and table. Reads lines "slot changes" and prints the number of changes when it has read as many.
 */
public final class DebeziumReader {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            read(settings(args, words[0]), Long.parseLong(words[1]));
        }
    }

    private static Properties settings(String[] args, String slot) {
        Properties properties = new Properties();
        String[] given = {
            "name", slot,
            "connector.class", "io.debezium.connector.postgresql.PostgresConnector",
            "offset.storage", "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
            "topic.prefix", "bench",
            "database.hostname", "127.0.0.1",
            "database.port", args[0],
            "database.user", "postgres",
            "database.password", "any",
            "database.dbname", "postgres",
            "plugin.name", "pgoutput",
            "slot.name", slot,
            "publication.name", args[1],
            "publication.autocreate.mode", "disabled",
            "table.include.list", args[2],
            "snapshot.mode", "no_data",
            "tombstones.on.delete", "false",
            // Larger than by default, so that its threads wait less for each other.
            "max.batch.size", "8192",
            "max.queue.size", "32768",
        };
        for (int i = 0; i < given.length; i += 2) properties.setProperty(given[i], given[i + 1]);
        return properties;
    }

    private static void read(Properties settings, long wanted) throws Exception {
        AtomicLong changes = new AtomicLong();
        CountDownLatch done = new CountDownLatch(1);
        DebeziumEngine<ChangeEvent<SourceRecord, SourceRecord>> engine = DebeziumEngine.create(Connect.class)
            .using(settings)
            .notifying((records, committer) -> {
                for (ChangeEvent<SourceRecord, SourceRecord> record : records) committer.markProcessed(record);
                committer.markBatchFinished();
                if (changes.addAndGet(records.size()) >= wanted) done.countDown();
            })
            .using((success, message, error) -> {
                if (!success && done.getCount() > 0) {
                    System.err.println(message);
                    if (error != null) error.printStackTrace();
                    System.exit(1);
                }
            })
            .build();
        ExecutorService thread = Executors.newSingleThreadExecutor();
        thread.execute(engine);
        done.await();
        System.out.println(changes.get());
        engine.close();
        thread.shutdown();
    }
}
