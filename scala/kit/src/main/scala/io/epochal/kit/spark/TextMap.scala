package io.epochal.kit.spark

import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData, MapData}
import org.apache.spark.unsafe.types.UTF8String

/** A value of MAP<STRING, STRING> in Spark's internal form. */
object TextMap {

  def apply(texts: Map[String, String]): MapData = {
    val (keys, values) = texts.toSeq.sorted.unzip
    new ArrayBasedMapData(array(keys), array(values))
  }

  private def array(texts: Seq[String]): GenericArrayData =
    new GenericArrayData(texts.map(UTF8String.fromString).toArray[Any])
}
