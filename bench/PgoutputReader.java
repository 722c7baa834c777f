import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.postgresql.PGConnection;
import org.postgresql.replication.PGReplicationStream;

/**
 * Reads slots with pgjdbc alone and steps through the values of each change, without keeping any: the upper limit of a
 * reader over this driver. Arguments: port and publication. Reads lines "slot changes" and prints the number of changes
 * when it has read as many.
 */
public final class PgoutputReader {
    private static long bytes;

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            System.out.println(read(args[0], args[1], words[0], Long.parseLong(words[1])));
        }
    }

    private static long read(String port, String publication, String slot, long wanted) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("user", "postgres");
        properties.setProperty("replication", "database");
        properties.setProperty("preferQueryMode", "simple");
        properties.setProperty("assumeMinServerVersion", "10");
        long changes = 0;
        String url = "jdbc:postgresql://127.0.0.1:" + port + "/postgres";
        try (Connection connection = DriverManager.getConnection(url, properties)) {
            PGReplicationStream stream = connection.unwrap(PGConnection.class)
                .getReplicationAPI().replicationStream().logical().withSlotName(slot)
                .withAutomaticFlush(false).withStatusInterval(5, TimeUnit.SECONDS)
                .withSlotOption("proto_version", 1).withSlotOption("publication_names", publication)
                .withSlotOption("binary", true).start();
            while (changes < wanted) {
                ByteBuffer message = stream.read();
                byte kind = message.get();
                if (kind == 'I' || kind == 'U' || kind == 'D') {
                    message.getInt();
                    boolean isOld = message.get() != 'N';
                    tuple(message);
                    if (isOld && kind == 'U') {
                        message.get();
                        tuple(message);
                    }
                    changes++;
                }
            }
            stream.close();
        }
        return changes;
    }

    private static void tuple(ByteBuffer message) {
        for (int left = message.getShort(); left > 0; left--) {
            byte kind = message.get();
            if (kind == 'b' || kind == 't') {
                int length = message.getInt();
                bytes += length;
                message.position(message.position() + length);
            }
        }
    }
}
