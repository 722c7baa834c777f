package io.epochal.testkit

import org.apache.spark.SparkConf
import org.apache.spark.serializer.JavaSerializer

/** Copies objects by Java serialization, as between driver and executors. */
object Serialization {

  /** The object as another JVM would deserialize it. */
  def copy[A](value: A): A = {
    val serializer = new JavaSerializer(new SparkConf(false)).newInstance()
    val loader = Thread.currentThread().getContextClassLoader
    serializer.deserialize[Any](serializer.serialize[Any](value), loader).asInstanceOf[A]
  }
}
