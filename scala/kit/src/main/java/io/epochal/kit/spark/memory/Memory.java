package io.epochal.kit.spark.memory;

import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.ByteArrayMethods;

/**
 * Reads and writes memory as Spark addresses it: a base object (null outside the heap) and an address relative to it. Numbers
 * have the byte order of the machine. Nothing is checked: a wrong address crashes the JVM.
 *
 * <p>Written in Java: on the row path, only a static final field is a constant to the JIT compiler.
 */
public final class Memory {

  /** Address of the first byte of a byte array. */
  public static final long ARRAY_START = Platform.BYTE_ARRAY_OFFSET;

  private Memory() {}

  public static boolean getBoolean(Object base, long address) {
    return Platform.getBoolean(base, address);
  }

  public static byte getByte(Object base, long address) {
    return Platform.getByte(base, address);
  }

  public static short getShort(Object base, long address) {
    return Platform.getShort(base, address);
  }

  public static int getInt(Object base, long address) {
    return Platform.getInt(base, address);
  }

  public static long getLong(Object base, long address) {
    return Platform.getLong(base, address);
  }

  public static float getFloat(Object base, long address) {
    return Platform.getFloat(base, address);
  }

  public static double getDouble(Object base, long address) {
    return Platform.getDouble(base, address);
  }

  public static void putShort(Object base, long address, short value) {
    Platform.putShort(base, address, value);
  }

  public static void putInt(Object base, long address, int value) {
    Platform.putInt(base, address, value);
  }

  public static void putLong(Object base, long address, long value) {
    Platform.putLong(base, address, value);
  }

  /** Copies bytes; the two ranges may overlap. */
  public static void copy(Object from, long fromAddress, Object to, long toAddress, long bytes) {
    Platform.copyMemory(from, fromAddress, to, toAddress, bytes);
  }

  /** Whether two ranges hold the same bytes. */
  public static boolean isEqual(Object left, long leftAddress, Object right, long rightAddress, long bytes) {
    return ByteArrayMethods.arrayEquals(left, leftAddress, right, rightAddress, bytes);
  }
}
