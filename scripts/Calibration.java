import java.util.Arrays;
import java.util.HashMap;

/** The fixed work of a JVM for {@code machine_speed.py}: loads classes, compiles this file, builds strings, hashes and sorts. */
final class Calibration {
  public static void main(String[] arguments) {
    long sum = 0;
    for (int round = 0; round < 600; round++) {
      HashMap<String, Integer> lengths = new HashMap<>();
      for (int row = 0; row < 20_000; row++) lengths.merge("row " + row % 7_000 + " of " + round, row, Integer::sum);
      String[] keys = lengths.keySet().toArray(new String[0]);
      Arrays.sort(keys);
      sum += lengths.get(keys[round]);
    }
    System.out.println(sum);
  }
}
