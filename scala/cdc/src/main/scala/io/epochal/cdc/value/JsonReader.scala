package io.epochal.cdc.value

import java.io.ByteArrayOutputStream

import org.apache.spark.unsafe.types.UTF8String

import io.epochal.kit.database.PostgresType

/** A composite value as JSON: the text of `row_to_json`. hstore, which that casts to an object, stays a text.
  *
  * NULL stands for attributes that the type has gained since the value was stored.
  */
final private class JsonReader(kind: PostgresType) extends PrintedReader {
  private val form = JsonForm(kind)
  private val out = new ByteArrayOutputStream

  override def text(bytes: Array[Byte], offset: Int, length: Int): Any = {
    out.reset()
    form.write(bytes, offset, length, out)
    UTF8String.fromBytes(out.toByteArray)
  }
}
